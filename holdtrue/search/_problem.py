"""One person's question and its answer."""

import enum
from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, UInt32

from holdtrue.encoding import Feasible, FeasibleSets

Out = TypeVar("Out")


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


def is_found(status: object) -> Any:
    """Whether each status comes with a recourse: FOUND, or OPTIMAL where the search is also a proof."""
    return (status == int(Status.FOUND)) | (status == int(Status.OPTIMAL))


class Problem(eqx.Module):
    """One person, the class they want, what they may change, randomness of their own, and where to start.

    `start` is the factual, or the recourse of another method that a search is to improve. `options` are the
    changes that the person has been offered already, per feature (orthonormal rows, or zeros): a further one is to
    differ. `favourable` is whether the person has the wanted decision already: what was decided on their own row
    stands, whatever a search would make of it in float32. None: the search asks.
    """

    x: Float[Array, " d"]
    target: Int[Array, ""]
    feasible: Feasible
    key: PRNGKeyArray
    start: Float[Array, " d"]
    options: Float[Array, "m s"] | None = None
    favourable: Bool[Array, ""] | None = None


class Solution(eqx.Module):
    """One answer. Unless a recourse was found, `x` is the factual and `cost` is infinite (0 if favourable)."""

    x: Float[Array, " d"]
    status: Int[Array, ""]
    cost: Float[Array, ""]
    n_steps: Int[Array, ""]

    @property
    def parts(self) -> tuple[Array, Array, Array, Array]:
        """In order, for `Solutions`."""
        return self.x, self.status, self.cost, self.n_steps


class Problems(eqx.Module):
    """Many people's problems: `Problem` with a leading axis over people, as numpy arrays.

    Keys travel as their data, so that numpy can pick rows.
    """

    x: Float[np.ndarray, "n d"]
    target: Int[np.ndarray, " n"]
    feasible: FeasibleSets
    key: UInt32[np.ndarray, "n k"]
    start: Float[np.ndarray, "n d"]
    options: Float[np.ndarray, "n m s"] | None = None
    favourable: Bool[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.x)

    def take(self, rows: np.ndarray) -> "Problems":
        """Some people's problems."""
        return Problems(
            self.x[rows],
            self.target[rows],
            self.feasible.take(rows),
            self.key[rows],
            self.start[rows],
            None if self.options is None else self.options[rows],
            None if self.favourable is None else self.favourable[rows],
        )

    def each(self, function: Callable[..., Out], *others: PyTree) -> Out:
        """`jax.vmap` of a function of one person's problem, and of that person's part of other pytrees."""

        def one(own: PyTree, *part: PyTree) -> Out:
            x, target, limits, key, *others = own
            problem = Problem(x, target, self.feasible.join(limits), jax.random.wrap_key_data(key), *others)
            return function(problem, *part)

        own = (self.x, self.target, self.feasible.own, self.key, self.start, self.options, self.favourable)
        if len(self) > 1:
            return jax.vmap(one)(own, *others)
        # Gathers and loops of one person are faster without an axis over people.
        alone = jax.tree.map(lambda a: a[0], (own, *others))
        return jax.tree.map(lambda a: jnp.asarray(a)[None], one(*alone))


class Solutions(eqx.Module):
    """Many people's answers: `Solution` with a leading axis over people, as numpy arrays.

    `cheapest` is the cost of the cheapest answer, where the search went beyond it for the sake of something else.
    `bound` is what every answer costs at least, where the search proves such things; infinite where there is none.
    """

    x: Float[np.ndarray, "n d"]
    status: Int[np.ndarray, " n"]
    cost: Float[np.ndarray, " n"]
    n_steps: Int[np.ndarray, " n"]
    cheapest: Float[np.ndarray, " n"] | None = None
    bound: Float[np.ndarray, " n"] | None = None

    @classmethod
    def unreached(cls, problems: Problems) -> "Solutions":
        """Nobody's search has ended: to be written into as answers come."""
        n = len(problems)
        return cls(
            x=np.array(problems.x, np.float32),
            status=np.full(n, int(Status.NOT_REACHED), np.int32),
            cost=np.full(n, np.inf, np.float32),
            n_steps=np.zeros(n, np.int32),
        )

    def take(self, rows: np.ndarray) -> "Solutions":
        """Some people's answers."""
        cheapest, bound = (None if part is None else part[rows] for part in (self.cheapest, self.bound))
        return Solutions(self.x[rows], self.status[rows], self.cost[rows], self.n_steps[rows], cheapest, bound)
