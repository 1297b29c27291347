"""Whether decisions and recourse stand a little noise, and how little a change turns a decision."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from numpy.typing import ArrayLike

OVERSHOOT = 0.02  # of DeepFool, beyond the linearised boundary


def kept_under_noise(
    decide: Callable[[np.ndarray], np.ndarray],
    x: ArrayLike,
    movable: ArrayLike,
    *,
    deviation: float = 0.1,
    n_draws: int = 20,
    random_state: int = 0,
) -> np.ndarray:
    """Share of normal draws, for each row, under which its decision stays.

    Parameters
    ----------
    decide : callable
        Decisions of encoded rows.
    x : array of shape (n, d)
        Encoded rows: people as they are, or their recourse.
    movable : array of bool, shape (d,)
        Columns that the noise is added to.
    deviation : float, default=0.1
        Of the noise, in encoded units.

    Examples
    --------
    >>> kept_under_noise(lambda rows: rows[:, 0] > 0, [[5.0], [0.0]], [True]).round()
    array([1., 0.])
    """
    rows, where = np.asarray(x), np.asarray(movable, bool)
    before = np.asarray(decide(rows))
    rng = np.random.default_rng(random_state)
    kept = np.zeros(len(rows))
    for _ in range(n_draws):
        noise = deviation * rng.standard_normal(rows.shape) * where
        kept += np.asarray(decide((rows + noise).astype(rows.dtype))) == before
    return kept / n_draws


def deepfool(
    margin: Callable[[Float[Array, " d"]], Float[Array, ""]],
    x: Float[Array, " d"],
    movable: Float[Array, " d"] | Bool[Array, " d"],
    n_steps: int = 50,
) -> Float[Array, " d"]:
    """A near point on the other side of the boundary (Moosavi-Dezfooli et al., 2016), for one row, inside `jit`.

    Newton steps towards the zero of the linearised margin, in the l2 norm and in the `movable` columns alone,
    until the sign of `margin` changes. Exact for a linear margin, up to an overshoot of 2%. Where no step leads
    across, the last point is on the same side; callers check.
    """
    began = margin(x)
    mask = jnp.asarray(movable, x.dtype)

    def goes_on(carry: tuple[Array, Int[Array, ""]]) -> Array:
        move, count = carry
        return (count < n_steps) & (margin(x + (1 + OVERSHOOT) * move) * jnp.sign(began) > 0)

    def step(carry: tuple[Array, Int[Array, ""]]) -> tuple[Array, Array]:
        move, count = carry
        value, slope = jax.value_and_grad(margin)(x + move)
        slope = slope * mask
        return move - value * slope / jnp.maximum(slope @ slope, 1e-12), count + 1

    move, _ = jax.lax.while_loop(goes_on, step, (jnp.zeros_like(x), jnp.asarray(0)))
    return x + (1 + OVERSHOOT) * move
