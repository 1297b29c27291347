"""Values in words: as people write them."""

from collections.abc import Sequence

import numpy as np

from holdtrue._types import Cell
from holdtrue.encoding._told import told_decimals
from holdtrue.schema import Feature

_SPANS = ("minutes", "hours", "days", "weeks", "months", "quarters", "years")


def number(value: Cell, feature: Feature) -> str:
    """A value as a person would write it, with its unit and every digit that counts: read back, it is the same."""
    if value is None or value != value:
        return "(missing)"
    if feature.kind == "binary" and set(feature.levels or ()) == {0, 1}:
        return "yes" if value == 1 else "no"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        text = str(value)
    else:
        text = _digits(value, commas=not feature.has_levels)
    return f"{text} {_of(feature.unit, value)}" if feature.unit else text


def _of(unit: str, value: Cell) -> str:
    """A unit as it follows a number: a time of one is one month, not one months."""
    return unit[:-1] if value == 1 and unit in _SPANS else unit


def about(value: Cell, feature: Feature) -> str:
    """A value that nobody is asked to reach: as `number` writes it, with the digits that tell it from others."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and not feature.has_levels
    return number(shortened(value, feature) if is_number else value, feature)


def shortened(value: float, feature: Feature) -> float:
    """A number with the digits that tell it from others on its feature's own scale."""
    short = value if float(value).is_integer() else float(f"{value:.{_decimals(feature)}f}")
    return short + 0.0  # and no -0


def _decimals(feature: Feature) -> int:
    decimals = told_decimals(feature)
    return decimals if feature.grid is None else max(decimals, int(np.ceil(-np.log10(feature.grid) - 1e-9)))


def _digits(value: float, *, commas: bool) -> str:
    """The shortest decimal number that reads back as this one."""
    if isinstance(value, float) and (not np.isfinite(value) or abs(value) >= 1e16 or 0 < abs(value) < 1e-16):
        return repr(value)
    text = str(value) if isinstance(value, int) else np.format_float_positional(value, trim="-")
    whole, point, rest = text.partition(".")
    return (f"{int(whole):,}" if commas and whole != "-0" else whole) + point + rest


def join(parts: Sequence[str]) -> str:
    """Commas, and an "and" before the last."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)
