"""Small questions asked of whatever a user hands in; none of them raises."""

import math
import reprlib
from collections.abc import Sequence
from difflib import get_close_matches

from holdtrue._types import Cell

_SHORT = reprlib.Repr()
_SHORT.maxlevel = 4
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 8
_SHORT.maxstring = _SHORT.maxother = 120


def shown(value: object) -> str:
    """``repr`` for a message: short however large, deep or self-referring the value is."""
    try:
        return _SHORT.repr(value)
    except Exception:  # a foreign __repr__, or a whole number of thousands of digits
        return f"<{type(value).__name__}>"


def did_you_mean(name: object, known: Sequence[str]) -> str:
    """End of an error text: the nearest known name, or all of them."""
    near = get_close_matches(name if isinstance(name, str) else "", known, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known are {shown(list(known))}."


def plain(value: Cell) -> Cell:
    """Turn a numpy scalar into the Python value it stands for."""
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value


def is_number(value: object) -> bool:
    """Whether a plain value is a finite number that fits a float."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def is_level(value: object) -> bool:
    """Whether a plain value can be a level: text, a finite number or a boolean."""
    return isinstance(value, (str, bool)) or is_number(value)


def is_list(value: object) -> bool:
    """Whether a value is a sequence of things, unlike a text."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))
