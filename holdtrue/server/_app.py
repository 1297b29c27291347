"""The HTTP application: routes about the model and people, and reasons for refusals."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from holdtrue import __version__
from holdtrue._types import JsonObject
from holdtrue.errors import HoldtrueError
from holdtrue.hold import Holding
from holdtrue.schema import plain
from holdtrue.server._access import Door
from holdtrue.server._answers import Json, Thing, answer, may, reason_of, status_of, told_as
from holdtrue.server._applicants import Applicants
from holdtrue.server._batcher import Overloaded
from holdtrue.server._bodies import Answers, Bodies, Decisions, hold_of
from holdtrue.server._keys import KeyRing
from holdtrue.server._middleware import Guard, Refused
from holdtrue.server._promises import ledger_routes, promise_routes
from holdtrue.server._service import Service, unreached
from holdtrue.server.pages import add_pages


def create_app(
    service: Service,
    keys: KeyRing | None = None,
    *,
    applicants: Applicants | None = None,
    pages: bool = True,
    show_protected: bool = False,
) -> "FastAPI":
    """Return the application; it is warm when its start-up is over, which servers await before they listen.

    Parameters
    ----------
    service : Service
    keys : KeyRing, optional
        Who may ask. Without, everybody who reaches it may do everything, and only under a name of this machine.
    applicants : Applicants, optional
        People to pick from on the case officer's page.
    pages : bool, default=True
        Whether there are pages for people, beside the interface for programs.
    show_protected : bool, default=False
        Whether the desk shows the columns that the schema calls `protected`, and lets them be edited.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await run_in_threadpool(service.start)
        # What is warm stays. The collector would go through all of it every few hundred requests, and nobody is
        # answered meanwhile.
        gc.collect()
        gc.freeze()
        yield
        gc.unfreeze()
        await run_in_threadpool(service.close)

    app = FastAPI(
        title="holdtrue",
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
    door = Door(keys, service.quotas, service.metrics)
    app.add_middleware(Guard, quotas=service.quotas, metrics=service.metrics, door=door)
    _refusals(app, service)
    bodies = Bodies(service.schema, service.quotas)
    # The busiest first, and of the application itself: every router on the way takes its time.
    _people(app, service, bodies, door.allowed)
    _open(app, service, door.allowed)
    app.include_router(promise_routes(service, bodies, door.allowed))
    app.include_router(ledger_routes(service, door.allowed))
    if pages:
        add_pages(app, service, bodies, door, applicants, show_protected=show_protected)
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

    @app.exception_handler(HoldtrueError)
    async def _(request: Request, error: HoldtrueError) -> Response:
        status, headers = status_of(error), None
        if isinstance(error, Overloaded):
            service.metrics.count("holdtrue_refused_total", reason="queue")
            headers = {"Retry-After": "1"}
        return refuse(request, status, reason_of(error), headers)


def _open(app: FastAPI, service: Service, allowed: Any) -> None:
    @app.get("/health", response_model=Thing, responses={503: {"model": Thing, "description": "Not ready."}})
    async def health() -> Response:
        """Whether requests are answered; needs no key."""
        return Json({"status": "ok" if service.ready else "not ready"}, 200 if service.ready else 503)

    @app.get(
        "/metrics",
        dependencies=[allowed("validator")],
        responses=told_as("text/plain") | may(),
        response_class=Response,
    )
    async def metrics() -> Response:
        """Counts for Prometheus."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/openapi.json", dependencies=[allowed("officer", "validator")], include_in_schema=False)
    async def openapi() -> Response:
        return Json(app.openapi())

    @app.get("/v1/model", response_model=Thing, dependencies=[allowed("officer", "validator")], responses=may())
    async def model() -> Response:
        """The model that is served."""
        predictor, method = service.predictor, service.classifier.method_
        return Json({
            "model": service.digest,
            "version": service.model_version,
            "classes": predictor.classes.tolist(),
            "favourable": plain(predictor.favourable),
            "threshold": predictor.threshold,
            "method": method.base_name if isinstance(method, Holding) else type(method).__name__,
            "level": service.level(),
            "columns": [feature.to_dict() for feature in service.schema],
            "ledger": service.ledger is not None,
            "retrained": service.n_judges,
        })  # fmt: skip


def _people(app: FastAPI, service: Service, bodies: Bodies, allowed: Any) -> None:
    tags: JsonObject = {
        "dependencies": [allowed("officer", "validator")],
        "responses": may(400, 408, 413, 422),
    }

    @app.post("/v1/predict", response_model=Decisions, **tags)
    async def predict(body: bodies.Predict) -> Response:  # type: ignore[name-defined]
        """What the model decides about each person."""
        jobs = service.ask("predict", [bodies.row(person) for person in body.people])
        parts = [await answer(job) for job in jobs]
        if None in parts:
            raise Refused(429, "service: could not answer in time. Ask again in a second.", 1.0)
        return Json({"model": service.digest, "decisions": [one for part in parts for one in part]})

    @app.post("/v1/recourse", response_model=Answers, **tags)
    async def recourse(body: bodies.Recourse) -> Response:  # type: ignore[name-defined]
        """What each person could do; who was not reached by the deadline is told so."""
        jobs = service.ask(
            "recourse",
            [bodies.row(person) for person in body.people],
            target=body.target,
            restrictions=body.restrictions,
            n_recourses=body.options,
            hold=hold_of(body),
            deadline=body.deadline,
        )
        told = []
        for job in jobs:  # they have one deadline
            part = await answer(job)
            told += [unreached() for _ in job.target] if part is None else part[0]
        return Json({"model": service.digest, "level": service.level(hold_of(body)), "answers": told})
