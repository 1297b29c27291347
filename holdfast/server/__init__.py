"""A model behind HTTP: decisions, recourse, promises and the gate's last report, for people with keys."""

from typing import TYPE_CHECKING, Any

from holdfast.server._keys import ROLES, Key, KeyRing, add_key, read_keys, revoke_key
from holdfast.server._limits import Limits

if TYPE_CHECKING:  # FastAPI and jax are for those who serve; keys are made without either
    from holdfast.server._app import create_app
    from holdfast.server._service import Service

__all__ = [
    "ROLES", "Key", "KeyRing", "Limits", "Service", "add_key", "create_app", "read_keys", "revoke_key",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from holdfast.server._app import create_app

        return create_app
    if name == "Service":
        from holdfast.server._service import Service

        return Service
    raise AttributeError(f"module 'holdfast.server' has no attribute {name!r}")
