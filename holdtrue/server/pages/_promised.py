"""What was promised: looked up, opened, told in a letter, and what came of it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, RedirectResponse

from holdtrue._types import JsonObject
from holdtrue.ledger import Ledger, Promise
from holdtrue.schema import plain
from holdtrue.server._middleware import Refused
from holdtrue.server._promises import fulfilled, ledger_of, letter_of, promise_of
from holdtrue.server.pages._pages import SAFE, Pages
from holdtrue.server.pages._session import Session

SHOWN = 25  # promises on one page
STATES = {
    "live": "live",
    "fulfilled": "came back",
    "superseded": "replaced",
    "expired": "run out",
    "forgotten": "forgotten",
}
"""Where a promise stands, and how pages say it."""
# A letter's own template may bring its own style, and nothing else; our page shows it in a frame.
LETTER = SAFE | {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "frame-ancestors 'self'",
    "X-Frame-Options": "SAMEORIGIN",
}


@dataclass(frozen=True)
class Asked:
    """What promises are looked up by, as an address has it; `page` counts from 0."""

    q: str = ""
    state: str = ""
    since: str = ""
    until: str = ""
    page: int = 0


LOOK_UP: Any = Depends(Asked)


def promised_routes(pages: Pages) -> APIRouter:
    """A case officer's pages about promises."""
    router = APIRouter(prefix="/desk/promises", route_class=pages.route())
    service = pages.service
    officer, sent = pages.of("officer"), pages.form("officer")

    @router.get("")
    async def all(request: Request, asked: Asked = LOOK_UP, session: Session = officer) -> Response:
        return await listed(pages, request, "/desk/promises", asked)

    @router.get("/{id}")
    async def promised(request: Request, id: str, session: Session = officer) -> Response:
        there = await promise_of(service, id)
        kept = await run_in_threadpool(kept_of, ledger_of(service), there)
        return pages.show(
            request, "promise.html", promise=there, record=there.record, kept=kept, decisions=_decisions(pages)[1],
            state=state_of(there), states=STATES,
        )  # fmt: skip

    @router.post("/{id}/fulfil")
    async def fulfil(id: str, form: Any = sent) -> Response:
        """The person came back: write down what was decided."""
        labels, which = _decisions(pages)[0], form.text("decision")
        if which not in [str(i) for i in range(len(labels))]:
            raise Refused(422, "fulfil: no such decision.")
        await fulfilled(service, id, decision=labels[int(which)])
        return RedirectResponse(f"/desk/promises/{id}", 303, headers=SAFE)

    @router.get("/{id}/letter")
    async def letter(id: str, session: Session = officer) -> Response:
        made = await letter_of(service, id)
        return HTMLResponse(made.html, headers=LETTER)

    return router


async def listed(pages: Pages, request: Request, base: str, asked: Asked) -> Response:
    """A page of promises that were looked up; each is a link to where `base` has it."""
    ledger = ledger_of(pages.service)
    if asked.state and asked.state not in STATES:
        raise Refused(422, "page: promises are not told apart by that.")
    q, page = asked.q.strip()[:200], max(0, asked.page)
    since, until = _day(asked.since), _day(asked.until, after=True)
    how: JsonObject = {"state": asked.state or None, "since": since, "until": until}

    def look() -> tuple[list[JsonObject], int, int]:
        found, total = ledger.find(q, n=SHOWN, start=page * SHOWN, **how)
        at = page
        if not found and total:  # past the end
            at = (total - 1) // SHOWN
            found, total = ledger.find(q, n=SHOWN, start=at * SHOWN, **how)
        return [_row(ledger, one) for one in found], total, at

    shown, total, page = await run_in_threadpool(look)
    return pages.show(
        request, "promises.html", shown=shown, total=total, page=page, last=max(0, total - 1) // SHOWN, base=base,
        asked={"q": q, "state": asked.state, "since": asked.since, "until": asked.until}, states=STATES,
    )  # fmt: skip


def state_of(promise: Promise) -> str:
    """Where a promise stands: what has run out is not live, written down or not."""
    ended = promise.valid_until is not None and promise.valid_until <= datetime.now(UTC)
    return "expired" if promise.state == "live" and ended else promise.state


def kept_of(ledger: Ledger, promise: Promise) -> bool | None:
    """Whether a promise was kept, once the person has come back."""
    if promise.state != "fulfilled" or promise.record is None:
        return None
    events = ledger.history(promise.record.subject)
    return next((e.public["kept"] for e in events if e.promise == promise.id and e.kind == "fulfil"), None)


def _row(ledger: Ledger, promise: Promise) -> JsonObject:
    return {"promise": promise, "record": promise.record, "state": state_of(promise),
            "kept": kept_of(ledger, promise)}  # fmt: skip


def _day(text: str, *, after: bool = False) -> datetime | None:
    """The beginning of a day that a form names, or of the day after it."""
    if not text:
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
        return day + timedelta(days=1) if after else day
    except (ValueError, OverflowError):
        raise Refused(422, "page: a day is written as 2026-12-31.") from None


def _decisions(pages: Pages) -> tuple[list[Any], list[str]]:
    """The classes, the favourable one first, and what the page calls them."""
    predictor = pages.service.predictor
    wanted = plain(predictor.favourable)
    labels = [wanted, *(label for label in predictor.classes.tolist() if label != wanted)]
    return labels, ["yes", "no"] if len(labels) == 2 else ["yes", *map(str, labels[1:])]
