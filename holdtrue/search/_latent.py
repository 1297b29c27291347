"""Searches among the codes of an autoencoder."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.encoding import Norm
from holdtrue.models import AbstractAutoencoder, Decision
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import AbstractSolver, State
from holdtrue.search._space import AbstractSpace

Ball = Literal["l1", "l2"]


class LatentSpace(AbstractSpace):
    """The codes of an autoencoder: shells around the person's own, decoded given what nobody may change."""

    model: AbstractAutoencoder
    ball: Ball = eqx.field(static=True)

    def centre(self, problem: Problem) -> Float[Array, " k"]:
        """Return the person's code."""
        return self.model.encode(problem.x)

    def reach(self, problem: Problem) -> Float[Array, ""]:
        """No end: codes are unbounded."""
        return jnp.asarray(jnp.inf)

    def draw(
        self, problem: Problem, centre: Float[Array, " k"], key: PRNGKeyArray, low: Array, high: Array, n: int
    ) -> Float[Array, "n d"]:
        """Decode codes of the shell: uniform radius, each direction of unit length by itself."""
        side_key, radius_key = jax.random.split(key)
        side = jax.random.normal(side_key, (n, *centre.shape))
        length = jnp.linalg.norm(side, ord=1 if self.ball == "l1" else 2, axis=1)
        radius = low + (high - low) * jax.random.uniform(radius_key, (n,))
        codes = centre + (radius / jnp.maximum(length, 1e-12))[:, None] * side
        return jax.vmap(lambda z: self.model.decode(z, problem.x))(codes)


class LatentDescent(NamedTuple):
    """Own variables of a gradient search among codes."""

    z: Float[Array, " k"]
    adam: optax.OptState
    cost_weight: Float[Array, ""]


class LatentGradientSolver(AbstractSolver):
    """Adam over a code, on ``log(1 + exp(-margin)) + cost_weight * distance`` of what it decodes to.

    The model is asked about the hardened row at every step; the slopes of the loss there and of the cost at the
    decoded row are carried back through the decoder. While no valid row has been seen, `cost_weight` is
    multiplied by `decay` every `patience` steps; afterwards the search ends when `patience` steps gain nothing.
    """

    decision: Decision
    model: AbstractAutoencoder
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    decay: Float[Array, ""]
    patience: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    def start(self, problem: Problem) -> LatentDescent:
        """Start at the person's code."""
        z = self.model.encode(problem.start)
        return LatentDescent(z, optax.scale_by_adam().init(z), self.cost_weight)

    def step(self, problem: Problem, state: State[LatentDescent]) -> State[LatentDescent]:
        """Ask the model about the decoded and hardened row, then move the code."""
        z, adam, cost_weight = state.own
        row, back = jax.vjp(lambda code: self.model.decode(code, problem.x), z)
        x, ok = problem.feasible.hard(row)

        def loss(at: Float[Array, " d"]) -> tuple[Array, Array]:
            margin = self.decision.margin(at, problem.target)
            return jax.nn.softplus(-margin), margin

        slope, margin = jax.grad(loss, has_aux=True)(x)
        state = self.offer(problem, state, x, margin, ok)
        # What hardening puts back is no cost, so that what a person cannot change does not hold the code.
        kept = jnp.where(problem.feasible.movable, row, problem.x)
        pull = jax.grad(lambda at: self.cost(at, problem))(kept)
        (slope,) = back(slope + cost_weight * jnp.where(problem.feasible.movable, pull, 0.0))
        move: PyTree
        move, adam = optax.scale_by_adam().update(slope, adam)
        moved = z - self.step_size * move

        found = is_found(state.status)
        stale = state.since >= self.patience
        lost = ~jnp.all(jnp.isfinite(moved))
        return eqx.tree_at(
            lambda s: (s.own, s.done, s.since, s.status),
            state,
            (
                LatentDescent(
                    jnp.where(lost, z, moved),
                    adam,
                    jnp.where(stale & ~found, cost_weight * self.decay, cost_weight),
                ),
                (found & stale) | lost,
                jnp.where(stale & ~found, 0, state.since),
                jnp.where(lost & ~found, int(Status.DIVERGED), state.status),
            ),
        )
