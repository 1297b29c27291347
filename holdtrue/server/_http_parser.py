"""How requests are read: by a parser in C where there is one, and no head longer than it may be."""

from typing import Any

MOST_HEAD = 16_384
"""Bytes of a request's first line and headers."""


def reader() -> Any:
    """What uvicorn is to read requests with."""
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    except ImportError:
        return "h11"  # slower, with a limit of its own

    class BoundedHead(HttpToolsProtocol):
        """httptools would collect a head without end."""

        in_head, n_head = True, 0

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.in_head, self.n_head = True, 0

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            self.n_head += len(data)  # from 0 again where a request begins in it, after the body of another
            super().data_received(data)
            if self.in_head and self.n_head > MOST_HEAD and not self.transport.is_closing():
                self.send_400_response("The head of the request is too long.")

    return BoundedHead
