"""How much may be asked, how often, and for how long."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, fields

from holdtrue.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Quotas:
    """What a service takes on.

    Attributes
    ----------
    body : int
        Bytes of one request.
    people : int
        People in one request.
    options : int
        Recourses per person.
    deadline, max_deadline : float
        Seconds in which a request is answered when it names none, and the most that it may name.
    rate, burst : float
        Requests per second of one key, in the long run; and how many may come at once.
    requests : int
        Requests in work at once; more are answered 429.
    queue : int
        People waiting for a search at once; more are answered 429. A queue that takes longer than the deadline to
        work off serves nobody.
    batch : int
        People searched for in one call: 16 for each core, which is what a search works on at once; more made
        everybody's share of a call longer where it was measured.
    wait : float
        Seconds that a first request waits for others to share its call.
    receive : float
        Seconds in which a body must have arrived.
    """

    body: int = 1 << 20
    people: int = 1000
    options: int = 3
    deadline: float = 5.0
    max_deadline: float = 30.0
    rate: float = 200.0
    burst: float = 400.0
    requests: int = 512
    queue: int = 256
    batch: int = 32
    wait: float = 0.002
    receive: float = 10.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "wait" else 1 if field.type in (int, "int") else 1e-6
            if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value < float("inf"):
                raise DataError(f"Quotas: `{field.name}` must be at least {least}; got {value!r}.")


class RateLimit:
    """A bucket of tokens for each key: a request takes one, `rate` come back every second, at most `burst`."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self.clock = rate, max(1.0, burst), clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> float:
        """Take a token and return 0.0; or, where there is none, the seconds until there is."""
        now = self.clock()
        with self._lock:
            tokens, at = self._buckets.get(who, (self.burst, now))
            tokens = min(self.burst, tokens + (now - at) * self.rate)
            wait = 0.0 if tokens >= 1 else (1 - tokens) / self.rate
            self._buckets[who] = (tokens if wait else tokens - 1, now)
            return wait
