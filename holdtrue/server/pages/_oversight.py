"""The validator's page: promises that bind, how they fare from model to model, and the gate."""

import json
import math
import threading
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse

from holdtrue._types import JsonObject, Keywords
from holdtrue.errors import NoSuchPromise
from holdtrue.ledger import Ledger
from holdtrue.server._middleware import Refused
from holdtrue.server._promises import ledger_of
from holdtrue.server._service import Service
from holdtrue.server.pages import _show
from holdtrue.server.pages._chart import versions
from holdtrue.server.pages._pages import SAFE, Form, Pages
from holdtrue.server.pages._session import Session

READ = 20_000  # promises that are read to be counted by model
RECENT = 10
FEW = 10  # cases of the last gate that are listed beside it
SHOWN = 25  # cases on a page of their own


def oversight_routes(pages: Pages) -> APIRouter:
    """Pages of a validator."""
    router = APIRouter(prefix="/oversight", route_class=pages.route())
    service, makers = pages.service, Makers()
    validator, sent = pages.of("validator"), pages.form("validator")

    @router.get("")
    async def look(request: Request, session: Session = validator) -> Response:
        ledger = ledger_of(service)
        found = await run_in_threadpool(_gathered, service, ledger, makers)
        titles = {feature.name: feature.title for feature in service.schema}
        return pages.show(request, "oversight.html", **found, running=service.gate_runs, titles=titles)

    @router.get("/cases")
    async def cases(request: Request, report: str, page: int = 0, session: Session = validator) -> Response:
        """Everybody to whom a report's model breaks a promise."""
        found = await run_in_threadpool(_cases, service, ledger_of(service), report, max(0, page))
        if found is None:
            raise Refused(404, "gate: no report has that name.")
        return pages.show(request, "cases.html", **found)

    @router.post("/gate")
    async def gate(request: Request, form: Form = sent) -> Response:
        """Ask the served model about every live promise."""
        ledger_of(service)
        group = form.text("group") or None
        try:
            share = float(form.text("max_broken", "0")) / 100
        except ValueError:
            share = math.nan
        if not 0 <= share <= 1:
            raise Refused(422, "gate: the share that may break must be a number from 0 to 100 percent.")
        how: Keywords = {"max_broken": share, "group": group, "write_down": form.text("write_down") == "true"}
        report = await run_in_threadpool(service.run_gate, alternatives=0, **how)
        if report is None:
            raise Refused(409, "gate: is at work already.")
        return RedirectResponse("/oversight", 303, headers=SAFE)

    return router


def _gathered(service: Service, ledger: Ledger, makers: "Makers") -> JsonObject:
    reports, n_bad = service.gates.all()
    made, n_read = makers.of(ledger)
    names = {one["hash"]: one["version"] for one in made} | {service.digest: service.model_version}
    history = [{**r, "name": name, "version": names.get(r["model"])} for name, r in reports]
    recent = [promise for promise in ledger.recent(RECENT) if promise.record is not None]
    return {
        "counts": ledger.counts(), "head": ledger.head(), "makers": made, "n_read": n_read, "history": history,
        "drawn": versions(history[-12:]), "n_bad": n_bad, "last": _said(history[-1], service) if history else None,
        "recent": recent, "every": service.gates.is_folder, "few": FEW,
    }  # fmt: skip


def _cases(service: Service, ledger: Ledger, name: str, page: int) -> JsonObject | None:
    """A page of the cases that a report names; None where there is no such report."""
    report = next((r for called, r in service.gates.all()[0] if called == name), None)
    if report is None:
        return None
    last = max(0, len(report["cases"]) - 1) // SHOWN
    page = min(page, last)
    shown = []
    for case in report["cases"][page * SHOWN : (page + 1) * SHOWN]:
        try:
            promise = ledger.promise(case["id"])
        except NoSuchPromise:  # the report is of another ledger
            shown.append({"case": case, "record": None, "until": None})
        else:
            shown.append({"case": case, "record": promise.record, "until": promise.valid_until})
    called = service.model_version if report["model"] == service.digest and service.model_version else name
    return {"report": report, "file": name, "called": called, "shown": shown, "page": page, "last": last}


def _said(report: JsonObject, service: Service) -> JsonObject:
    """A report whose groups are called as the page calls levels."""
    if report["group"] not in service.schema.names:
        return report
    feature = service.schema[report["group"]]
    words = {str(level): _show.bare(level, feature) for level in feature.levels or ()}
    return report | {"groups": [g | {"label": words.get(g["label"], g["label"])} for g in report["groups"]]}


class Makers:
    """Live promises by the model that made them; counted again when the ledger has grown."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at: tuple[str, int] | None = None
        self._told: tuple[list[JsonObject], int] = ([], 0)

    def of(self, ledger: Ledger) -> tuple[list[JsonObject], int]:
        """For each model its promises and their mean chance to hold; and how many promises were read."""
        head = ledger.head()
        with self._lock:
            if self._at != (head.ledger, head.seq):
                self._told, self._at = _counted(ledger), (head.ledger, head.seq)
            return self._told


def _counted(ledger: Ledger) -> tuple[list[JsonObject], int]:
    found: dict[tuple[Any, Any], list[float | None]] = {}
    n = 0
    for batch in ledger.live(batch_size=1000):
        for promise in batch:
            raw = json.loads(promise.text) if promise.text is not None else {}
            model, life = raw.get("model") or {}, raw.get("survival") or {}
            found.setdefault((model.get("hash"), model.get("version")), []).append(life.get("estimate"))
            n += 1
        if n >= READ:
            break
    made = []
    for (digest, version), stated in found.items():
        known = [one for one in stated if one is not None]
        mean = sum(known) / len(known) if known else None
        made.append({"hash": digest, "version": version, "n": len(stated), "mean": mean, "n_stated": len(known)})
    return made, n
