"""Search that is robust to a change of the model: descent on the loss of the worst coefficients in a ball."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision, LinearModel, Neighbourhood, lime
from holdtrue.search._gradient import Descent, GradientSolver
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import AbstractSolver, State

Ball = Literal["linf", "l2"]


def worst_drop(x: Float[Array, " d"], radius: Float[Array, ""], ball: Ball, intercept: bool) -> Float[Array, ""]:
    """How far a linear score at `x` falls under the worst change of its coefficients within a ball.

    ``max_{|d| <= r} -d @ (x, 1)``: `r` times the dual norm of ``(x, 1)``; without `intercept`, of `x`.
    """
    if ball == "linf":
        return radius * (jnp.sum(jnp.abs(x)) + float(intercept))
    squares = jnp.sum(x**2) + float(intercept)
    return radius * jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


class RobustDescent(NamedTuple):
    """Own variables: those of a gradient search, and the person's surrogate where there is one."""

    descent: Descent
    surrogate: LinearModel | None


class RobustSolver(AbstractSolver):
    """Minimise ``max_{|d| <= r} loss((w + d) @ x' + b) + cost_weight * distance`` over hardened valid points.

    The inner maximum has a closed form: the margin minus `worst_drop`. The margin is the model's own, so that
    `w` is its tangent at the iterate, or that of LIME at the person (`around` given). Valid is what the model
    itself accepts; among such points the one with the least robust objective is kept.

    `descent` says how to move. Its cost weight is multiplied by its `decay` for every `patience` steps without a
    valid point; the search ends after `patience` steps without a better one.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    descent: GradientSolver
    around: Neighbourhood | None
    radius: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    ball: Ball = eqx.field(static=True)
    intercept: bool = eqx.field(static=True)
    n_samples: int = eqx.field(static=True)

    def start(self, problem: Problem) -> RobustDescent:
        """Start as the gradient search does; fit the surrogate."""
        surrogate = None
        if self.around is not None:
            surrogate = lime(self.decision.model, problem.x, problem.key, self.around, self.n_samples)
        return RobustDescent(self.descent.start(problem), surrogate)

    def step(self, problem: Problem, state: State[RobustDescent]) -> State[RobustDescent]:
        """Ask the model about the hardened iterate, then move against the worst coefficients."""
        (u, memory, cost_weight), surrogate = state.own
        x, ok = problem.feasible.hard(u)
        x = jax.lax.stop_gradient(x)

        def objective(at: Float[Array, " d"]) -> tuple[Array, Array]:
            seen = self.decision if surrogate is None else eqx.tree_at(lambda d: d.model, self.decision, surrogate)
            margin = seen.margin(at, problem.target)
            return jax.nn.softplus(worst_drop(at, self.radius, self.ball, self.intercept) - margin), margin

        slope, margin = jax.grad(objective, has_aux=True)(x)
        loss, _ = objective(x)
        if surrogate is not None:
            margin = self.decision.margin(x, problem.target)
        value = loss + self.descent.cost_weight * self.cost(x, problem)
        state = self.offer(problem, state, x, margin, ok, value)
        moved, memory = self.descent._move(problem, u, slope, memory, cost_weight)

        found, stale = is_found(state.status), state.since >= self.descent.patience
        lost = ~jnp.all(jnp.isfinite(moved))
        lowered = jnp.where(stale & ~found, cost_weight * self.descent.decay, cost_weight)
        return eqx.tree_at(
            lambda s: (s.own, s.done, s.since, s.status),
            state,
            (
                RobustDescent(Descent(jnp.where(lost, u, moved), memory, lowered), surrogate),
                (found & stale) | lost,
                jnp.where(stale & ~found, 0, state.since),
                jnp.where(lost & ~found, int(Status.DIVERGED), state.status),
            ),
        )
