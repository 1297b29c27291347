"""What may be tried for a parameter: a range, or one of a few values."""

from dataclasses import dataclass
from typing import Any

from holdtrue._types import JsonObject
from holdtrue.errors import DataError


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both among them.

    Attributes
    ----------
    low, high : float
    log : bool, default=False
        Whether factors matter rather than differences.
    whole : bool, default=False
        Whether only whole numbers are meant.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if not self.low <= self.high or (self.log and self.low <= 0):
            raise DataError(
                f"Range: `low` must not exceed `high`, and be positive with `log`; got {self.low!r} "
                f"and {self.high!r}."
            )

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        return {"low": self.low, "high": self.high, "log": self.log, "whole": self.whole}


@dataclass(frozen=True)
class OneOf:
    """One of a few values."""

    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise DataError("OneOf: needs a value at least; got none.")

    def to_dict(self) -> JsonObject:
        """Plain types for JSON."""
        return {"values": list(self.values)}


Space = dict[str, Range | OneOf]
STEP_SIZE = Range(1e-4, 1e-2, log=True)
