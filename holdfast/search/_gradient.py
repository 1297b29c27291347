"""Gradient search: descend on validity loss + weighted cost, asking the model about the hardened point."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from holdfast.encoding import Norm
from holdfast.models import Decision
from holdfast.search._problem import Problem, Status, is_found
from holdfast.search._solver import AbstractSolver, State


class Descent(NamedTuple):
    """Own variables of a gradient search."""

    u: Float[Array, " d"]
    adam: optax.OptState
    cost_weight: Float[Array, ""]


class AbstractLoss(eqx.Module):
    """Validity loss of one row as a function of its margin."""

    @abstractmethod
    def __call__(self, margin: Float[Array, ""]) -> Float[Array, ""]:
        """Loss at a margin in logits (0 is the boundary)."""


class SquaredScore(AbstractLoss):
    """``(margin - aim)^2`` up to the aim, 0 beyond: the squared score gap of SCFE (eq. 2)."""

    aim: Float[Array, ""]

    def __call__(self, margin: Float[Array, ""]) -> Float[Array, ""]:
        """Loss at a margin."""
        return jnp.minimum(margin - self.aim, 0.0) ** 2


class GradientSolver(AbstractSolver):
    """Adam on ``loss(margin) + cost_weight * distance``.

    The iterate `u` is relaxed; the model is asked about ``hard(u)`` at every step, and the gradient taken
    there is applied to `u` (straight-through). So each step costs one forward and one backward pass, and every
    point that is asked is one the person could really be at.

    `cost_weight` follows a schedule: while no valid point has been seen it is multiplied by `decay` every
    `patience` steps; afterwards it falls where the iterate is invalid and rises where it is valid, so that
    the search keeps crossing the boundary near its cheapest point. It ends after `patience` steps without a
    cheaper valid point.
    """

    decision: Decision
    loss: AbstractLoss
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    decay: Float[Array, ""]
    patience: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    def start(self, problem: Problem) -> Descent:
        """Start where the problem says: at the factual, as a rule."""
        return Descent(problem.start, optax.scale_by_adam().init(problem.x), self.cost_weight)

    def step(self, problem: Problem, state: State[Descent]) -> State[Descent]:
        """Ask the model about the hardened iterate, then move."""
        u, adam, cost_weight = state.own
        x, ok = problem.feasible.hard(u)
        x = jax.lax.stop_gradient(x)

        def objective(at: Float[Array, " d"]) -> tuple[Array, Array]:
            margin = self.decision.margin(at, problem.target)
            return self.loss(margin), margin

        slope, margin = jax.grad(objective, has_aux=True)(x)
        state = self.offer(problem, state, x, margin, ok)
        moved, adam = self._move(problem, u, slope, adam, cost_weight)

        found = is_found(state.status)
        stale = state.since >= self.patience
        lowered = jnp.where(stale, cost_weight * self.decay, cost_weight)
        crossing = jnp.where((margin >= 0) & ok, cost_weight * 1.1, cost_weight / 1.1)
        lost = ~jnp.all(jnp.isfinite(moved))
        state = eqx.tree_at(
            lambda s: (s.own, s.done, s.since, s.status),
            state,
            (
                Descent(jnp.where(lost, u, moved), adam, jnp.where(found, crossing, lowered)),
                (found & stale) | lost,
                jnp.where(stale & ~found, 0, state.since),
                jnp.where(lost & ~found, int(Status.DIVERGED), state.status),
            ),
        )
        return state

    def _move(
        self, problem: Problem, u: Float[Array, " d"], slope: Float[Array, " d"], adam: Any, cost_weight: Array
    ) -> tuple[Float[Array, " d"], Any]:
        """One Adam step on the loss; the cost enters by its gradient, or exactly where it is separable.

        A norm that adds up over columns is handled by its proximal map in Adam's own metric: a column whose
        slope does not pay for its cost returns to the factual instead of trembling about it, so that few
        features change.
        """
        sums_up = self.norm in ("l0", "l1", "mad")
        if not sums_up:
            slope = slope + cost_weight * jax.grad(lambda at: self.cost(at, problem))(u)
        move, adam = optax.scale_by_adam().update(slope, adam)
        moved = u - self.step_size * move
        if sums_up:
            size = jnp.sqrt(adam.nu / (1 - 0.999**adam.count)) + 1e-8
            shrink = self.step_size * cost_weight * self.cost_weights / size
            change = moved - problem.x
            moved = problem.x + jnp.sign(change) * jnp.maximum(jnp.abs(change) - shrink, 0.0)
        return problem.feasible.clip(moved), adam
