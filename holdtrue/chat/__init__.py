"""A model asked from a chat client: tools of the Model Context Protocol over the library's own functions."""

from typing import TYPE_CHECKING, Any

from holdtrue._optional import need
from holdtrue.chat._questions import Questions

if TYPE_CHECKING:  # the protocol's package is for those who have the extra
    from holdtrue.chat._tools import create_server

__all__ = ["Questions", "create_server"]


def __getattr__(name: str) -> Any:
    if name == "create_server":
        need("mcp", extra="mcp", what="mcp:")
        from holdtrue.chat._tools import create_server

        return create_server
    raise AttributeError(f"module 'holdtrue.chat' has no attribute {name!r}")
