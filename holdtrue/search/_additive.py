"""Costs feature by feature: every norm but the largest change is a growing function of a sum over columns."""

from typing import TypeVar

import numpy as np
from jaxtyping import Array

from holdtrue.encoding import Norm

Values = TypeVar("Values", Array, np.ndarray)


def addend(norm: Norm, weight: Values, change: Values) -> Values:
    """What a column's change adds to the total that the norm grows with."""
    if norm == "l0":
        return weight * (abs(change) > 0)
    return (weight * change) ** 2 if norm == "l2" else weight * abs(change)


def as_total(norm: Norm, cost: Array) -> Array:
    """The total that a cost in the norm stands for."""
    return cost**2 if norm == "l2" else cost
