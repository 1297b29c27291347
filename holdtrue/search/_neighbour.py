"""Stable-neighbour search: inside a ball about a valid point, up to where the model is sure all along the way."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._norm_ball import NormBall
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import AbstractSolver, State


class Climb(NamedTuple):
    """Own variables: the relaxed iterate."""

    u: Float[Array, " d"]


class NeighbourSolver(AbstractSolver):
    """Ascend the sum of ``p(target | (i/n) x')`` over i = 1..n in the l2 ball of `radius` about ``problem.start``.

    Of the hardened valid points asked about, the one with the largest sum is kept, whatever it costs. The start is
    asked about first, so the answer's sum is never below the start's.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    radius: Float[Array, ""]
    step_size: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    n_points: int = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """All points of the way at once."""
        return self.n_points

    def start(self, problem: Problem) -> Climb:
        """Start at the valid point."""
        return Climb(problem.start)

    def area(self, x: Float[Array, " d"], target: Int[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Definition 5's integral as a sum, from the zero of the encoded space to `x`; and the margin at `x`."""
        shares, model = jnp.arange(1, self.n_points + 1) / self.n_points, self.decision.model
        if model.first is None:
            logits = jax.vmap(lambda share: model.logits(share * x))(shares)
        else:  # the points are multiples of one row, so the first layer's product is asked for once
            weight, bias = model.first
            logits = jax.vmap(model.rest)(shares[:, None] * (weight @ x)[None, :] + bias[None, :])
        return jnp.sum(jax.nn.softmax(logits, axis=-1)[:, target]), self.decision.margin_of(logits[-1], target)

    def step(self, problem: Problem, state: State[Climb]) -> State[Climb]:
        """Ask about the hardened iterate, then take one step of fixed length and return to the ball."""
        u = state.own.u
        x, ok = problem.feasible.hard(u)
        x = jax.lax.stop_gradient(x)
        (area, margin), slope = jax.value_and_grad(self.area, has_aux=True)(x, problem.target)
        state = self.offer(problem, state, x, margin, ok, -area)
        ball = NormBall(problem.feasible.movable.astype(jnp.float32), "l2")
        moved = u + self.step_size * ball.steepest(slope)
        moved = problem.feasible.clip(problem.start + ball.into(moved - problem.start, self.radius))
        lost = ~jnp.all(jnp.isfinite(moved))
        status = jnp.where(lost & ~is_found(state.status), int(Status.DIVERGED), state.status)
        climb = Climb(jnp.where(lost, u, moved))
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (climb, state.done | lost, status))
