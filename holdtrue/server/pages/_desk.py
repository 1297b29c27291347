"""The case officer's desk: pick or enter somebody, see what they could do, promise it, print the letter."""

import hashlib
import json
import secrets
import time

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from holdtrue._types import JsonObject
from holdtrue.ledger import Promise, Record
from holdtrue.methods import number
from holdtrue.promises import lacks_reason
from holdtrue.schema import plain
from holdtrue.server._answers import answer
from holdtrue.server._middleware import Refused
from holdtrue.server._promises import find_record, known, ledger_of, replace, role_of, write
from holdtrue.server._service import unreached
from holdtrue.server.pages import _show
from holdtrue.server.pages._case import Case
from holdtrue.server.pages._chart import paths
from holdtrue.server.pages._pages import SAFE, Form, Pages
from holdtrue.server.pages._session import Session

SHOWN = 25  # applicants on one page
BESIDE = "beside"
"""In place of a promise's id: it is to be a further one."""
CLOSED = (
    "page: nobody can be entered by hand here: the model reads columns that are protected, and this desk does not "
    "show them. Pick an applicant from the list; or have the service started with --show-protected."
)
LIVE = 20  # promises to one person that are shown


def desk_routes(pages: Pages) -> APIRouter:
    """Pages of a case officer."""
    router = APIRouter(prefix="/desk", route_class=pages.route())
    service, bodies, applicants = pages.service, pages.bodies, pages.applicants
    officer, sent = pages.of("officer"), pages.form("officer")

    @router.get("")
    async def people(request: Request, q: str = "", all: bool = False, page: int = 0,
                     session: Session = officer) -> Response:  # fmt: skip
        q = q[:200]
        found = [] if applicants is None else await run_in_threadpool(applicants.find, service, q, refused=not all)
        last = max(0, len(found) - 1) // SHOWN
        page = min(max(0, page), last)
        shown = found[page * SHOWN : (page + 1) * SHOWN]
        live: dict[str, int] = {}
        if service.ledger is not None:
            live = await run_in_threadpool(service.ledger.live_counts, [one["subject"] for one in shown])
        return pages.show(
            request, "people.html", shown=shown, n_found=len(found), q=q, all=all, page=page, last=last,
            listed=applicants is not None, live=live, closed=_closed(pages),
        )  # fmt: skip

    @router.get("/new")
    async def blank(request: Request, session: Session = officer) -> Response:
        if _closed(pages):
            raise Refused(404, CLOSED)
        return await _case_page(pages, request, Case.blank(service.schema, pages.hidden), None)

    @router.get("/{row:int}")
    async def pick(request: Request, row: int, session: Session = officer) -> Response:
        if applicants is None or not 0 <= row < len(applicants):
            raise Refused(404, "page: no such applicant.")
        return await _look(pages, request, Case.picked(row, applicants, service.schema, pages.hidden))

    @router.post("/case")
    async def look(request: Request, form: Form = sent) -> Response:
        return await _look(pages, request, _sent(pages, form))

    @router.post("/confirm")
    async def confirm(request: Request, form: Form = sent) -> Response:
        """Show what is about to be promised."""
        ledger_of(service)
        row, case = _sent(pages, form).read(bodies)
        offer = case.offer()
        if row is None:
            return await _look(pages, request, case)
        if isinstance(offer, Case):
            return await _look(pages, request, offer)
        option, seen = _chosen(form)
        record = await _made(pages, case, row, offer, option, seen, secrets.token_hex(16))
        return await _confirm_page(pages, request, case, record, option, seen)

    @router.post("/promise")
    async def promise(request: Request, form: Form = sent) -> Response:
        """Write it into the ledger."""
        row, case = _sent(pages, form).read(bodies)
        offer = case.offer()
        if row is None or isinstance(offer, Case):
            raise Refused(422, "page: the form was changed on its way. Begin again.")
        option, seen = _chosen(form)
        id = form.text("id")
        if len(id) != 32 or set(id) - set("0123456789abcdef"):
            raise Refused(422, "page: the form was changed on its way. Begin again.")
        reason = form.text("reason").replace("\r\n", "\n").strip() or None
        record = await _made(pages, case, row, offer, option, seen, id, reason)
        instead = form.text("instead")
        if lacks_reason(record):
            return await _confirm_page(pages, request, case, record, option, seen, absent="reason")
        live = await _live(pages, offer[0])
        first = await known(service, id) is None  # and not the same button, pressed twice
        if first and live and instead not in (BESIDE, *(one.id for one in live)):
            return await _confirm_page(pages, request, case, record, option, seen, absent="instead")
        if instead and instead != BESIDE:
            there = await replace(service, instead, record, role_of(request))
        else:
            there = await write(service, record, role_of(request))
        if there is not None and (there.record is None or there.record.recourse != record.recourse):
            raise Refused(409, "page: there is another promise of this id. Begin again.")
        return RedirectResponse(f"/desk/promises/{record.id}", 303, headers=SAFE)

    return router


async def _look(pages: Pages, request: Request, case: Case) -> Response:
    """Ask the model and the search about a case, and show both."""
    row, case = case.read(pages.bodies)
    if row is None:
        return await _case_page(pages, request, case, None, 422)
    service, began = pages.service, time.monotonic()
    jobs = service.ask("recourse", [row], restrictions=[case.restrictions()], n_recourses=_n_options(pages))
    told = await answer(jobs[0])
    said = unreached() if told is None else told[0][0]
    drawn = await run_in_threadpool(paths, service, row, said["options"])
    yes = said["status"] == "ALREADY_FAVOURABLE"
    if said["probability"] is None:
        chance = (await run_in_threadpool(lambda: service.decisions(service.table([row]))))[0]["probabilities"]
        said["probability"] = chance[str(plain(service.predictor.favourable))]
    cheapest = min((o["cost"] for o in said["options"] if o["cost"] is not None), default=None)
    found = enumerate(zip(said["options"], drawn, strict=True))
    options = [_option(case, row, option, path, cheapest) | {"index": i} for i, (option, path) in found]
    # What holds first, then by what it asks of the person.
    options.sort(key=lambda option: (option["holds"] is False, option["asked"]))
    answered = {
        "yes": yes, "status": said["status"], "message": said["message"], "chance": said["probability"],
        "need": service.predictor.threshold, "reasons": said["reasons"] or [],
        "options": options, "seconds":
        time.monotonic() - began, "hold": (service.level() or {}).get("hold"), "n_holds": sum(bool(option["holds"])
        for option in options),
    }  # fmt: skip
    return await _case_page(pages, request, case, answered)


async def _case_page(
    pages: Pages, request: Request, case: Case, answered: JsonObject | None, status: int = 200
) -> Response:
    return pages.show(
        request, "case.html", status, case=case, fields=case.fields(), answer=answered,
        promises=pages.service.ledger is not None, n_models=pages.service.n_judges,
        live=await _live(pages, case.subject),
    )  # fmt: skip


async def _confirm_page(
    pages: Pages, request: Request, case: Case, record: Record, option: int, seen: str, absent: str | None = None
) -> Response:
    """What is about to be promised; with `absent`, what has to be said first."""
    policy = await run_in_threadpool(ledger_of(pages.service).policy)
    live = await _live(pages, record.subject)
    full = policy.most_live is not None and len(live) >= policy.most_live
    return pages.show(
        request, "confirm.html", 422 if absent else 200, case=case, fields=case.fields(), record=record,
        option=option, seen=seen, holds=(record.survival or {}).get("holds"), absent=absent, live=live,
        full=full, policy=str(policy), may_override=role_of(request) in policy.override, beside=BESIDE,
    )  # fmt: skip


async def _live(pages: Pages, subject: str) -> list[Promise]:
    """Promises that bind to a person now, the latest first."""
    ledger = pages.service.ledger
    if ledger is None or not subject or len(subject) > 200:
        return []
    return (await run_in_threadpool(lambda: ledger.find(subject=subject, state="live", n=LIVE)))[0]


def _sent(pages: Pages, form: Form) -> Case:
    """What a form of the desk holds, with what the desk does not show."""
    case = Case.sent(form, pages.service.schema, pages.applicants, pages.hidden)
    if case.row is None and _closed(pages):
        raise Refused(422, CLOSED)
    return case


def _closed(pages: Pages) -> bool:
    """Whether nobody can be entered by hand: the model needs a column that the desk does not show."""
    features = list(pages.service.schema)
    return any(features[i].missing is None for i in pages.hidden)


def _option(case: Case, row: JsonObject, option: JsonObject, path: object, cheapest: float | None) -> JsonObject:
    """What a card shows."""
    changes, fields = [], case.fields()
    for i, feature in enumerate(case.schema):
        before, after = row[feature.name], option["recourse"][feature.name]
        if feature.name not in option["changed"]:
            continue
        bar = None  # where there is only one way to go, ruling it out is the same as holding it fixed
        if not feature.has_levels and feature.direction == "free":
            bar = (f"{i}:up", "Not higher") if after > before else (f"{i}:down", "Not lower")
        elif sum(one["reachable"] and not one["barred"] for one in fields[i]["levels"]) > 1:
            bar = (f"{i}:{(feature.levels or ()).index(after)}", f"Not {_show.bare(after, feature)}")
        changes.append({
            "i": i, "title": feature.title, "before": _show.bare(before, feature),
            "after": number(after, feature), "bar": bar,
        })  # fmt: skip
    survival = option["survival"] or {}
    least, cost = survival.get("cheapest"), option["cost"]
    dearer = least and cost and cost > 1.005 * least  # by more than the digits that are shown
    return option | {
        "changes": changes, "path": path, "seen": _seen(option["recourse"]), "cheapest": cost == cheapest,
        "holds": survival.get("holds"), "price": cost / least - 1 if dearer else None,
    }  # fmt: skip


async def _made(
    pages: Pages, case: Case, row: JsonObject, offer: tuple[str, float], option: int, seen: str, id: str,
    reason: str | None = None,
) -> Record:  # fmt: skip
    """The record of an option that was on the page, and of no other; not yet one that may be issued."""
    subject, days = offer
    n = _n_options(pages)
    if option >= n:
        raise Refused(422, "page: no such option.")
    record = await find_record(
        pages.service,
        row,
        subject,
        option=option,
        n_recourses=n,
        restrictions=[case.restrictions()],
        days=days,
        id=id,
        reason=reason,
        draft=True,
    )
    if _seen(record.recourse) != seen:
        raise Refused(409, "page: the search came to another answer than the one you saw. Look again.")
    return record


def _n_options(pages: Pages) -> int:
    """How many ways are shown side by side."""
    service = pages.service
    return min(3, service.quotas.options) if service.classifier.method_.offers_options else 1


def _chosen(form: Form) -> tuple[int, str]:
    which, _, seen = form.text("option").partition(":")
    if which not in ("0", "1", "2"):
        raise Refused(422, "page: no such option.")
    return int(which), seen


def _seen(recourse: JsonObject) -> str:
    """What tells a recourse from others."""
    return hashlib.sha256(json.dumps(recourse, sort_keys=True).encode()).hexdigest()[:32]
