"""The HTTP interface: routes, roles, and reasons for refusals."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from holdfast import __version__
from holdfast.errors import DataError, HoldfastError, LedgerError, MissingDependencyError
from holdfast.schema import plain

try:
    from fastapi import APIRouter, Depends, FastAPI, Request, Response, Security
    from fastapi.concurrency import run_in_threadpool
    from fastapi.exceptions import RequestValidationError
    from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
    from starlette.exceptions import HTTPException
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import JSONResponse, PlainTextResponse
except ImportError as error:
    raise MissingDependencyError(
        "serve: needs fastapi and uvicorn. Install them with: pip install 'holdfast[serve]'"
    ) from error

from holdfast.ledger import Ledger, Promise
from holdfast.server._batcher import Job, Overloaded
from holdfast.server._bodies import Answers, Bodies, Decisions, Fulfil, Gate, Kept, Problem
from holdfast.server._keys import Key, KeyRing
from holdfast.server._limits import RateLimit
from holdfast.server._middleware import Guard, Refused
from holdfast.server._service import Service, unreached

Thing = dict[str, Any]
REFUSALS = {
    400: "Not JSON.",
    401: "No key, or one that is not known.",
    403: "The key's role does not allow it.",
    404: "No such promise, report or ledger.",
    408: "The body came too slowly.",
    409: "Not possible as things stand.",
    413: "The body is too large.",
    422: "The request cannot be used as it is; the error says why.",
    429: "Too much is asked; try again after the seconds in Retry-After.",
    500: "Failed.",
    503: "The ledger or the keys cannot be reached.",
}


class Json(JSONResponse):
    """JSON in ASCII, which any text fits into, also one that is no proper Unicode."""

    def render(self, content: Any) -> bytes:
        """Write it out."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def create_app(service: Service, keys: KeyRing | None = None) -> "FastAPI":
    """Return the application; it is warm when its start-up is over, which servers await before they listen.

    Parameters
    ----------
    service : Service
    keys : KeyRing, optional
        Who may ask. Without, everybody who reaches it may do everything, and only under a name of this machine.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(service.start)
        yield
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="holdfast",
        version=__version__,
        description="Decisions, recourse, promises, and whether they hold.",
        lifespan=life,
        openapi_url=None,  # served below, to those who have a key
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
    )
    if keys is None:  # a page of another site must not reach it through a name that leads here
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "testserver"])
    app.add_middleware(Guard, limits=service.limits, metrics=service.metrics)
    _refusals(app, service)
    allowed = _roles(service, keys)
    app.include_router(_open(app, service, allowed))
    bodies = Bodies(service.schema, service.limits)
    app.include_router(_people(service, bodies, allowed))
    app.include_router(_promises(service, bodies, allowed))
    return app


def _refusals(app: FastAPI, service: Service) -> None:
    def refuse(request: Request, status: int, text: str, headers: Any = None) -> Response:
        body = {"error": text, "request": request.scope["state"]["request"]}
        return Json(body, status_code=status, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def _(request: Request, error: RequestValidationError) -> Response:
        first, more = error.errors()[0], len(error.errors()) - 1
        where = ".".join(str(part) for part in first["loc"])
        text = f"{where}: {first['msg'].removeprefix('Value error, ')}" + (f" (and {more} more)" if more else "")
        return refuse(request, 422, text)

    @app.exception_handler(HTTPException)
    async def _(request: Request, error: HTTPException) -> Response:
        return refuse(request, error.status_code, str(error.detail), error.headers)

    @app.exception_handler(HoldfastError)
    async def _(request: Request, error: HoldfastError) -> Response:
        if isinstance(error, Overloaded):
            service.metrics.count("holdfast_refused_total", reason="queue")
            return refuse(request, 429, str(error), {"Retry-After": "1"})
        return refuse(request, 503 if isinstance(error, LedgerError) else 422, str(error))


def _roles(service: Service, keys: KeyRing | None) -> Callable[..., Any]:
    """A dependency that lets some roles through: it knows the key, and how often it has asked."""
    rate = RateLimit(service.limits.rate, service.limits.burst)
    bearer = HTTPBearer(auto_error=False, description="A key made by `holdfast keys add`.")
    given = Security(bearer)

    def allowed(*roles: str) -> Any:
        async def check(request: Request, credentials: HTTPAuthorizationCredentials | None = given) -> None:
            key = _key(keys, credentials)
            request.scope["state"]["key"] = key.name
            if key.role not in (*roles, "admin"):
                raise HTTPException(
                    403, f"service: a key of role {key.role} may not do this; {', '.join(roles)} may."
                )
            wait = rate.take(key.name)
            if wait:
                service.metrics.count("holdfast_refused_total", reason="rate")
                raise HTTPException(
                    429, "service: this key asks too often.", {"Retry-After": str(max(1, round(wait)))}
                )

        return Depends(check)

    return allowed


def _key(keys: KeyRing | None, credentials: HTTPAuthorizationCredentials | None) -> Key:
    if keys is None:
        return Key("anybody", "admin", "", "")
    try:
        key = None if credentials is None else keys.find(credentials.credentials)
    except DataError as error:  # nobody comes in by a file that cannot be read
        raise HTTPException(503, "service: the keys cannot be read.") from error
    if key is None:
        raise HTTPException(401, "service: needs a key that is known.", {"WWW-Authenticate": "Bearer"})
    return key


def _may(*statuses: int) -> dict[int | str, dict[str, Any]]:
    always = (401, 403, 429, 500, 503)
    return {status: {"model": Problem, "description": REFUSALS[status]} for status in sorted({*always, *statuses})}


def _open(app: FastAPI, service: Service, allowed: Any) -> APIRouter:
    router = APIRouter()

    @router.get("/health", response_model=Thing, responses={503: {"model": Thing, "description": "Not ready."}})
    async def health() -> Response:
        """Whether requests are answered; needs no key."""
        return Json({"status": "ok" if service.ready else "not ready"}, 200 if service.ready else 503)

    @router.get(
        "/metrics", dependencies=[allowed("validator")], responses=_may(), response_class=PlainTextResponse
    )
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @router.get("/openapi.json", dependencies=[allowed("officer", "validator")], include_in_schema=False)
    async def openapi() -> Response:
        return Json(app.openapi())

    @router.get(
        "/v1/model", response_model=Thing, dependencies=[allowed("officer", "validator")], responses=_may()
    )
    async def model() -> Response:
        """The model that is served."""
        predictor = service.predictor
        return Json({
            "model": service.digest,
            "version": service.model_version,
            "classes": predictor.classes.tolist(),
            "favourable": plain(predictor.favourable),
            "threshold": predictor.threshold,
            "method": type(service.classifier.method_).__name__,
            "columns": [feature.to_dict() for feature in service.schema],
            "ledger": service.ledger is not None,
        })  # fmt: skip

    return router


def _people(service: Service, bodies: Bodies, allowed: Any) -> APIRouter:
    router = APIRouter()
    tags: dict[str, Any] = {
        "dependencies": [allowed("officer", "validator")],
        "responses": _may(400, 408, 413, 422),
    }

    @router.post("/v1/predict", response_model=Decisions, **tags)
    async def predict(body: bodies.Predict) -> Response:  # type: ignore[name-defined]
        """What the model decides about each person."""
        jobs = service.ask("predict", [bodies.row(person) for person in body.people])
        parts = await asyncio.gather(*map(_answer, jobs))
        if None in parts:
            raise Refused(429, "service: could not answer in time. Ask again in a second.", 1.0)
        return Json({"model": service.digest, "decisions": [one for part in parts for one in part]})

    @router.post("/v1/recourse", response_model=Answers, **tags)
    async def recourse(body: bodies.Recourse) -> Response:  # type: ignore[name-defined]
        """What each person could do; who was not reached by the deadline is told so."""
        jobs = service.ask(
            "recourse",
            [bodies.row(person) for person in body.people],
            target=body.target,
            limits=body.limits,
            n_recourses=body.options,
            deadline=body.deadline,
        )
        told = []
        for job, part in zip(jobs, await asyncio.gather(*map(_answer, jobs)), strict=True):
            told += [unreached() for _ in job.target] if part is None else part[0]
        return Json({"model": service.digest, "answers": told})

    return router


def _promises(service: Service, bodies: Bodies, allowed: Any) -> APIRouter:
    router = APIRouter()

    refusals = _may(400, 404, 408, 409, 413, 422)
    before: dict[int | str, dict[str, Any]] = {200: {"model": Thing, "description": "Issued before, by its id."}}

    @router.post(
        "/v1/records",
        response_model=Thing,
        status_code=201,
        dependencies=[allowed("officer")],
        responses=before | refusals,
    )
    async def issue(body: bodies.Issue) -> Response:  # type: ignore[name-defined]
        """Find recourse for a person and promise them one of the options: it lands in the ledger."""
        ledger = _ledger(service)
        if body.id is not None and (there := await run_in_threadpool(_promise, ledger, body.id)) is not None:
            return _again(there, body.subject, bodies.row(body.person))
        jobs = service.ask(
            "recourse",
            [bodies.row(body.person)],
            target=body.target,
            limits=[body.limits],
            n_recourses=max(body.options, body.option + 1),
            deadline=body.deadline,
            keep=True,
        )
        answer = await _answer(jobs[0])
        if answer is None:
            raise Refused(409, f"records: nothing was issued. {unreached()['message']}")
        told, plan = answer
        record = await run_in_threadpool(
            service.promise, plan, body.subject, option=body.option, days=body.valid_days, id=body.id
        )
        if record is None:
            why = told[0]["message"] if not told[0]["options"] else f"Options found: {len(told[0]['options'])}."
            raise Refused(409, f"records: nothing was issued. {why}")
        try:
            await run_in_threadpool(ledger.issue, record)
        except LedgerError:  # asked twice at once, by one id: the other was quicker
            there = await run_in_threadpool(_promise, ledger, record.id)
            if there is None:
                raise
            return _again(there, body.subject, bodies.row(body.person))
        service.metrics.count("holdfast_promises_total")
        return Json(record.to_dict(), 201)

    @router.get(
        "/v1/records/{id}",
        response_model=Thing,
        dependencies=[allowed("officer", "validator")],
        responses=_may(404, 422),
    )
    async def show(id: str) -> Response:
        """A promise, and where it stands."""
        there = await run_in_threadpool(_promise, _ledger(service), id)
        if there is None:
            raise Refused(404, "records: no such promise.")
        return Json({"state": there.state, "record": None if there.text is None else json.loads(there.text)})

    @router.post("/v1/records/{id}/fulfil", response_model=Kept, dependencies=[allowed("officer")],
                 responses=refusals)  # fmt: skip
    async def fulfil(id: str, body: Fulfil) -> Response:
        """The person came back: what was decided, and what they did change."""
        ledger = _ledger(service)
        there = await run_in_threadpool(_promise, ledger, id)
        if there is None:
            raise Refused(404, "fulfil: no such promise.")
        if there.state != "live":
            raise Refused(409, f"fulfil: the promise is not live; it is {there.state}.")
        kept = await run_in_threadpool(
            ledger.fulfil, id, decision=body.decision, actual=body.actual, note=body.note
        )
        return Json({"kept": kept})

    @router.get("/v1/ledger", response_model=Thing, dependencies=[allowed("validator")], responses=_may(404))
    async def counts() -> Response:
        """How many promises stand where, and the end of the chain."""
        ledger = _ledger(service)
        found, head = await run_in_threadpool(lambda: (ledger.counts(), ledger.head()))
        return Json({"counts": found, "head": {"ledger": head.ledger, "seq": head.seq, "hash": head.hash}})

    @router.get("/v1/gate", response_model=Thing, dependencies=[allowed("validator")], responses=_may(404, 422))
    async def last_gate() -> Response:
        """The gate's last report."""
        report = await run_in_threadpool(service.last_gate)
        if report is None:
            raise Refused(404, "gate: there is no report yet.")
        return Json({"running": service.gate_runs, "report": report})

    @router.post("/v1/gate", response_model=Thing, dependencies=[allowed("validator")], responses=refusals)
    async def run_gate(body: Gate) -> Response:
        """Ask the served model about every live promise, and keep the report."""
        _ledger(service)
        report = await run_in_threadpool(service.run_gate, **body.model_dump())
        if report is None:
            raise Refused(409, "gate: is at work already.")
        return Json({"running": False, "report": report})

    return router


async def _answer(job: Job) -> Any:
    """A job's answer, or None at its deadline."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(job.future), max(0.0, job.until - time.monotonic()))
    except TimeoutError:
        return None


def _ledger(service: Service) -> Ledger:
    if service.ledger is None:
        raise Refused(404, "service: keeps no promises. Start it with --ledger PLACE.")
    return service.ledger


def _promise(ledger: Ledger, id: str) -> Promise | None:
    try:
        return ledger.promise(id)
    except LedgerError as error:
        if "no such promise" in str(error):
            return None
        raise


def _again(there: Promise, subject: str, person: dict[str, Any]) -> Response:
    """The record that was issued under this id, if it was for the same person as they were."""
    record = there.record
    if record is None or record.subject != subject or record.factual != person:
        raise Refused(409, "records: there is another promise of this id. Take a new one.")
    return Json(record.to_dict(), 200)
