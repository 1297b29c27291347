"""Projected gradient search in balls about the factual that grow until one reaches a yes."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._losses import AbstractLoss, Reply, ask
from holdtrue.search._norm_ball import NormBall, movable_ball
from holdtrue.search._polish import Polish
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State


class Growth(NamedTuple):
    """Own variables: the iterate, its ball, its step in the ball, and the last phase."""

    u: Float[Array, " d"]
    ball: Int[Array, ""]
    at: Int[Array, ""]
    polishing: Bool[Array, ""]
    polish: Polish


class BallSolver(AbstractSolver):
    """Projected gradient steps in balls of radius ``radius * i / n_balls``, i = 1, 2, ...

    Each ball is searched for `ball_steps` steps of ``2 * radius_i / ball_steps`` along the steepest direction of
    the ball's norm, from a random point in it. The first valid point ends this. Its cost depends on where the
    search happened to start, so it is polished (see `Polish`), unless `nearest` is off. With `relative` a step is
    that share of the ball's radius, not of 1. Without `nearest` a ball is searched to its end, and its last point
    is the one that counts: it lies past the boundary, where the loss is least.
    """

    decision: Decision
    loss: AbstractLoss
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    radius: Float[Array, ""]
    n_balls: Int[Array, ""]
    ball_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    nearest: bool = eqx.field(static=True, default=True)
    relative: bool = eqx.field(static=True, default=False)

    def start(self, problem: Problem) -> Growth:
        """Start at random in the first ball."""
        first = jnp.asarray(1)
        u = self._enter(problem, first)
        return Growth(u, first, jnp.asarray(0), jnp.asarray(False), Polish.of(problem.x))

    def step(self, problem: Problem, state: State[Growth]) -> State[Growth]:
        """Ask about the iterate, or about what the last phase wants to know; then move."""
        own = state.own
        x, ok = problem.feasible.hard(jnp.where(own.polishing, own.polish.point(problem), own.u))
        x = jax.lax.stop_gradient(x)

        def objective(at: Float[Array, " d"]) -> tuple[Array, Reply]:
            reply = ask(self.decision, at, problem.target, state.n_steps)
            return jnp.where(own.polishing, -reply.margin, self.loss(reply)), reply

        slope, reply = jax.grad(objective, has_aux=True)(x)
        if not self.nearest:
            ok = ok & (own.at + 1 >= self.ball_steps)
        state = self.offer(problem, state, x, reply.margin, ok)
        valid = ok & (reply.margin >= CLEARANCE)
        found = is_found(state.status)

        ball = self._ball(problem)
        told = own.polish.told(problem, ball, x, -slope, reply.margin, valid, state.best)
        begun = Polish.of(state.best)
        polish = jax.tree.map(lambda a, b: jnp.where(own.polishing, a, b), told, begun)
        u, which, at = self._move(problem, ball, own, slope)
        lost = ~jnp.all(jnp.isfinite(u)) & ~found
        own = Growth(jnp.where(lost | found, own.u, u), which, at, found, polish)
        ended = jnp.where(found, polish.done if self.nearest else True, which > self.n_balls) | lost
        status = jnp.where(lost, int(Status.DIVERGED), state.status)
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (own, ended, status))

    def _move(
        self, problem: Problem, ball: NormBall, own: Growth, slope: Float[Array, " d"]
    ) -> tuple[Float[Array, " d"], Int[Array, ""], Int[Array, ""]]:
        """One projected step, or on into the next ball."""
        radius = self.radius * own.ball / self.n_balls
        size = 2 * radius / self.ball_steps * (radius if self.relative else 1.0)  # B.3; or as published
        u = own.u - size * ball.steepest(slope)
        u = problem.feasible.clip(problem.x + ball.into(u - problem.x, radius))
        over = own.at + 1 >= self.ball_steps
        which = jnp.where(over, own.ball + 1, own.ball)
        return jnp.where(over, self._enter(problem, which), u), which, jnp.where(over, 0, own.at + 1)

    def _ball(self, problem: Problem) -> NormBall:
        return movable_ball(problem, self.weights(problem), self.norm)

    def _enter(self, problem: Problem, ball: Int[Array, ""]) -> Float[Array, " d"]:
        """A random point of a ball."""
        key = jax.random.fold_in(problem.key, ball)
        drawn = self._ball(problem).draw(key, self.radius * ball / self.n_balls)
        return problem.feasible.clip(problem.x + drawn)
