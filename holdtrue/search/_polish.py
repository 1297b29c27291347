"""The last digits of a cost: from some valid point to the boundary, where it is nearest."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.search._norm_ball import TINY, NormBall
from holdtrue.search._problem import Problem
from holdtrue.search._solver import CLEARANCE

FEET = 4
BISECTIONS = 12  # the boundary to 2^-12 of a segment's length
POLISH_STEPS = 1 + FEET + 2 * BISECTIONS


class Polish(NamedTuple):
    """A last phase that every solver may add to its own steps, one question to the model a step.

    It asks about the best point; then, `FEET` times, about the point nearest to the factual on the boundary as
    it looks, linearised, from the point asked before (on a linear model the first of these is the nearest there
    is); then it bisects the segment between the factual and the best point, and at last the part of it in the
    continuous columns alone, since categories and grids jump. The objective of these steps is the margin,
    whatever the solver's own was.
    """

    at: Float[Array, " d"]
    end: Float[Array, " d"]
    low: Float[Array, ""]
    high: Float[Array, ""]
    n_asked: Int[Array, ""]

    @staticmethod
    def of(best: Float[Array, " d"]) -> "Polish":
        """Begin at the best point."""
        return Polish(best, best, jnp.asarray(0.0), jnp.asarray(1.0), jnp.asarray(0))

    @property
    def done(self) -> Bool[Array, ""]:
        """Whether there is nothing more to ask."""
        return self.n_asked >= POLISH_STEPS

    def point(self, problem: Problem) -> Float[Array, " d"]:
        """The relaxed point to ask about."""
        feasible = problem.feasible
        is_number = jnp.arange(problem.x.shape[0]) < len(feasible.layout.numbers)
        held = (self.n_asked > FEET + BISECTIONS) & ~(is_number & (feasible.step == 0))
        middle = problem.x + (self.low + self.high) / 2 * (self.end - problem.x)
        return jnp.where(self.n_asked > FEET, jnp.where(held, self.end, middle), self.at)

    def told(
        self,
        problem: Problem,
        ball: NormBall,
        x: Float[Array, " d"],
        uphill: Float[Array, " d"],
        margin: Float[Array, ""],
        valid: Bool[Array, ""],
        best: Float[Array, " d"],
    ) -> "Polish":
        """What to ask next, given margin and gradient of the margin (`uphill`) at the hardened point `x`."""
        way = ball.steepest(uphill)
        # Twice the clearance, so that rounding of a float32 score does not undo it.
        gap = uphill @ (x - problem.x) - margin + 2 * CLEARANCE
        foot = problem.feasible.clip(problem.x + way * gap / jnp.maximum(uphill @ way, TINY))
        walking = Polish(jnp.where(jnp.isfinite(foot), foot, self.at), best, self.low, self.high, self.n_asked + 1)
        middle = (self.low + self.high) / 2
        again = self.n_asked == FEET + BISECTIONS
        low = jnp.where(again, 0.0, jnp.where(valid, self.low, middle))
        high = jnp.where(again, 1.0, jnp.where(valid, middle, self.high))
        halved = Polish(self.at, jnp.where(again, best, self.end), low, high, self.n_asked + 1)
        return jax.tree.map(lambda a, b: jnp.where(self.n_asked > FEET, a, b), halved, walking)
