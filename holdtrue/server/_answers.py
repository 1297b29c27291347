"""What answers have in common: JSON, waiting for a job, and the refusals that the OpenAPI tells of."""

import asyncio
import json
import time
from typing import Any

from starlette.responses import JSONResponse

from holdtrue._types import JsonObject
from holdtrue.errors import AgainstPolicy, HoldtrueError, IdTaken, LedgerError, NoSuchPromise, NotLive
from holdtrue.server._batcher import Job, Overloaded
from holdtrue.server._bodies import Refusal

Thing = JsonObject
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
STATUS: dict[type[BaseException], int] = {
    HoldtrueError: 422,
    LedgerError: 503,
    NoSuchPromise: 404,
    NotLive: 409,
    IdTaken: 409,
    AgainstPolicy: 409,
    Overloaded: 429,
}
"""How errors of the library are answered; one that is not named, as the nearest of its bases."""


def status_of(error: HoldtrueError) -> int:
    """The HTTP status that an error is answered with."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def reason_of(error: HoldtrueError) -> str:
    """What is told of an error; of a ledger that cannot be reached not where it is."""
    return "service: the ledger cannot be reached. Try again later." if status_of(error) == 503 else str(error)


class Json(JSONResponse):
    """JSON in ASCII, which any text fits into, also one that is no proper Unicode."""

    def render(self, content: object) -> bytes:
        """Write it out."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def may(*statuses: int) -> dict[int | str, JsonObject]:
    """The refusals of a route, for its description."""
    always = (401, 403, 429, 500, 503)
    return {status: {"model": Refusal, "description": REFUSALS[status]} for status in sorted({*always, *statuses})}


def told_as(*kinds: str) -> dict[int | str, JsonObject]:
    """What a route answers in text, for its description; its refusals are JSON all the same."""
    return {200: {"content": {kind: {"schema": {"type": "string"}} for kind in kinds}, "description": "Text."}}


async def answer(job: Job) -> Any:
    """A job's answer, or None at its deadline."""
    try:
        return await asyncio.wait_for(asyncio.wrap_future(job.future), max(0.0, job.until - time.monotonic()))
    except TimeoutError:
        return None
