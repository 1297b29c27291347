"""The nearest point of another decision, by the attack of Carlini and Wagner."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from holdtrue.metrics._attacks import Loss


def carlini_wagner(
    margin: Loss,
    x: Float[Array, " d"],
    *,
    n_steps: int = 200,
    n_rounds: int = 9,
    step_size: float = 0.01,
    weight: float = 1.0,
) -> Float[Array, " d"]:
    """Nearest point (l2) found at which `margin` is below 0; the row where none was (Carlini and Wagner, 2017).

    Adam on ``|d|^2 + c * max(margin(x + d), 0)``, with `c` found by bisection: less after a success, ten times as
    much after a failure until the first success. Of one row, for jit and vmap.

    Parameters
    ----------
    margin : callable
        Of one row: positive while the decision is the row's own, such as `Decision.margin` of it.
    x : array
        The row, encoded.
    n_steps, n_rounds : int
        Steps of Adam per round, and rounds of the bisection.
    step_size : float, default=0.01
        Of Adam.
    weight : float, default=1.0
        First `c`.
    """
    adam = optax.adam(step_size)

    def one_round(carry: tuple, unused: None) -> tuple[tuple, None]:
        best, shortest, c, low, high = carry

        def objective(change: Float[Array, " d"]) -> Array:
            return jnp.sum(change**2) + c * jnp.maximum(margin(x + change), 0.0)

        def step(state: tuple, _: None) -> tuple[tuple, None]:
            change, memory, nearest, length = state
            update: PyTree
            update, memory = adam.update(jax.grad(objective)(change), memory)
            change = change + update
            size = jnp.sum(change**2)
            better = (margin(x + change) < 0) & (size < length)
            return (change, memory, jnp.where(better, change, nearest), jnp.where(better, size, length)), None

        zero = jnp.zeros_like(x)
        start = (zero, adam.init(zero), zero, jnp.asarray(jnp.inf, x.dtype))
        (*_, nearest, length), _ = jax.lax.scan(step, start, None, length=n_steps)
        won = jnp.isfinite(length)
        best = jnp.where(length < shortest, nearest, best)
        low, high = jnp.where(won, low, c), jnp.where(won, c, high)
        c = jnp.where(jnp.isfinite(high), (low + high) / 2, 10 * c)
        return (best, jnp.minimum(length, shortest), c, low, high), None

    start = (jnp.zeros_like(x), jnp.inf, weight, 0.0, jnp.inf)
    (best, *_), _ = jax.lax.scan(
        one_round, jax.tree.map(lambda v: jnp.asarray(v, x.dtype), start), None, length=n_rounds
    )
    return x + best
