"""Who is let in: keys, their roles, and how often each may ask."""

from collections.abc import Callable
from typing import Any

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import HTTPException

from holdtrue.errors import DataError
from holdtrue.server._keys import Key, KeyRing
from holdtrue.server._metrics import Metrics
from holdtrue.server._quotas import Quotas, RateLimit

ANYBODY = Key("anybody", "admin", "", "")
"""Who asks a service that has no keys."""


LOGINS, LOGINS_AT_ONCE = 20.0, 100.0  # attempts a second, in the long run and at once


class Door:
    """Lets requests through by their key: those of the interface with every request, those of the page by login.

    Parameters
    ----------
    keys : KeyRing, optional
        Without, everybody may do everything.
    quotas : Quotas
    metrics : Metrics
    """

    def __init__(self, keys: KeyRing | None, quotas: Quotas, metrics: Metrics) -> None:
        self.keys, self.metrics = keys, metrics
        self.rate = RateLimit(quotas.rate, quotas.burst)
        # Of everybody together, and apart from the rate of keys: one of them may be called "login".
        self.logins = RateLimit(min(quotas.rate, LOGINS), min(quotas.burst, LOGINS_AT_ONCE))
        self.by_cookie: Callable[[Request], bool] = lambda request: False  # pages say who is logged in

    def find(self, token: str | None) -> Key | None:
        """The key that a text is."""
        if self.keys is None:
            return ANYBODY
        try:
            return None if token is None else self.keys.find(token)
        except DataError as error:  # nobody comes in by a file that cannot be read
            raise HTTPException(503, "service: the keys cannot be read.") from error

    def knows(self, key: Key) -> bool:
        """Whether a key that was let in before may still come in."""
        if self.keys is None:
            return key == ANYBODY
        try:
            return self.keys.knows(key)
        except DataError as error:
            raise HTTPException(503, "service: the keys cannot be read.") from error

    def is_known(self, scope: Any) -> bool:
        """Whether a request carries a key or the cookie of somebody logged in, by its headers alone."""
        if self.keys is None:
            return True
        request = Request(scope)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.find(token.strip()) is not None:
            return True
        return self.by_cookie(request)

    def admit(self, request: Request, key: Key, roles: tuple[str, ...]) -> None:
        """Note whose request it is; refuse another role, and who asks too often."""
        request.scope["state"] |= {"key": key.name, "role": key.role}
        if key.role not in (*roles, "admin"):
            who = ", ".join(roles) or "admin"
            raise HTTPException(403, f"service: a key of role {key.role} may not do this; {who} may.")
        self.pace(key.name)

    def pace(self, name: str) -> None:
        """Refuse who asks too often."""
        self._refuse(self.rate.take(name), "service: this key asks too often.")

    def pace_logins(self) -> None:
        """Refuse more attempts to log in than people make."""
        self._refuse(self.logins.take(""), "service: too many attempts to log in.")

    def _refuse(self, wait: float, why: str) -> None:
        if wait:
            self.metrics.count("holdtrue_refused_total", reason="rate")
            raise HTTPException(429, why, {"Retry-After": str(max(1, round(wait)))})

    def allowed(self, *roles: str) -> Any:
        """A dependency that lets some roles through, by the key that the request carries; an admin always."""
        given = Security(HTTPBearer(auto_error=False, description="A key made by `holdtrue keys add`."))

        async def check(request: Request, credentials: HTTPAuthorizationCredentials | None = given) -> None:
            key = self.find(None if credentials is None else credentials.credentials)
            if key is None:
                raise HTTPException(401, "service: needs a key that is known.", {"WWW-Authenticate": "Bearer"})
            self.admit(request, key, roles)

        return Depends(check)
