"""Attacks made on one model and tried on another."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from holdtrue.metrics._attacks import AttackNorm, pgd
from holdtrue.models import Decision


def transfer_accuracy(
    decision: Decision,
    source: Decision,
    x: np.ndarray,
    y: np.ndarray,
    radius: float,
    *,
    norm: AttackNorm = "linf",
    movable: np.ndarray | None = None,
    n_steps: int = 20,
    n_restarts: int = 1,
    random_state: int = 0,
) -> float:
    """Share of rows that `decision` decides rightly, at the row and where `pgd` on the margin of `source` led.

    Below `robust_accuracy` of the same model it shows that the attack on the model itself was held up by its
    slopes, not that it is robust. Parameters are those of `robust_accuracy`; `source` is another model of the same
    rows.
    """
    mask = jnp.ones(x.shape[1]) if movable is None else jnp.asarray(movable, jnp.float32)
    held = _held(
        decision, source, jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32), jnp.asarray(radius, jnp.float32),
        mask, jax.random.key(random_state), norm, n_steps, n_restarts,
    )  # fmt: skip
    return float(held.mean())


@eqx.filter_jit
def _held(
    decision: Decision, source: Decision, x: Float[Array, "n d"], y: Int[Array, " n"], radius: Array,
    movable: Float[Array, " d"], key: PRNGKeyArray, norm: AttackNorm, n_steps: int, n_restarts: int,
) -> Bool[Array, " n"]:  # fmt: skip
    def one(row: Array, label: Array, own: PRNGKeyArray) -> Array:
        worst = pgd(
            lambda at: -source.margin(at, label), row, radius, own,
            norm=norm, movable=movable, n_steps=n_steps, n_restarts=n_restarts,
        )  # fmt: skip
        return decision.is_target(worst, label) & decision.is_target(row, label)

    return jax.vmap(one)(x, y, jax.random.split(key, x.shape[0]))
