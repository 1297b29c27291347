"""Values as JSON, and texts written so that an interruption loses nothing."""

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path

from holdtrue._files import replaced
from holdtrue._types import Json
from holdtrue.errors import DataError

TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of text, so that it reads otherwise than it is."""


def plain(value: object) -> Json:
    """Types that JSON knows; None for what is not a finite number, text for what it has no type for."""
    if is_dataclass(value) and not hasattr(value, "get_params"):  # a configured object reads best as it is written
        return plain(vars(value))
    if isinstance(value, tuple) and (as_dict := getattr(value, "_asdict", None)) is not None:
        return plain(as_dict())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return [plain(v) for v in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if (to_list := getattr(value, "tolist", None)) is not None:  # an array, or a number of numpy's
        return plain(to_list())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def to_json(value: object, *, indent: int | None = 2) -> str:
    """JSON text of what `plain` makes of a value; with `indent=None` on one line and without spaces."""
    separators = (",", ":") if indent is None else None
    return json.dumps(plain(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)


def write_text(path: str | Path, text: str, what: str) -> None:
    """Write a file beside its place and move it there."""
    path = Path(path)
    try:
        with replaced(path) as stream:
            stream.write(text.encode())
    except OSError as error:
        raise DataError(f"write: cannot write {what}; got {str(path)!r} ({error}).") from error


def write_result(path: str | Path, value: object, what: str = "the results") -> None:
    """Write a result as JSON on one line: who reads it is a program, and a diff of it says nothing."""
    write_text(path, to_json(value, indent=None) + "\n", what)
