"""Gradient descent of Wachter et al. as the paper uses it: for Tables 3, 4 and 6."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from experiments.actionable_recourse._models import log_odds
from holdtrue.models import AbstractModel
from holdtrue.search import GradientAction

COST_WEIGHT = 0.001
"""The paper's first value of lambda' (Section 4.1); what its library then makes of it is not printed."""
N_STEPS, STEP_SIZE = 500, 0.1
"""Adam, its step falling to nothing."""


@eqx.filter_jit
def _descended(action: GradientAction, model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    adam = optax.adam(optax.linear_schedule(STEP_SIZE, 0.0, N_STEPS))

    def one(row: Float[Array, " d"]) -> Float[Array, " d"]:
        feasible = action.room(row)
        stays = (jnp.arange(row.shape[0]) < len(feasible.layout.numbers)) & ~feasible.movable
        low = jnp.where(stays, row, jnp.minimum(feasible.lower, row))
        high = jnp.where(stays, row, jnp.maximum(feasible.upper, row))

        def loss(at: Float[Array, " d"]) -> Float[Array, ""]:
            missing = 1.0 - jax.nn.sigmoid(log_odds(model, at))
            return missing**2 + COST_WEIGHT * jnp.sum(jnp.abs(at - row))

        def step(carry: tuple[Array, optax.OptState, Array, Array], _: None) -> tuple[tuple, None]:
            at, state, best, least = carry
            point, ok = feasible.hard(at)
            value, slope = jax.value_and_grad(loss)(point)
            better = ok & (value < least)
            best, least = jnp.where(better, point, best), jnp.where(better, value, least)
            change, state = adam.update(slope, state)
            moved: Array = optax.apply_updates(at, change)  # type: ignore[assignment]
            return (jnp.clip(moved, low, high), state, best, least), None

        begun = (row, adam.init(row), row, loss(row))
        return jax.lax.scan(step, begun, None, length=N_STEPS)[0][2]

    return jax.lax.map(one, x, batch_size=64)


def descended(action: GradientAction, model: AbstractModel, x: np.ndarray) -> np.ndarray:
    """Everybody's point of the lowest (1 - p)^2 + lambda' |change| on the way, within their box."""
    return np.asarray(_descended(action, model, jnp.asarray(x, jnp.float32)))
