"""Around every request: its size, its time, its name in the log; and no error that tells more than it should."""

import asyncio
import json
import logging
import secrets
import time
from typing import Any

from holdtrue.server._access import Door
from holdtrue.server._http_parser import MOST_HEAD
from holdtrue.server._metrics import Metrics
from holdtrue.server._quotas import Quotas

log = logging.getLogger("holdtrue.server")
STRANGERS = 64  # whose logins are read at once
LOGIN = ("/login", 4096)  # the one path whose body is read of somebody unknown, and how much of it
SAFE = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class Refused(Exception):
    """A request that is not answered: status, reason, and seconds after which to try again."""

    def __init__(self, status: int, reason: str, retry: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry = status, reason, retry


class Guard:
    """ASGI middleware. What it logs is the route's pattern, the status, the time and the key's name.

    Neither addresses nor bodies, queries, values of people or stack traces are written anywhere. Bodies are read
    here, up to the limit and within a time, before anything else looks at them; of somebody without a key only
    the login's. A request counts as in work when it has arrived.
    """

    def __init__(self, app: Any, quotas: Quotas, metrics: Metrics, door: Door) -> None:
        self.app, self.quotas, self.metrics, self.door = app, quotas, metrics, door
        self.in_work = self.strangers = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        request = scope.setdefault("state", {})["request"] = secrets.token_hex(8)
        status, more = 0, list(SAFE)

        async def told(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *more, (b"x-request-id", request.encode())]
            await send(message)

        reason, arrived = None, False
        try:
            _check_head(scope)
            if self.door.keys is None:
                _check_origin(scope)
            if not _has_body(scope):
                body = b""
            elif self.door.is_known(scope):
                body = await self._body(scope, receive, self.quotas.body)
            elif scope["path"] == LOGIN[0]:
                body = await self._strangers_body(scope, receive)
            else:
                body = b""  # the application will say that it needs a key
                more.append((b"connection", b"close"))
            arrived = True
            self.in_work += 1
            if self.in_work > self.quotas.requests and scope["path"] != "/health":
                raise Refused(429, "service: too many requests at once. Ask again in a second.", 1.0)
            await self.app(scope, _replay(body, receive), told)
        except Refused as refused:
            reason = "in work" if refused.status == 429 else None
            await _send(told, refused.status, refused.reason, request, refused.retry)
        except Exception as error:
            # Its text may hold what a person sent.
            log.error("request %s failed: %s", request, type(error).__name__)
            if not status:
                await _send(told, 500, "service: failed. The log has this request's name.", request)
        finally:
            self.in_work -= arrived
            self._note(scope, status or 499, time.monotonic() - began, request, reason)

    def _note(self, scope: Any, status: int, seconds: float, request: str, reason: str | None) -> None:
        route = getattr(scope.get("route"), "path", None) or "unmatched"
        method = scope["method"] if scope["method"] in ("GET", "POST", "PUT", "DELETE", "HEAD") else "other"
        self.metrics.count("holdtrue_requests_total", route=route, method=method, status=str(status))
        self.metrics.time("holdtrue_request_seconds", seconds, route=route)
        if reason is not None:
            self.metrics.count("holdtrue_refused_total", reason=reason)
        key = scope["state"].get("key", "-")
        log.info("%s %s %s %.1f ms key=%r request=%s", method, route, status, 1000 * seconds, key, request)

    async def _strangers_body(self, scope: object, receive: object) -> bytes:
        if self.strangers >= STRANGERS:
            raise Refused(429, "service: too many log in at once. Try again in a second.", 1.0)
        self.strangers += 1
        try:
            return await self._body(scope, receive, LOGIN[1])
        finally:
            self.strangers -= 1

    async def _body(self, scope: Any, receive: Any, most: int) -> bytes:
        length = dict(scope["headers"]).get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > most):
            raise Refused(413, f"service: the body is too large. At most {most:,} bytes are read.")
        parts, n = [], 0
        try:
            async with asyncio.timeout(self.quotas.receive):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "service: the body broke off.")
                    parts.append(message.get("body", b""))
                    n += len(parts[-1])
                    if n > most:
                        raise Refused(413, f"service: the body is too large. At most {most:,} bytes are read.")
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError as error:
            raise Refused(408, f"service: the body did not arrive in {self.quotas.receive:g} s.") from error


def _has_body(scope: Any) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def _check_head(scope: Any) -> None:
    """A head that comes in one piece is whole before its length is known."""
    length = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    if length + len(scope.get("raw_path") or b"") + len(scope["query_string"]) > MOST_HEAD:
        raise Refused(431, f"service: the head is too long. At most {MOST_HEAD:,} bytes are read.")


def _check_origin(scope: Any) -> None:
    """Without keys a browser on this machine could be sent here by any site: its pages have another origin."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin")
    if scope["method"] in ("GET", "HEAD") or origin is None:
        return
    if origin.partition(b"://")[2] != headers.get(b"host", b""):
        raise Refused(403, "service: requests that other sites send are not taken.")


def _replay(body: bytes, receive: Any) -> Any:
    """Give the application the body that was read, then whatever comes."""
    given = False

    async def again() -> Any:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _send(send: Any, status: int, reason: str, request: str, retry: float | None = None) -> None:
    content = json.dumps({"error": reason, "request": request}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    headers += [] if retry is None else [(b"retry-after", str(max(1, round(retry))).encode())]
    unread = status in (403, 408, 413, 431)  # the rest of the body
    headers += [(b"connection", b"close")] if unread else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
