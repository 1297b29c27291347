"""Costs feature by feature: every norm but the largest change is a growing function of a sum over columns."""

import jax.numpy as jnp
from jaxtyping import Array

from holdtrue.encoding import Norm


def addend(norm: Norm, weight: Array, change: Array) -> Array:
    """What a column's change adds to the total that the norm grows with."""
    if norm == "l0":
        return weight * (jnp.abs(change) > 0)
    return (weight * change) ** 2 if norm == "l2" else weight * jnp.abs(change)


def as_total(norm: Norm, cost: Array) -> Array:
    """The total that a cost in the norm stands for."""
    return cost**2 if norm == "l2" else cost
