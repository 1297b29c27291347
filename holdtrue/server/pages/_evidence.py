"""The validator's page of one promise: what was said, what it rests on, which models keep it, and the chain."""

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.ledger import Event, Ledger, Promise
from holdtrue.schema import plain
from holdtrue.server._promises import ledger_of, promise_of
from holdtrue.server._service import Service
from holdtrue.server.pages._pages import Form, Pages
from holdtrue.server.pages._promised import LOOK_UP, STATES, Asked, kept_of, listed, state_of
from holdtrue.server.pages._session import Session

KINDS = {
    "issue": "issued",
    "supersede": "replaced",
    "fulfil": "the person came back",
    "expire": "ran out",
    "forget": "forgotten",
}
"""Events of a promise, and how the page says them."""


def evidence_routes(pages: Pages) -> APIRouter:
    """A validator's pages about single promises, and the chain."""
    router = APIRouter(prefix="/oversight", route_class=pages.route())
    service = pages.service
    validator, sent = pages.of("validator"), pages.form("validator")

    @router.get("/promises")
    async def all(request: Request, asked: Asked = LOOK_UP, session: Session = validator) -> Response:
        return await listed(pages, request, "/oversight/promises", asked)

    @router.get("/promises/{id}")
    async def one(request: Request, id: str, session: Session = validator) -> Response:
        there = await promise_of(service, id)
        found = await run_in_threadpool(_evidence, service, ledger_of(service), there)
        return pages.show(request, "evidence.html", promise=there, record=there.record, states=STATES, **found)

    @router.post("/verify")
    async def verify(request: Request, form: Form = sent) -> Response:
        """Walk the chain from its beginning."""
        outcome = await run_in_threadpool(ledger_of(service).verify)
        return pages.show(request, "verified.html", outcome=outcome)

    return router


def _evidence(service: Service, ledger: Ledger, promise: Promise) -> JsonObject:
    record = promise.record
    events = [] if record is None else [e for e in ledger.history(record.subject) if e.promise == promise.id]
    return {
        "state": state_of(promise), "kept": kept_of(ledger, promise), "events": events, "kinds": KINDS,
        "gates": _gates(service, ledger, promise, events), "now": _asked_now(service, promise),
    }  # fmt: skip


def _gates(service: Service, ledger: Ledger, promise: Promise, events: list[Event]) -> list[JsonObject]:
    """Of every report of the gate that asked about this promise, what it says of it."""
    chain = ledger.head().ledger
    ended = min((e.seq for e in events if e.kind != "issue"), default=None)
    out = []
    for name, report in service.gates.all()[0]:
        seq = report["ledger"]["seq"]
        if report["ledger"]["ledger"] != chain or seq < promise.seq or (ended is not None and ended <= seq):
            continue
        named = next((case for case in report["cases"] if case["id"] == promise.id), None)
        known = named is not None or report["n_broken"] <= len(report["cases"])
        out.append({"name": name, "report": report, "kept": named is None if known else None, "case": named})
    return out


def _asked_now(service: Service, promise: Promise) -> JsonObject | None:
    """What the served model says of the promised row; None where the person was forgotten."""
    record = promise.record
    if record is None:
        return None
    try:
        told: Any = service.decisions(service.table([record.recourse]))[0]
    except DataError as error:
        return {"kept": False, "chance": None, "why": str(error)}
    chance = told["probabilities"].get(str(plain(record.target)))
    return {"kept": told["decision"] == record.target, "chance": chance, "why": None}
