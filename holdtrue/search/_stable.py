"""Stable search: in a ball about the person that grows until a criterion is met."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._criteria import AbstractCriterion, Verdict
from holdtrue.search._norm_ball import NormBall, movable_ball
from holdtrue.search._polish import Polish
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

FAR = 1e3  # what is lacking of a criterion weighs against cost: more than any cost
LEAST = 1e-3  # first radius where the start is the factual itself


class Growing(NamedTuple):
    """Own variables: the relaxed iterate, the radius of its ball, the steps taken in that, and the last phase."""

    u: Float[Array, " d"]
    radius: Float[Array, ""]
    at: Int[Array, ""]
    polishing: Bool[Array, ""]
    polish: Polish


class StableSolver(AbstractSolver):
    """Ascend what a criterion says rises, in an l2 ball about the factual.

    The first ball reaches to ``problem.start``; every `ball_steps` steps it grows by `growth`, until a hardened
    point meets the criterion. That point is then polished (see `Polish`), with what the criterion has to spare in
    the place of the model's own margin. Where it is never met, the point that lacks least is kept. The model's own
    yes is never traded for it.

    With `keep_cost` the ball does not grow: of the hardened valid points in it, the one that rose most is kept
    after `n_steps` steps.
    """

    decision: Decision
    criterion: AbstractCriterion
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    ball_steps: Int[Array, ""]
    growth: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    keep_cost: bool = eqx.field(static=True, default=False)

    @property
    def n_asked(self) -> int:
        """What the criterion asks."""
        return self.criterion.n_asked

    @property
    def on_host(self) -> bool:
        """Whether the model or the criterion calls back to Python."""
        return super().on_host or self.criterion.on_host

    def start(self, problem: Problem) -> Growing:
        """Start where another method ended, in the ball that just holds it."""
        radius = jnp.maximum(jnp.linalg.norm(problem.start - problem.x), LEAST)
        return Growing(problem.start, radius, jnp.asarray(0), jnp.asarray(False), Polish.of(problem.x))

    def step(self, problem: Problem, state: State[Growing]) -> State[Growing]:
        """Test the hardened iterate, or what the last phase wants to know; then move."""
        own = state.own
        x, ok = problem.feasible.hard(jnp.where(own.polishing, own.polish.point(problem), own.u))
        x = jax.lax.stop_gradient(x)

        def objective(point: Float[Array, " d"]) -> tuple[Array, Verdict]:
            seen = self.criterion(self.decision, problem, point)
            return jnp.where(own.polishing, seen.spare, seen.rising), seen

        slope, (margin, rising, spare) = jax.grad(objective, has_aux=True)(x)
        agreed = ok & (spare >= CLEARANCE)
        if self.keep_cost:
            ok = ok & (jnp.linalg.norm(x - problem.x) <= own.radius * (1 + 1e-4))
            value = -rising
        else:
            lacking = 1 + jnp.maximum(-spare, 0.0)
            value = self.cost(x, problem) + jnp.where(agreed, 0.0, FAR * lacking)
        state = self.offer(problem, state, x, margin, ok, value)

        moved = self._move(problem, own, slope)
        lost = ~jnp.all(jnp.isfinite(moved.u)) & ~own.polishing
        if self.keep_cost:
            own, done = moved, lost
        else:
            ball = movable_ball(problem, self.weights(problem), self.norm)
            told = own.polish.told(problem, ball, x, slope, spare, agreed, state.best)
            begun = moved._replace(polishing=agreed, polish=Polish.of(state.best))
            own = jax.tree.map(lambda a, b: jnp.where(own.polishing, a, b), own._replace(polish=told), begun)
            done = (
                lost | (own.polishing & own.polish.done) | (~own.polishing & (own.radius > self._reach(problem)))
            )
        own = own._replace(u=jnp.where(lost, state.own.u, own.u))
        status = jnp.where(lost & ~is_found(state.status), int(Status.DIVERGED), state.status)
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (own, done, status))

    def _move(self, problem: Problem, own: Growing, slope: Float[Array, " d"]) -> Growing:
        """One step up and back into the ball; after `ball_steps` of them the ball grows."""
        ball = NormBall(problem.feasible.movable.astype(jnp.float32), "l2")
        u = own.u + 2 * own.radius / self.ball_steps * ball.steepest(slope)
        u = problem.feasible.clip(problem.x + ball.into(u - problem.x, own.radius))
        over = (own.at + 1 >= self.ball_steps) & (not self.keep_cost)
        radius = jnp.where(over, own.radius * self.growth, own.radius)
        return own._replace(u=u, radius=radius, at=jnp.where(over, 0, own.at + 1))

    def _reach(self, problem: Problem) -> Float[Array, ""]:
        """Distance to the farthest corner of the box: a ball beyond that holds nothing new."""
        feasible = problem.feasible
        far = jnp.maximum(jnp.abs(feasible.upper - problem.x), jnp.abs(feasible.lower - problem.x))
        return jnp.linalg.norm(jnp.where(feasible.movable, far, 0.0)) * self.growth
