"""Where a sampling search draws its candidates."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from holdtrue.encoding import Slot
from holdtrue.search._problem import Problem

CATEGORY = 2.0  # squared length of a changed category: one column falls by one, one rises by one


class AbstractSpace(eqx.Module):
    """A space with a person in it and shells around them. What is drawn is a row, to be hardened."""

    @abstractmethod
    def centre(self, problem: Problem) -> Float[Array, " k"]:
        """Where the person stands in this space."""

    @abstractmethod
    def reach(self, problem: Problem) -> Float[Array, ""]:
        """Radius beyond which a shell holds nothing new."""

    @abstractmethod
    def draw(
        self, problem: Problem, centre: Float[Array, " k"], key: PRNGKeyArray, low: Array, high: Array, n: int
    ) -> Float[Array, "n d"]:
        """Draw `n` points of the shell ``low <= radius < high``, as rows."""


class Switches(NamedTuple):
    """Changes without a middle: a feature of two values, or another level of a category.

    A number that is a switch has the value `other` at the squared distance `price`; where it is none, or cannot
    be thrown, the price is infinite.
    """

    other: Float[Array, " n"]
    is_switch: Bool[Array, " n"]
    price: Float[Array, " s"]


class RowSpace(AbstractSpace):
    """The encoded rows themselves.

    A radius is l2 in encoded units. Adding a small vector to a row and hardening it would never change a
    category, so a shell's squared radius is shared out: a random part of it buys switches (a category costs 2, a
    feature of two values the square of its step), in random order, as far as it goes; what is left is a uniform
    direction over the other numbers. So every draw is as far away as its shell says, and changes of category
    become likelier as the radius grows. A number at its limit is drawn towards its open side.
    """

    def centre(self, problem: Problem) -> Float[Array, " d"]:
        """Return the factual."""
        return problem.x

    def reach(self, problem: Problem) -> Float[Array, ""]:
        """Twice the distance to the farthest permitted corner: directions are random, corners are few."""
        feasible, n = problem.feasible, len(problem.feasible.layout.numbers)
        switches = self._switches(problem)
        farthest = jnp.maximum(jnp.abs(feasible.upper - problem.x), jnp.abs(feasible.lower - problem.x))[:n]
        numbers = jnp.where(feasible.movable[:n] & ~switches.is_switch, farthest**2, 0.0)
        thrown = jnp.where(jnp.isfinite(switches.price), switches.price, 0.0)
        return 2.0 * jnp.sqrt(jnp.sum(numbers) + jnp.sum(thrown))

    def draw(
        self, problem: Problem, centre: Float[Array, " d"], key: PRNGKeyArray, low: Array, high: Array, n: int
    ) -> Float[Array, "n d"]:
        """Draw points of the shell."""
        feasible, layout = problem.feasible, problem.feasible.layout
        switches = self._switches(problem)
        n_numbers, n_switches = len(layout.numbers), switches.price.shape[0]
        uniform_key, side_key = jax.random.split(key)
        # All randomness in two calls: generating numbers a few at a time costs more than the model.
        uniform = jax.random.uniform(uniform_key, (n, 2 + n_switches + len(layout.groups)))
        radius = low + (high - low) * uniform[:, 0]
        order, which = uniform[:, 2 : 2 + n_switches], uniform[:, 2 + n_switches :]
        thrown, spent = self._throw(switches.price, order, uniform[:, 1] * radius**2)
        left = jnp.sqrt(jnp.maximum(radius**2 - spent, 0.0))

        side = jax.random.normal(side_key, (n, n_numbers))
        own, lower, upper = (a[:n_numbers] for a in (problem.x, feasible.lower, feasible.upper))
        side = jnp.where(
            (upper <= own)[None, :], -jnp.abs(side), jnp.where((lower >= own)[None, :], jnp.abs(side), side)
        )
        side = jnp.where((feasible.movable[:n_numbers] & ~switches.is_switch)[None, :], side, 0.0)
        length = jnp.maximum(jnp.linalg.norm(side, axis=1), 1e-12)
        numbers = own[None, :] + (left / length)[:, None] * side
        parts = [jnp.where(thrown[:, :n_numbers], switches.other[None, :], numbers)]
        for i, group in enumerate(layout.groups):
            here = slice(group.start, group.stop)
            others = self._other_levels(problem, group)
            rank = (jnp.cumsum(others) - 1).astype(which.dtype)
            wanted = jnp.floor(which[:, i] * jnp.sum(others).astype(which.dtype))
            taken = thrown[:, n_numbers + i, None] & others[None, :] & (rank[None, :] == wanted[:, None])
            # Twice the height of the person's own level, so that hardening takes it.
            higher = 2.0 * jnp.abs(feasible.upper[here]) + 1.0
            parts.append(jnp.where(taken, higher[None, :], problem.x[here][None, :]))
        fixed = problem.x[layout.n_columns - len(layout.indicators) :]
        return jnp.concatenate([*parts, jnp.broadcast_to(fixed, (n, fixed.shape[0]))], axis=1)

    def _throw(
        self, price: Float[Array, " s"], order: Float[Array, "n s"], purse: Float[Array, " n"]
    ) -> tuple[Bool[Array, "n s"], Float[Array, " n"]]:
        """Which switches the purse pays for, bought in a random order, and what they cost."""
        real = jnp.isfinite(price)
        price = jnp.where(real, price, 0.0)
        # Each switch with those before it; comparing pairs is faster than a sort here.
        before = order[:, None, :] <= order[:, :, None]
        total = jnp.sum(jnp.where(before, price[None, None, :], 0.0), axis=2)
        thrown = real[None, :] & (total <= purse[:, None])
        return thrown, jnp.sum(jnp.where(thrown, price[None, :], 0.0), axis=1)

    def _switches(self, problem: Problem) -> Switches:
        feasible, layout = problem.feasible, problem.feasible.layout
        n = len(layout.numbers)
        own, lower, upper, step = (a[:n] for a in (problem.x, feasible.lower, feasible.upper, feasible.step))
        other = jnp.where(jnp.abs(own - lower) < jnp.abs(own - upper), upper, lower)
        is_switch = (step > 0) & (upper - lower <= 1.5 * step)
        price = (other - own) ** 2
        price = jnp.where(is_switch & feasible.movable[:n] & (price > 0), price, jnp.inf)
        free = [jnp.any(self._other_levels(problem, group)) for group in layout.groups]
        groups = jnp.where(jnp.asarray(free, bool), CATEGORY, jnp.inf)
        return Switches(other, is_switch, jnp.concatenate([price, groups]))

    def _other_levels(self, problem: Problem, group: Slot) -> Bool[Array, " l"]:
        feasible, here = problem.feasible, slice(group.start, group.stop)
        own = problem.x[here] * feasible.scale[here] + feasible.offset[here] > 0.5
        return feasible.movable[here] & ~own
