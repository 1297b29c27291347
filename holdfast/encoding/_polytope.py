"""Points of a box cut by half-spaces: the nearest one, and a nearby one on the grid."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

SHRINK = 1e-6  # a projection aims this far inside, so that float32 rounding does not push it out again
ROUNDS = 40
MOVES = 8


def nearest_in_polytope(
    x: Float[Array, " n"],
    a: Float[Array, "c n"],
    b: Float[Array, " c"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
) -> Float[Array, " n"]:
    """Euclidean projection onto ``{a @ x <= b, low <= x <= high}``, by Dykstra's alternating projections.

    Differentiable. Where the set is empty the result is no member of it; callers check.
    """
    squares = jnp.maximum(jnp.sum(a * a, axis=1), 1e-12)
    n_rows = a.shape[0]

    def halfspace(point: Array, row: Array) -> Array:
        excess = jnp.maximum(a[row] @ point - (b[row] - SHRINK), 0.0)
        return point - excess / squares[row] * a[row]

    def one_round(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        point, residual = carry
        for i in range(n_rows + 1):
            shifted = point + residual[i]
            point = halfspace(shifted, jnp.asarray(i)) if i < n_rows else jnp.clip(shifted, low, high)
            residual = residual.at[i].set(shifted - point)
        return (point, residual), None

    start = (x, jnp.zeros((n_rows + 1, x.shape[0]), x.dtype))
    (point, _), _ = jax.lax.scan(one_round, start, None, length=ROUNDS)
    return point


def into_halfspaces(
    x: Float[Array, " n"],
    a: Float[Array, "c n"],
    b: Float[Array, " c"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
    step: Float[Array, " n"],
) -> Float[Array, " n"]:
    """Move a grid point by whole steps until ``a @ x <= b``, greedily; callers check the result.

    Each move takes the most violated row and the column that can mend most of it.
    """
    spacing = jnp.where(step > 0, step, 1.0)

    def move(_: int, point: Array) -> Array:
        excess = a @ point - b
        row = a[jnp.argmax(excess)]
        need = jnp.max(excess)
        room = jnp.where(row > 0, point - low, high - point)
        gain = jnp.abs(row) * jnp.maximum(room, 0.0)
        # Among columns that can mend it all, the one that overshoots least; else the one that mends most.
        column = jnp.argmax(jnp.where(gain >= need, 1e6 + jnp.abs(row), gain))
        length = (need + SHRINK) / jnp.maximum(jnp.abs(row[column]), 1e-12)
        whole = jnp.ceil(length / spacing[column] - 1e-4) * spacing[column]
        length = jnp.minimum(jnp.where(step[column] > 0, whole, length), room[column])
        mended = point.at[column].add(-jnp.sign(row[column]) * length)
        return jnp.where(need > SHRINK, mended, point)

    return jax.lax.fori_loop(0, MOVES, move, x)
