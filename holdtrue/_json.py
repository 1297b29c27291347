"""Values as JSON, and texts written so that an interruption loses nothing."""

import json
import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from holdtrue._files import replaced
from holdtrue.errors import DataError

TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that turn the direction of text, so that it reads otherwise than it is."""


def plain(value: Any) -> Any:
    """Types that JSON knows; None for what is not a finite number, text for what it has no type for."""
    if is_dataclass(value):
        return plain(vars(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())  # type: ignore[attr-defined]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (set, frozenset)):
        return [plain(v) for v in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):  # an array, or a number of numpy's
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def to_json(value: Any, *, indent: int | None = 2) -> str:
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
