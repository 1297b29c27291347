"""One person's question and its answer."""

import enum
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.encoding import Feasible


class Status(enum.IntEnum):
    """How a search for one person ended. `message` is the sentence a user reads."""

    FOUND = 0
    ALREADY_FAVOURABLE = 1
    INFEASIBLE = 2
    NOT_FOUND = 3
    DIVERGED = 4
    NOT_REACHED = 5
    OPTIMAL = 6

    @property
    def message(self) -> str:
        """What happened, as a sentence."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.FOUND: "A recourse was found, checked against every limit and asked of the model again.",
    Status.ALREADY_FAVOURABLE: "The decision is already the wanted one; nothing needs to change.",
    Status.INFEASIBLE: "Nothing this person may change, of all that was searched, leads to the wanted decision.",
    Status.NOT_FOUND: "The search ended without a recourse; one may still exist.",
    Status.DIVERGED: "The search left the numbers behind (NaN or infinity); try a smaller `step_size`.",
    Status.NOT_REACHED: "The deadline passed before this person's search was done.",
    Status.OPTIMAL: "A recourse was found and checked, and none that is cheaper exists among those searched.",
}


def is_found(status: Any) -> Any:
    """Whether each status comes with a recourse: FOUND, or OPTIMAL where the search is also a proof."""
    return (status == int(Status.FOUND)) | (status == int(Status.OPTIMAL))


class Problem(eqx.Module):
    """One person, the class they want, what they may change, randomness of their own, and where to start.

    `start` is the factual, or the recourse of another method that a search is to improve. `options` are the
    changes that the person has been offered already, per feature (orthonormal rows, or zeros): a further one is to
    differ.
    """

    x: Float[Array, " d"]
    target: Int[Array, ""]
    feasible: Feasible
    key: PRNGKeyArray
    start: Float[Array, " d"]
    options: Float[Array, "m s"] | None = None

    def axes(self) -> "Problem":
        """Which axis of each part runs over people, in a batch of problems; for `jax.vmap`."""
        options = None if self.options is None else 0
        return Problem(0, 0, Feasible.axes(self.feasible.layout), 0, 0, options)  # type: ignore[arg-type]

    def take(self, rows: np.ndarray) -> "Problem":
        """Some people of a batch of problems, as numpy arrays."""
        return jax.tree.map(
            lambda axis, leaf: leaf if axis is None else np.asarray(leaf)[rows],
            self.axes(),
            self,
            is_leaf=lambda leaf: leaf is None,
        )


class Solution(eqx.Module):
    """One answer. Unless a recourse was found, `x` is the factual and `cost` is infinite (0 if favourable)."""

    x: Float[Array, " d"]
    status: Int[Array, ""]
    cost: Float[Array, ""]
    n_steps: Int[Array, ""]
