"""Stable search: in a ball about the person that grows until models trained again all say yes."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision, EnsembleModel
from holdtrue.search._norm_ball import TINY, NormBall, movable_ball
from holdtrue.search._polish import Polish
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

FAR = 1e3  # what a missing unit of margin weighs against cost: more than any cost
LEAST = 1e-3  # first radius where the start is the factual itself


class Growing(NamedTuple):
    """Own variables: the relaxed iterate, the radius of its ball, the steps taken in that, and the last phase."""

    u: Float[Array, " d"]
    radius: Float[Array, ""]
    at: Int[Array, ""]
    polishing: Bool[Array, ""]
    polish: Polish


class StableSolver(AbstractSolver):
    """Ascend the mean margin of the model and its guides in an l2 ball about the factual.

    The first ball reaches to ``problem.start``; every `ball_steps` steps it grows by `growth`, until the model and
    every guide accept a hardened point, and their mean margin lies `caution` standard deviations above 0. That
    point is then polished (see `Polish`), with what the margins have to spare in the place of the model's own.
    Where they never agree, the point that lacks least is kept. The model's own yes is never traded for theirs.

    With `keep_cost` the ball does not grow: of the hardened valid points in it, the one with the largest mean
    margin is kept after `n_steps` steps.
    """

    decision: Decision
    guides: EnsembleModel
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    ball_steps: Int[Array, ""]
    growth: Float[Array, ""]
    caution: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    keep_cost: bool = eqx.field(static=True, default=False)

    @property
    def n_asked(self) -> int:
        """The model and its guides."""
        return 1 + self.guides.n_members

    def start(self, problem: Problem) -> Growing:
        """Start where another method ended, in the ball that just holds it."""
        radius = jnp.maximum(jnp.linalg.norm(problem.start - problem.x), LEAST)
        return Growing(problem.start, radius, jnp.asarray(0), jnp.asarray(False), Polish.of(problem.x))

    def margins(self, x: Float[Array, " d"], target: Int[Array, ""]) -> Float[Array, " m"]:
        """Margin of the model, then of every guide, at one point."""
        guides = jax.vmap(lambda logits: self.decision.margin_of(logits, target))(self.guides.member_logits(x))
        return jnp.concatenate([self.decision.margin(x, target)[None], guides])

    def spare(self, margins: Float[Array, " m"]) -> Float[Array, ""]:
        """By how much all agree: the least margin, or the mean less `caution` deviations where that is less."""
        mean = jnp.mean(margins)
        deviation = jnp.sqrt(jnp.sum((margins - mean) ** 2) / (margins.shape[0] - 1) + TINY)
        return jnp.minimum(jnp.min(margins), mean - self.caution * deviation)

    def step(self, problem: Problem, state: State[Growing]) -> State[Growing]:
        """Ask everyone about the hardened iterate, or about what the last phase wants to know; then move."""
        own = state.own
        x, ok = problem.feasible.hard(jnp.where(own.polishing, own.polish.point(problem), own.u))
        x = jax.lax.stop_gradient(x)

        def objective(point: Float[Array, " d"]) -> tuple[Array, tuple[Array, Array]]:
            margins = self.margins(point, problem.target)
            spare = self.spare(margins)
            return jnp.where(own.polishing, spare, jnp.mean(margins)), (margins, spare)

        slope, (margins, spare) = jax.grad(objective, has_aux=True)(x)
        agreed = ok & (spare >= CLEARANCE)
        if self.keep_cost:
            ok = ok & (jnp.linalg.norm(x - problem.x) <= own.radius * (1 + 1e-4))
            value = -jnp.mean(margins)
        else:
            lacking = 1 + jnp.maximum(-spare, 0.0)
            value = self.cost(x, problem) + jnp.where(agreed, 0.0, FAR * lacking)
        state = self.offer(problem, state, x, margins[0], ok, value)

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
