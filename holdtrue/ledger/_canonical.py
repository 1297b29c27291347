"""One text for one value: JSON that is equal byte for byte where the content is, and reading it from strangers."""

import hashlib
import json
import math
from typing import Any

from holdtrue._types import JsonObject
from holdtrue.errors import DataError

LARGEST = 1 << 20  # characters of one JSON text
DEEPEST = 24  # levels of nesting
LONGEST = 20_000  # characters of one text, entries of one list or object
WHOLE = 2**63  # whole numbers lie below this, so that every reader can hold them


def canonical(value: object) -> str:
    """JSON with sorted keys, no spaces, ASCII only, and floats in the shortest text that reads back the same."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256(text: str) -> str:
    """Hexadecimal SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def parse(text: str | bytes, where: str) -> Any:
    """Read JSON that anybody may have written: limited in size and depth, no key twice, no number beyond a float.

    Parameters
    ----------
    text : str or bytes
    where : str
        Begins the error.
    """
    if len(text) > LARGEST:
        raise DataError(f"{where}: is too large; got {len(text):,} characters. At most {LARGEST:,} are read.")
    try:
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise DataError(f"{where}: is damaged or is not JSON ({str(error)[:200]}). Copy it again.") from error
    check_plain(value, where)
    return value


def check_plain(value: object, where: str, depth: int = 0) -> None:
    """Refuse what canonical JSON cannot hold, or what no record needs."""
    if depth > DEEPEST:
        raise DataError(f"{where}: is nested too deeply; got more than {DEEPEST} levels.")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise DataError(f"{where}: a text is too long; got {len(value):,} characters, at most {LONGEST:,}.")
    elif isinstance(value, int):
        if not -WHOLE <= value < WHOLE:
            raise DataError(f"{where}: a whole number does not fit 64 bits; got one of {value.bit_length()} bits.")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise DataError(f"{where}: a number is not finite; got {value!r}. Leave out what is missing (null).")
    elif isinstance(value, (list, tuple, dict)):
        if len(value) > LONGEST:
            raise DataError(f"{where}: a list or object is too long; got {len(value):,} entries.")
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise DataError(
                f"{where}: keys must be texts; got {next(k for k in value if not isinstance(k, str))!r}."
            )
        for key in value if isinstance(value, dict) else ():
            check_plain(key, where, depth + 1)
        for part in value.values() if isinstance(value, dict) else value:
            check_plain(part, where, depth + 1)
    else:
        raise DataError(f"{where}: holds a {type(value).__name__}, which JSON does not know.")


def _pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    out = dict(pairs)
    if len(out) != len(pairs):
        # Readers differ in which of the two they take, so that what was hashed might not be what is read.
        raise ValueError("a key stands twice")
    return out


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")
