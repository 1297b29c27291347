"""The case officer's desk: pick or enter somebody, see what they could do, promise it, print the letter."""

import hashlib
import json
import secrets
import time
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse

from holdtrue._types import JsonObject
from holdtrue.ledger import Ledger, Promise, Record
from holdtrue.methods import number
from holdtrue.promises import lacks_reason
from holdtrue.schema import plain
from holdtrue.server._answers import answer
from holdtrue.server._middleware import Refused
from holdtrue.server._promises import find_record, fulfilled, ledger_of, letter_of, promise_of, role_of, write
from holdtrue.server._service import unreached
from holdtrue.server.pages import _show
from holdtrue.server.pages._case import Case
from holdtrue.server.pages._chart import paths
from holdtrue.server.pages._pages import SAFE, Form, Pages
from holdtrue.server.pages._session import Session

SHOWN = 25  # applicants on one page
# A letter's own template may bring its own style, and nothing else; our page shows it in a frame.
LETTER = SAFE | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}


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
        return pages.show(
            request, "people.html", shown=found[page * SHOWN : (page + 1) * SHOWN], n_found=len(found), q=q,
            all=all, page=page, last=last, listed=applicants is not None,
        )  # fmt: skip

    @router.get("/new")
    async def blank(request: Request, session: Session = officer) -> Response:
        return _case_page(pages, request, Case.blank(service.schema), None)

    @router.get("/{row:int}")
    async def pick(request: Request, row: int, session: Session = officer) -> Response:
        if applicants is None or not 0 <= row < len(applicants):
            raise Refused(404, "page: no such applicant.")
        case = Case.of(applicants.rows[row], applicants.subjects[row], service.schema)
        return await _look(pages, request, case)

    @router.post("/case")
    async def look(request: Request, form: Form = sent) -> Response:
        return await _look(pages, request, Case.sent(form, service.schema))

    @router.post("/confirm")
    async def confirm(request: Request, form: Form = sent) -> Response:
        """Show what is about to be promised."""
        ledger_of(service)
        case = Case.sent(form, service.schema)
        row, case = case.read(bodies)
        offer = case.offer()
        if row is None:
            return await _look(pages, request, case)
        if isinstance(offer, Case):
            return await _look(pages, request, offer)
        option, seen = _chosen(form)
        record = await _made(pages, case, row, offer, option, seen, secrets.token_hex(16))
        return _confirm_page(pages, request, case, record, option, seen)

    @router.post("/promise")
    async def promise(request: Request, form: Form = sent) -> Response:
        """Write it into the ledger."""
        case = Case.sent(form, service.schema)
        row, case = case.read(bodies)
        offer = case.offer()
        if row is None or isinstance(offer, Case):
            raise Refused(422, "page: the form was changed on its way. Begin again.")
        option, seen = _chosen(form)
        id = form.text("id")
        if len(id) != 32 or set(id) - set("0123456789abcdef"):
            raise Refused(422, "page: the form was changed on its way. Begin again.")
        reason = form.text("reason").replace("\r\n", "\n").strip() or None
        record = await _made(pages, case, row, offer, option, seen, id, reason)
        if lacks_reason(record):
            return _confirm_page(pages, request, case, record, option, seen, 422)
        there = await write(service, record, role_of(request))
        if there is not None and (there.record is None or there.record.recourse != record.recourse):
            raise Refused(409, "page: there is another promise of this id. Begin again.")
        return RedirectResponse(f"/desk/promises/{record.id}", 303, headers=SAFE)

    @router.get("/promises/{id}")
    async def promised(request: Request, id: str, session: Session = officer) -> Response:
        there = await promise_of(service, id)
        kept = await run_in_threadpool(_kept, ledger_of(service), there)
        return pages.show(
            request, "promise.html", promise=there, record=there.record, kept=kept, decisions=_decisions(pages)[1]
        )

    @router.post("/promises/{id}/fulfil")
    async def fulfil(id: str, form: Form = sent) -> Response:
        """The person came back: write down what was decided."""
        labels, which = _decisions(pages)[0], form.text("decision")
        if which not in [str(i) for i in range(len(labels))]:
            raise Refused(422, "fulfil: no such decision.")
        await fulfilled(service, id, decision=labels[int(which)])
        return RedirectResponse(f"/desk/promises/{id}", 303, headers=SAFE)

    @router.get("/promises/{id}/letter")
    async def letter(id: str, session: Session = officer) -> Response:
        made = await letter_of(service, id)
        return HTMLResponse(made.html, headers=LETTER)

    return router


async def _look(pages: Pages, request: Request, case: Case) -> Response:
    """Ask the model and the search about a case, and show both."""
    row, case = case.read(pages.bodies)
    if row is None:
        return _case_page(pages, request, case, None, 422)
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
    if any(option["holds"] is not None for option in options):
        options.sort(key=lambda option: (not option["holds"], option["cost"] or 0.0))
    answered = {
        "yes": yes, "status": said["status"], "message": said["message"], "chance": said["probability"],
        "need": service.predictor.threshold, "reasons": said["reasons"] or [],
        "options": options, "seconds":
        time.monotonic() - began, "hold": (service.level() or {}).get("hold"), "n_holds": sum(bool(option["holds"])
        for option in options),
    }  # fmt: skip
    return _case_page(pages, request, case, answered)


def _case_page(
    pages: Pages, request: Request, case: Case, answered: JsonObject | None, status: int = 200
) -> Response:
    return pages.show(
        request, "case.html", status, case=case, fields=case.fields(), answer=answered,
        promises=pages.service.ledger is not None, n_models=pages.service.n_judges,
    )  # fmt: skip


def _confirm_page(
    pages: Pages, request: Request, case: Case, record: Record, option: int, seen: str, status: int = 200
) -> Response:
    """What is about to be promised; with 422, that its reason is absent."""
    return pages.show(
        request, "confirm.html", status, case=case, fields=case.fields(), record=record, option=option, seen=seen,
        holds=(record.survival or {}).get("holds"), absent=status == 422,
    )  # fmt: skip


def _option(case: Case, row: JsonObject, option: JsonObject, path: Any, cheapest: float | None) -> JsonObject:
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


def _decisions(pages: Pages) -> tuple[list[Any], list[str]]:
    """The classes, the favourable one first, and what the page calls them."""
    predictor = pages.service.predictor
    wanted = plain(predictor.favourable)
    labels = [wanted, *(label for label in predictor.classes.tolist() if label != wanted)]
    return labels, ["yes", "no"] if len(labels) == 2 else ["yes", *map(str, labels[1:])]


def _kept(ledger: Ledger, promise: Promise) -> bool | None:
    """Whether a promise was kept, once the person has come back."""
    if promise.state != "fulfilled" or promise.record is None:
        return None
    events = ledger.history(promise.record.subject)
    return next((e.public["kept"] for e in events if e.promise == promise.id and e.kind == "fulfil"), None)


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
