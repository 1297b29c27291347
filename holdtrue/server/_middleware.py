"""Around every request: its size, its time, its name in the log; and no error that tells more than it should."""

import asyncio
import json
import logging
import secrets
import time
from typing import Any

from holdtrue.server._metrics import Metrics
from holdtrue.server._quotas import Quotas

log = logging.getLogger("holdtrue.server")
SAFE = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class Refused(Exception):
    """A request that is not answered: status, reason, and seconds after which to try again."""

    def __init__(self, status: int, reason: str, retry: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.retry = status, reason, retry


class Guard:
    """ASGI middleware. What it logs is the route's pattern, the status, the time and the key's name.

    Neither addresses nor bodies, queries, values of people or stack traces are written anywhere. Bodies are read
    here, up to the limit and within a time, before anything else looks at them.
    """

    def __init__(self, app: Any, quotas: Quotas, metrics: Metrics) -> None:
        self.app, self.quotas, self.metrics = app, quotas, metrics
        self.in_work = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        request = scope.setdefault("state", {})["request"] = secrets.token_hex(8)
        status = 0

        async def told(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", []), *SAFE, (b"x-request-id", request.encode())]
            await send(message)

        self.in_work += 1
        reason = None
        try:
            if self.in_work > self.quotas.requests and scope["path"] != "/health":
                raise Refused(429, "service: too many requests at once. Ask again in a second.", 1.0)
            body = await self._body(scope, receive)
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
            self.in_work -= 1
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

    async def _body(self, scope: Any, receive: Any) -> bytes:
        most = self.quotas.body
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
    headers += [(b"connection", b"close")] if status in (408, 413) else []  # the rest of the body is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
