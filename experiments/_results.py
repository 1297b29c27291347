"""Results as types: what a run of one dataset found, read from JSON and written to it by its annotations."""

import platform
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from holdtrue.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class AbstractResult:
    """What a run of one dataset found. A paper's own result adds its figures.

    Attributes
    ----------
    dataset, title : str
        Its name in the experiment, and on the page.
    seconds : dict
        What was done, and how long it took.
    options, versions, device
        What it was made with; None until it is kept. Devices by part, where parts were made on several.
    command : str, optional
        What makes it again; several, with `` && `` between them, where it was put together of parts.
    """

    dataset: str
    title: str
    seconds: dict[str, float]
    options: dict[str, Any] | None = None
    versions: dict[str, str] | None = None
    device: str | dict[str, str] | None = None
    command: str | None = None

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        return typed(cls, kept)

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; what a run left out is left out."""
        return untyped(self)

    def made_with(self, options: dict[str, Any], command: str | None = None) -> Self:
        """The same, with the options it was asked for, versions and device, and the command that makes it."""
        told = {} if command is None else {"command": command}
        return replace(self, **made_with(options), **told)


def in_turn(*commands: str | None) -> str | None:
    """One command after the other, each once: what makes a file that is put together of parts."""
    steps = [step for command in commands if command for step in command.split(" && ")]
    return " && ".join(dict.fromkeys(steps)) or None


def made_with(options: dict[str, Any]) -> dict[str, Any]:
    """What figures are made with: options, versions, device."""
    import jax

    from holdtrue import __version__

    versions = {"holdtrue": __version__, "jax": jax.__version__, "python": platform.python_version()}
    return {"options": options, "versions": versions, "device": jax.devices()[0].device_kind}


def typed(kind: type[T], kept: Mapping[str, Any]) -> T:
    """Make a dataclass, and those within it, of what JSON held.

    A field is read from the key of its name, or from the one that its metadata give under ``key``. Fields with a
    default may be missing; a key that is no field is an error, since it would be lost when written again.
    """
    names = _keys(kind)
    unknown = [key for key in kept if key not in names]
    missing = [key for key, (_, _, needed) in names.items() if needed and key not in kept]
    if unknown or missing:
        wrong = f"has {unknown[0]!r}, which is no figure of it" if unknown else f"lacks {missing[0]!r}"
        raise DataError(
            f"papers: a file of results does not fit {kind.__name__}: it {wrong}; got the keys {list(kept)!r}. "
            "Run it again by the version that reads it."
        )
    return kind(**{names[key][0]: _read(names[key][1], value) for key, value in kept.items()})


def untyped(value: Any) -> Any:
    """What `typed` reads: dicts and lists. Fields that need not be there are left out where they are empty."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            key: untyped(getattr(value, name))
            for key, (name, _, needed) in _keys(type(value)).items()
            if needed or getattr(value, name) not in (None, {})
        }
    if isinstance(value, Mapping):
        return {key: untyped(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [untyped(v) for v in value]
    return value


@cache
def _keys(kind: type) -> dict[str, tuple[str, Any, bool]]:
    """By the key in JSON: name and annotation of a field, and whether it must be there."""
    hints = get_type_hints(kind)
    return {
        f.metadata.get("key", f.name): (
            f.name,
            hints[f.name],
            f.default is MISSING and f.default_factory is MISSING,
        )
        for f in fields(kind)
    }


def _read(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):  # something or nothing
        hint = next(part for part in get_args(hint) if part is not types.NoneType)
    origin, parts = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return typed(hint, value)  # type: ignore[arg-type]
    if origin is dict:
        return {key: _read(parts[1], v) for key, v in value.items()}
    if origin is list:
        return [_read(parts[0], v) for v in value]
    return value
