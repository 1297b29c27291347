"""Promises over HTTP: issued, shown, told in a letter, replaced, fulfilled; the ledger; the gate."""

import json
from datetime import timedelta
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse

from holdtrue._types import JsonObject
from holdtrue.errors import DataError, IdTaken, NoSuchPromise, NotLive
from holdtrue.ledger import Ledger, Promise, Record
from holdtrue.promises import Letter, letters, offered
from holdtrue.server._answers import Json, Thing, answer, may, told_as
from holdtrue.server._bodies import Bodies, Erased, Expired, Forget, Fulfil, Gate, Kept, hold_of
from holdtrue.server._middleware import Refused
from holdtrue.server._service import Service, unreached

REFUSALS = may(400, 404, 408, 409, 413, 422)
BEFORE: dict[int | str, JsonObject] = {200: {"model": Thing, "description": "Issued before, by its id."}}


UNSEEN = (
    "`recourse` is none of the {} options that the search comes to. Ask with the `options`, `restrictions`, "
    "`target` and `hold` of the question that it answers, or ask that one again."
)


def promise_routes(service: Service, bodies: Bodies, allowed: Any) -> APIRouter:
    """Single promises."""
    router = APIRouter(prefix="/v1/records")
    officer, both = [allowed("officer")], [allowed("officer", "validator")]
    made: JsonObject = {"response_model": Thing, "status_code": 201, "responses": BEFORE | REFUSALS}

    @router.post("", dependencies=officer, **made)
    async def issue(request: Request, body: bodies.Issue) -> Response:  # type: ignore[name-defined]
        """Find recourse for a person and promise them one of the options: it lands in the ledger."""
        ledger, row = ledger_of(service), bodies.row(body.person)
        if (there := await _by_id(ledger, body.id)) is not None:
            return _again(there, body.subject, row, body, _seen(bodies, body))
        record = await find_record(service, row, body.subject, **_asked(bodies, body))
        new = await write(service, record, role_of(request))
        return (
            Json(record.to_dict(), 201)
            if new is None
            else _again(new, body.subject, row, body, _seen(bodies, body))
        )

    @router.get("/{id}", response_model=Thing, dependencies=both, responses=may(404, 422))
    async def show(id: str) -> Response:
        """A promise, and where it stands."""
        there = await promise_of(service, id)
        return Json({"state": there.state, "record": None if there.text is None else json.loads(there.text)})

    @router.get(
        "/{id}/letter",
        dependencies=officer,
        response_class=Response,
        responses=told_as("text/plain", "text/html") | may(404, 409, 422),
    )
    async def letter(id: str, format: Literal["text", "html"] = "text") -> Response:
        """The letter that tells the person, of all live options that were issued to them together."""
        made = await letter_of(service, id)
        return PlainTextResponse(made.text) if format == "text" else HTMLResponse(made.html)

    @router.post("/{id}/supersede", dependencies=officer, **made)
    async def supersede(request: Request, id: str, body: bodies.Supersede) -> Response:  # type: ignore[name-defined]
        """Find recourse for the person as they are now, and promise it in the place of a live promise."""
        ledger, row = ledger_of(service), bodies.row(body.person)
        old = await promise_of(service, id)
        new = await _by_id(ledger, body.id)
        if new is not None and old.record is not None:
            return _again(new, old.record.subject, row, body, _seen(bodies, body))
        if old.state != "live" or old.record is None:
            raise NotLive(f"supersede: the promise is not live; got {id!r}, which is {old.state}.")
        record = await find_record(service, row, old.record.subject, **_asked(bodies, body))
        there = await replace(service, id, record, role_of(request))
        return (
            Json(record.to_dict(), 201)
            if there is None
            else _again(there, record.subject, row, body, _seen(bodies, body))
        )

    @router.post("/{id}/fulfil", response_model=Kept, dependencies=officer, responses=REFUSALS)
    async def fulfil(id: str, body: Fulfil) -> Response:
        """The person came back: what was decided, and what they did change."""
        how = {"decision": body.decision, "actual": body.actual, "note": body.note}
        return Json({"kept": await fulfilled(service, id, **how)})

    return router


def ledger_routes(service: Service, allowed: Any) -> APIRouter:
    """All promises together."""
    router = APIRouter(prefix="/v1")

    @router.get("/ledger", response_model=Thing, dependencies=[allowed("validator")], responses=may(404))
    async def counts() -> Response:
        """How many promises stand where, and the end of the chain."""
        ledger = ledger_of(service)
        found, head = await run_in_threadpool(lambda: (ledger.counts(), ledger.head()))
        return Json({"counts": found, "head": {"ledger": head.ledger, "seq": head.seq, "hash": head.hash}})

    @router.post("/ledger/expire", response_model=Expired, dependencies=[allowed("officer", "validator")],
                 responses=may(404))  # fmt: skip
    async def expire() -> Response:
        """Mark the promises that have run out by now."""
        return Json({"expired": await run_in_threadpool(ledger_of(service).expire)})

    @router.post("/ledger/forget", response_model=Erased, dependencies=[allowed()], responses=REFUSALS)
    async def forget(body: Forget) -> Response:
        """Erase all that is kept about a person; admins only, and it cannot be undone."""
        return Json({"erased": await run_in_threadpool(ledger_of(service).forget, body.subject)})

    @router.get("/gate", response_model=Thing, dependencies=[allowed("validator")], responses=may(404, 422))
    async def last_gate() -> Response:
        """The gate's last report."""
        report = await run_in_threadpool(service.last_gate)
        if report is None:
            raise Refused(404, "gate: there is no report yet.")
        return Json({"running": service.gate_runs, "report": report})

    @router.post("/gate", response_model=Thing, dependencies=[allowed("validator")], responses=REFUSALS)
    async def run_gate(body: Gate) -> Response:
        """Ask the served model about every live promise, and keep the report."""
        ledger_of(service)
        report = await run_in_threadpool(service.run_gate, **body.model_dump())
        if report is None:
            raise Refused(409, "gate: is at work already.")
        return Json({"running": False, "report": report})

    return router


# ---- what the page does too -----------------------------------------------------------------------------


def ledger_of(service: Service) -> Ledger:
    """The ledger, or a refusal where there is none."""
    if service.ledger is None:
        raise Refused(404, "service: keeps no promises. Start it with --ledger PLACE.")
    return service.ledger


async def promise_of(service: Service, id: str) -> Promise:
    """A promise by its id; `NoSuchPromise` where there is none."""
    return await run_in_threadpool(ledger_of(service).promise, id)


async def find_record(
    service: Service,
    row: JsonObject,
    subject: str,
    *,
    option: int = 0,
    seen: JsonObject | None = None,
    n_recourses: int = 1,
    days: float | None = None,
    id: str | None = None,
    reason: str | None = None,
    draft: bool = False,
    **asked: Any,
) -> Record:
    """Find recourse for a person and make the record of one of the options; it is not issued yet.

    Of an option that was `seen`, the row decides which it is, and not its place: options are sorted together, so
    that with another number of them another may be the first.
    """
    n_recourses = max(n_recourses, option + 1)
    told = await answer(service.ask("recourse", [row], n_recourses=n_recourses, keep=True, **asked)[0])
    if told is None:
        raise Refused(409, f"records: nothing was issued. {unreached()['message']}")
    (said,), plan = told
    if seen is not None and said["options"]:
        rows = [one["recourse"] for one in said["options"]]
        if seen not in rows:
            raise Refused(409, f"records: nothing was issued. {UNSEEN.format(len(rows))}")
        option = rows.index(seen)
    record = await run_in_threadpool(
        service.promise, plan, subject, option=option, days=days, id=id, reason=reason, draft=draft
    )
    if record is None:
        why = said["message"] if not said["options"] else f"Options found: {len(said['options'])}."
        raise Refused(409, f"records: nothing was issued. {why}")
    return record


def role_of(request: Request) -> str:
    """The role of the key that a request came with."""
    return request.scope["state"]["role"]


async def write(service: Service, record: Record, role: str) -> Promise | None:
    """Issue a record; or return the promise that is there under its id already."""
    ledger = ledger_of(service)
    try:
        issued = await run_in_threadpool(lambda: ledger.issue(record, role=role))
    except IdTaken:  # asked twice at once, by one id: the other was quicker
        return await promise_of(service, record.id)
    if issued.new:
        service.metrics.count("holdtrue_promises_total")
        return None
    return await promise_of(service, record.id)


async def known(service: Service, id: str) -> Promise | None:
    """The promise of an id; None where there is none yet."""
    return await _by_id(ledger_of(service), id)


async def replace(service: Service, old: str, record: Record, role: str) -> Promise | None:
    """Put a record in the place of a live promise; or return the promise that is there under its id already."""
    ledger = ledger_of(service)
    if (there := await _by_id(ledger, record.id)) is not None:
        return there
    await run_in_threadpool(lambda: ledger.supersede(old, record, role=role))
    service.metrics.count("holdtrue_promises_total")
    return None


async def letter_of(service: Service, id: str) -> Letter:
    """The letter about a live promise."""

    def made() -> Letter:
        stationery = service.stationery
        return letters(
            offered(ledger_of(service), id),
            template=stationery.places[False],
            html_template=stationery.places[True],
        )[0]

    try:
        return await run_in_threadpool(made)
    except DataError as error:  # it has ended, or asks for what may not be asked
        raise Refused(409, str(error)) from error


async def fulfilled(service: Service, id: str, **how: Any) -> bool:
    """Write down that the person came back; whether the promise was kept."""
    return await run_in_threadpool(ledger_of(service).fulfil, id, **how)


def _asked(bodies: Bodies, body: Any) -> JsonObject:
    return {
        "option": body.option, "seen": _seen(bodies, body), "n_recourses": body.options,
        "restrictions": [body.restrictions],
        "target": body.target, "hold": hold_of(body), "reason": body.reason,
        "deadline": body.deadline, "days": body.valid_days, "id": body.id,
    }  # fmt: skip


def _seen(bodies: Bodies, body: Any) -> JsonObject | None:
    return None if body.recourse is None else bodies.row(body.recourse)


async def _by_id(ledger: Ledger, id: str | None) -> Promise | None:
    try:
        return None if id is None else await run_in_threadpool(ledger.promise, id)
    except NoSuchPromise:
        return None


def _again(there: Promise, subject: str, person: JsonObject, asked: object, seen: JsonObject | None) -> Response:
    """The record that was issued under this id, if it was for the same person as they were, on the same terms."""
    record = there.record
    same = record is not None and (record.subject, record.factual) == (subject, person)
    if record is None or not same or not _same_terms(record, asked, seen):
        raise Refused(409, "records: there is another promise of this id. Take a new one.")
    return Json(record.to_dict(), 200)


def _same_terms(record: Record, asked: Any, seen: JsonObject | None) -> bool:
    term = None if record.valid_until is None else (record.valid_until - record.issued) / timedelta(days=1)
    wanted = asked.valid_days
    same_term = term == wanted if term is None or wanted is None else abs(term - wanted) < 1e-6
    same_target = asked.target is None or asked.target == record.target
    same_option = asked.option == record.method["option"] if seen is None else seen == record.recourse
    return same_term and same_target and same_option and asked.reason == record.reason
