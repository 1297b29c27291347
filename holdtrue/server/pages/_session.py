"""Who is logged in: in memory, by a random cookie; a restart asks everybody for their key again."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from holdtrue.server._keys import Key

SECONDS = 8 * 3600.0
MOST = 1000


def _token() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Session:
    """A person at the page.

    Attributes
    ----------
    key : Key
        What they came in with.
    until : float
        When they are asked again.
    csrf : str
        What their forms carry, which no other site can know.
    """

    key: Key
    until: float
    csrf: str = field(default_factory=_token)

    def sent(self, csrf: str) -> bool:
        """Whether a form is one of theirs."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "surrogatepass"))

    def may(self, *roles: str) -> bool:
        """Whether their role is among these; an admin's always is."""
        return self.key.role in (*roles, "admin")


class Sessions:
    """All who are logged in; of too many, those who came first go.

    Parameters
    ----------
    seconds : float
        How long each lasts.
    most : int
    clock : callable
    """

    def __init__(
        self, seconds: float = SECONDS, most: int = MOST, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.seconds, self.most, self.clock = seconds, most, clock
        self._lock = threading.Lock()
        self._all: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, key: Key) -> tuple[str, Session]:
        """Let somebody in: what their cookie holds, and the session."""
        token, session = _token(), Session(key, self.clock() + self.seconds)
        with self._lock:
            self._all[_digest(token)] = session
            while len(self._all) > self.most:
                self._all.popitem(last=False)
        return token, session

    def find(self, token: str | None) -> Session | None:
        """The session of a cookie, if it has not ended."""
        if token is None:
            return None
        with self._lock:
            session = self._all.get(_digest(token))
            if session is not None and session.until <= self.clock():
                del self._all[_digest(token)]
                return None
            return session

    def end(self, token: str | None) -> None:
        """Log out."""
        with self._lock:
            self._all.pop(_digest(token or ""), None)


def _digest(token: str) -> bytes:
    # Looked up by its hash: how long that takes says nothing about the token.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
