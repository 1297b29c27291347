"""A model behind HTTP: decisions, recourse, promises and the gate's reports, for programs and for people."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdtrue._optional import need
from holdtrue.server._http_parser import BACKLOG, MOST_HEAD, reader
from holdtrue.server._keys import ROLES, Key, KeyRing, add_key, read_keys, revoke_key
from holdtrue.server._quotas import Quotas

if TYPE_CHECKING:  # FastAPI and jax are for those who serve; keys are made without either
    from holdtrue.server._app import create_app
    from holdtrue.server._applicants import Applicants
    from holdtrue.server._service import Service

__all__ = [
    "BACKLOG", "MOST_HEAD", "ROLES", "Applicants", "Key", "KeyRing", "Quotas", "Service", "add_key", "create_app",
    "read_keys", "reader", "revoke_key",
]  # fmt: skip
_LATER = {"create_app": "_app", "Applicants": "_applicants", "Service": "_service"}


def __getattr__(name: str) -> Any:
    if name == "create_app":
        for package in ("fastapi", "jinja2"):
            need(package, extra="serve", what="serve:")
    if name in _LATER:
        return getattr(import_module(f"holdtrue.server.{_LATER[name]}"), name)
    raise AttributeError(f"module 'holdtrue.server' has no attribute {name!r}")
