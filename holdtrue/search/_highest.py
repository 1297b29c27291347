"""Climb to the highest score that a person can reach, whatever it costs."""

from itertools import product
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Feasible, Norm
from holdtrue.models import Decision
from holdtrue.search._linear_step import best_corner, within
from holdtrue.search._problem import Problem
from holdtrue.search._solver import AbstractSolver, State

ALONE = 65  # values asked where one number is all that may change
LINE = 8  # points asked on the way to the corner that the linearised model likes best
UPHILL = (0.02, 0.1, 0.5, 2.0)  # lengths of the steps along the slope, of which the best is taken
MENDED = 2  # points of a step that are mended where they break a limit across features
NARROWER = 0.25  # the part of an interval that the next sweep looks at, about where the last one ended


class Climb(NamedTuple):
    """Highest point so far, the factual included; steps taken, and steps since the last gain."""

    x: Float[Array, " d"]
    score: Float[Array, ""]
    turn: Int[Array, ""]
    still: Int[Array, ""]


class HighestSolver(AbstractSolver):
    """The hardened point with the largest margin, by sweeps over single features and steps along the slope.

    At the start the way to the linearised model's best corner is asked about, and a lattice where only one or two
    numbers may change. Then each step takes one feature, all its levels or `n_points` values of its
    interval, and the best point is kept; the next sweep looks closer about it. If the model has a slope, steps
    along it are tried as well, so that features can move together. A search ends after a sweep without a gain.

    The way does not depend on the threshold: what is found is the same whatever has to be reached. The best point
    is returned in any case, found or not.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    radius: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    numbers: tuple[int, ...] = eqx.field(static=True)
    groups: tuple[tuple[int, int], ...] = eqx.field(static=True)
    n_points: int = eqx.field(static=True)
    has_slope: bool = eqx.field(static=True)

    @property
    def n_turns(self) -> int:
        """Steps of a sweep: one for each feature that somebody may change."""
        return max(1, len(self.numbers) + len(self.groups))

    @property
    def n_asked(self) -> int:
        """Rows that the start or a step asks about, whichever are more."""
        return max(len(self._lattice()) + LINE, self._width + len(UPHILL))

    def start(self, problem: Problem) -> Climb:
        """Ask about the lattice, and about the way to the corner."""
        feasible = within(problem.feasible, self.radius)
        own = Climb(problem.x, self.decision.margin(problem.x, problem.target), jnp.asarray(0), jnp.asarray(0))
        asked = [problem.start[None]]
        lattice = self._lattice()
        if len(lattice):
            columns = np.asarray(self.numbers)
            low, high = feasible.lower[columns], feasible.upper[columns]
            asked.append(
                jnp.broadcast_to(problem.x, (len(lattice), problem.x.shape[0]))
                .at[:, columns]
                .set(low + jnp.asarray(lattice) * (high - low))
            )
        if self.has_slope:
            slope = -jax.grad(self.decision.margin)(problem.x, problem.target)
            far = best_corner(feasible, slope)
            share = (jnp.arange(LINE) + 1.0) / LINE
            asked.append(problem.x + share[:, None] * (far - problem.x))
        return self._highest(problem, feasible, own, jnp.concatenate(asked))

    def step(self, problem: Problem, state: State[Climb]) -> State[Climb]:
        """One feature, and the slope."""
        feasible = within(problem.feasible, self.radius)
        before = state.own
        asked = [self._values(feasible, before)]
        if self.has_slope:
            slope = jax.grad(self.decision.margin)(before.x, problem.target)
            slope = jnp.where(feasible.movable, slope, 0.0)
            unit = slope / jnp.maximum(jnp.max(jnp.abs(slope)), 1e-12)
            asked.append(jax.vmap(lambda length: feasible.clip(before.x + length * unit))(jnp.asarray(UPHILL)))
        own = self._highest(problem, feasible, before, jnp.concatenate(asked))
        still = jnp.where(own.score > before.score + 1e-5, 0, before.still + 1)
        own = own._replace(turn=before.turn + 1, still=still)
        state = self.offer(problem, state, own.x, own.score, jnp.asarray(True), -own.score)
        return eqx.tree_at(lambda s: (s.own, s.best, s.done), state, (own, own.x, still >= self.n_turns))

    @property
    def _width(self) -> int:
        """Values that a step asks about: as many as a feature has at most."""
        return max([self.n_points if self.numbers else 1, *(stop - start for start, stop in self.groups)])

    def _lattice(self) -> np.ndarray:
        """Shares of the intervals of one or two numbers, where nothing else may change; else empty."""
        if self.groups or len(self.numbers) not in (1, 2):
            return np.zeros((0, len(self.numbers)), np.float32)
        side = np.linspace(0, 1, ALONE if len(self.numbers) == 1 else self.n_points)
        return np.asarray(list(product(side, repeat=len(self.numbers))), np.float32)

    def _values(self, feasible: Feasible, own: Climb) -> Float[Array, "j d"]:
        """The best point so far, with the values of the feature whose turn it is."""
        d, width = own.x.shape[0], self._width
        mine = np.zeros((self.n_turns, d), bool)
        level = np.zeros((self.n_turns, width, d), bool)
        for i, column in enumerate(self.numbers):
            mine[i, column] = True
        for i, (start, stop) in enumerate(self.groups, len(self.numbers)):
            mine[i, start:stop] = True
            level[i, np.arange(stop - start), np.arange(start, stop)] = True
        feature = own.turn % self.n_turns
        reach = (feasible.upper - feasible.lower) * NARROWER ** (own.turn // self.n_turns)
        low = jnp.clip(own.x - reach / 2, feasible.lower, jnp.maximum(feasible.upper - reach, feasible.lower))
        share = jnp.linspace(0.0, 1.0, width)[:, None]
        numbers = low + share * reach
        levels = jnp.where(jnp.asarray(level)[feature], feasible.upper, feasible.lower)
        values = jnp.where(feature < len(self.numbers), numbers, levels)
        return jnp.where(jnp.asarray(mine)[feature], values, own.x)

    def _highest(self, problem: Problem, feasible: Feasible, own: Climb, asked: Float[Array, "m d"]) -> Climb:
        """The best of some points, hardened, and of what there was.

        Mending what breaks a limit across features costs far more than asking about it, so only the most promising
        of those points are mended.
        """
        x: Float[Array, "m d"] = jax.vmap(feasible.snap)(asked)
        ok: Bool[Array, " m"] = jax.vmap(feasible.satisfied)(x)
        score = self._scores(problem, x)
        if feasible.layout.clauses or feasible.layout.n_constraints:
            promising, at = jax.lax.top_k(jnp.where(ok, -jnp.inf, score), min(MENDED, len(asked)))
            mended, sound = jax.vmap(feasible.hard)(asked[at])
            sound &= jnp.isfinite(promising)
            x, ok = jnp.concatenate([x, mended]), jnp.concatenate([ok, sound])
            score = jnp.concatenate([score, self._scores(problem, mended)])
        score = jnp.where(ok, score, -jnp.inf)
        best = jnp.argmax(score)
        better: Bool[Array, ""] = score[best] > own.score
        return own._replace(x=jnp.where(better, x[best], own.x), score=jnp.where(better, score[best], own.score))

    def _scores(self, problem: Problem, x: Float[Array, "m d"]) -> Float[Array, " m"]:
        margin: Float[Array, " m"] = jax.vmap(lambda row: self.decision.margin(row, problem.target))(x)
        return jnp.where(jnp.isfinite(margin), margin, -jnp.inf)
