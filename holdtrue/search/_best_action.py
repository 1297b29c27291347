"""The permitted action that raises a score most: what a model trained for recourse, or a guarantee of it, asks.

A search asks for the cheapest point that is accepted; here there is no threshold, only a score to be raised. All
of these answer for one person, inside `jit`.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.encoding import Feasible, Permits
from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean
from holdtrue.search._linear_step import best_corner, within

Direction = Literal["paper", "code"]
Score = Callable[[Float[Array, " d"]], Float[Array, ""]]


class AbstractAction(eqx.Module):
    """Gives the row that a person would be at after their best action, by some way of looking for it."""

    @abstractmethod
    def __call__(self, score: Score, x: Float[Array, " d"], key: PRNGKeyArray | None = None) -> Float[Array, " d"]:
        """Row after the action that raises `score` most; without a `key`, nothing is random."""


class _AbstractTableAction(AbstractAction):
    """An action within what a schema permits, each measured number by at most `radius`; levels are not limited."""

    permits: eqx.AbstractVar[Permits]
    radius: eqx.AbstractVar[Float[Array, ""]]

    def room(self, x: Float[Array, " d"]) -> Feasible:
        """Where the person may go."""
        return within(self.permits(x), jnp.where(self.permits.level, jnp.inf, self.radius))


class LinearisedAction(_AbstractTableAction):
    """The corner of the person's polytope that the linearised score likes best, hardened (Ross et al., eq. 2).

    One gradient and one linear programme: closed form for a box. With ``direction="code"`` the sign of the
    gradient is turned, as in the paper's published code: the score falls. That is for reproducing its figures
    only.
    """

    permits: Permits
    radius: Float[Array, ""]
    direction: Direction = eqx.field(static=True, default="paper")

    def __call__(self, score: Score, x: Float[Array, " d"], key: PRNGKeyArray | None = None) -> Float[Array, " d"]:
        """Row at the corner; the factual where no permitted point is near it."""
        feasible, slope = self.room(x), jax.grad(score)(x)
        point, ok = feasible.hard(best_corner(feasible, slope if self.direction == "code" else -slope))
        return jnp.where(ok, point, x)


class GradientAction(_AbstractTableAction):
    """Signed gradient ascent on the score itself from several starts; the best point on the way.

    A start is the factual, the next the linearised corner, further ones random. The gradient is taken at the
    hardened point, so every point asked is one the person could be at. The step shrinks from half of each
    interval.
    """

    permits: Permits
    radius: Float[Array, ""]
    n_steps: int = eqx.field(static=True, default=10)
    n_starts: int = eqx.field(static=True, default=1)

    def __call__(self, score: Score, x: Float[Array, " d"], key: PRNGKeyArray | None = None) -> Float[Array, " d"]:
        """Best hardened point met; the factual is among them."""
        feasible = self.room(x)
        is_number = jnp.arange(x.shape[0]) < len(feasible.layout.numbers)
        stays = is_number & ~feasible.movable
        low = jnp.where(stays, x, jnp.minimum(feasible.lower, x))
        high = jnp.where(stays, x, jnp.maximum(feasible.upper, x))

        def climb(start: Float[Array, " d"]) -> tuple[Array, Array]:
            def one(carry: tuple[Array, Array, Array], i: Array) -> tuple[tuple[Array, Array, Array], None]:
                at, best, most = carry
                point, ok = feasible.hard(at)
                value, slope = jax.value_and_grad(score)(point)
                better = ok & (value > most)
                size = 0.5 * (1 - i / (self.n_steps + 1)) * (high - low)
                moved = jnp.clip(at + size * jnp.sign(slope), low, high)
                return (moved, jnp.where(better, point, best), jnp.where(better, value, most)), None

            begun = (start, x, score(x))
            (_, best, most), _ = jax.lax.scan(one, begun, jnp.arange(self.n_steps + 1))
            return best, most

        starts = [x]
        if self.n_starts > 1:
            starts.append(best_corner(feasible, -jax.grad(score)(x)))
        if self.n_starts > 2:
            drawn = jax.random.key(0) if key is None else key
            share = jax.random.uniform(drawn, (self.n_starts - 2, x.shape[0]))
            starts.extend(low[None, :] + share * (high - low)[None, :])
        best, most = jax.vmap(climb)(jnp.stack(starts))
        return best[jnp.argmax(most)]


class CandidateAction(AbstractAction):
    """The best of a finite list of rows, which may be another list for every person; staying is always among them.

    `propose` gives the rows from the person's own: edits of a table's columns, words of a sentence replaced.
    """

    propose: Callable[[Float[Array, " d"]], Float[Array, "m d"]]

    def __call__(self, score: Score, x: Float[Array, " d"], key: PRNGKeyArray | None = None) -> Float[Array, " d"]:
        """Candidate of the highest score."""
        rows = jnp.concatenate([x[None], self.propose(x)])
        values = jax.vmap(score)(rows)
        return rows[jnp.argmax(jnp.where(jnp.isnan(values), -jnp.inf, values))]


class LatticeAction(_AbstractTableAction):
    """The best point of a lattice over the few numbers that may change, and the linearised corner.

    `n_points` values for each number that the schema lets move, ends included: complete up to the spacing, for one
    or two such numbers. Levels keep what the corner gives them.
    """

    permits: Permits
    radius: Float[Array, ""]
    shares: Float[Array, "m d"]

    @staticmethod
    def of(permits: Permits, radius: Float[Array, ""], n_points: int) -> "LatticeAction":
        """Lay the lattice over what may move; refuses where that is more than 100,000 points."""
        moving = np.flatnonzero(np.asarray(permits.rises | permits.falls)[: len(permits.layout.numbers)])
        if len(moving) == 0 or n_points ** len(moving) > 100_000:
            raise DataError(
                f"LatticeAction: needs one to a few numbers that may change; got {len(moving)} with {n_points} "
                "points each. Use 'gradient'."
            )
        shares = np.zeros((n_points ** len(moving), permits.layout.n_columns))
        shares[:, moving] = list(product(np.linspace(0, 1, n_points), repeat=len(moving)))
        return LatticeAction(permits, radius, jnp.asarray(shares, jnp.float32))

    def __call__(self, score: Score, x: Float[Array, " d"], key: PRNGKeyArray | None = None) -> Float[Array, " d"]:
        """Best of the lattice, the corner and the factual."""
        feasible = self.room(x)
        corner = LinearisedAction(self.permits, self.radius)(score, x)
        n = len(feasible.layout.numbers)
        moves = (jnp.arange(x.shape[0]) < n) & feasible.movable

        def propose(_: Float[Array, " d"]) -> Float[Array, "m d"]:
            spread = feasible.lower[None, :] + self.shares * (feasible.upper - feasible.lower)[None, :]
            points, ok = jax.vmap(feasible.hard)(jnp.where(moves[None, :], spread, corner[None, :]))
            return jnp.concatenate([corner[None], jnp.where(ok[:, None], points, x[None, :])])

        return CandidateAction(propose)(score, x)


class Edits(eqx.Module):
    """A finite list of changes of a table's columns, the same for everybody, each as far as the person may go.

    A change adds an amount to numbers (whole levels to ordered ones) and takes levels of categories. What a person
    may not change stays; where limits across columns forbid the rest, they stay as they are.
    """

    permits: Permits
    change: Float[Array, "m d"]

    @staticmethod
    def of(permits: Permits, edits: Sequence[Mapping[str, float]]) -> "Edits":
        """Read edits such as ``{"hours": 5, "housing=own": 1}``, amounts in raw units."""
        change = np.zeros((len(edits), permits.layout.n_columns))
        for row, edit in zip(change, edits, strict=True):
            for name, amount in edit.items():
                if name not in permits.columns:
                    raise DataError(f"Edits: unknown column; got {name!r}. {did_you_mean(name, permits.columns)}")
                at = permits.columns.index(name)
                is_number = at < len(permits.layout.numbers)
                # A level wins over the person's own, which stands at 1.
                row[at] = (amount if is_number else 2.0) / float(permits.scale[at])
        return Edits(permits, jnp.asarray(change, jnp.float32))

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, "m d"]:
        """The person's row after each edit."""
        feasible = self.permits(x)
        rows, ok = jax.vmap(feasible.hard)(x[None, :] + self.change)
        return jnp.where(ok[:, None], rows, x[None, :])
