"""How requests are read: no head too long or without end, and no more lines than there is room for."""

import asyncio
from typing import Any

MOST_HEAD = 16_384
"""Bytes of a request's first line and headers."""
HEAD_SECONDS = 10.0
"""In which a head must have arrived, from its first byte or, of a new line, from its beginning."""
BACKLOG = 128
"""Lines that the system holds until they are taken up, all at once if need be."""
LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
FULL = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n"


def reader(most: int = 800, seconds: float = HEAD_SECONDS) -> Any:
    """What uvicorn is to read requests with: its own protocol, with limits that it has no options for.

    Parameters
    ----------
    most : int
        Lines open at once. One more takes the place of the line that has waited longest for its request to arrive,
        so that who holds lines open without asking shuts nobody out.
    seconds : float
        In which a head must have arrived.
    """
    most = min(most, _room())
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as Protocol  # slower
    return bounded(Protocol, most, seconds)


def bounded(protocol: Any, most: int, seconds: float) -> Any:
    """A protocol of uvicorn's with limits on lines and heads."""

    class Bounded(protocol):
        """A request is known by its `cycle`, which uvicorn makes when a head is whole."""

        timer: asyncio.TimerHandle | None = None
        n_head, since = 0, 0.0

        def connection_made(self, transport: object) -> None:
            super().connection_made(transport)
            self.wait()
            if len(self.connections) > most:
                min((c for c in self.connections if not c.busy), key=lambda c: c.since).leave(FULL)

        def connection_lost(self, exc: Exception | None) -> None:
            self.stop_waiting()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            cycle = self.cycle
            self.n_head += len(data)
            super().data_received(data)
            if self.cycle is not cycle:
                self.stop_waiting()  # a head has ended in this piece
                self.n_head, self.since = 0, self.loop.time()
            elif cycle is None or cycle.response_complete:
                if self.n_head > MOST_HEAD and not self.transport.is_closing():
                    self.send_400_response("The head of the request is too long.")
                elif self.timer is None:
                    self.wait()
            else:
                self.n_head = 0  # a piece of a body

        @property
        def busy(self) -> bool:
            """Whether a request that has arrived whole is being answered."""
            return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

        def wait(self) -> None:
            self.since = self.loop.time()
            self.timer = self.loop.call_later(seconds, self.leave, LATE)

        def stop_waiting(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def leave(self, answer: bytes) -> None:
            """Hang up; with an answer, unless one has begun."""
            self.timer = None
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete:
                self.transport.write(answer)
            self.transport.close()
            self.connections.discard(self)  # at once: others are counted before this one is gone

    return Bounded


def _room() -> int:
    """Lines that the process has file descriptors for, beside its own and those that come in one go."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 1 << 30
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else max(16, soft - BACKLOG - 100)
