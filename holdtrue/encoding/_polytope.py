"""Points of a box cut by half-spaces: the nearest one, and a nearby one on the grid."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

SHRINK = 1e-6  # a projection aims this far inside, so that float32 rounding does not push it out again
ROUNDS = 60
MOVES = 8


@partial(jax.jit, static_argnames="differentiable")
def nearest_in_polytope(
    x: Float[Array, " n"],
    a: Float[Array, "c n"],
    b: Float[Array, " c"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
    *,
    differentiable: bool = True,
) -> Float[Array, " n"]:
    """Euclidean projection onto ``{a @ x <= b, low <= x <= high}``.

    Exact for one row; Dykstra's alternating projections for more, which come close where `x` lies in or near
    the box. Where the set is empty the result is no member of it; callers check. Without `differentiable`, the
    rounds end as soon as nothing moves: jax cannot go backwards through a loop of unknown length.
    """
    if a.shape[0] == 1:
        return _onto_one_row(x, a[0], b[0] - SHRINK, low, high)
    squares = jnp.maximum(jnp.sum(a * a, axis=1), 1e-12)
    n_rows = a.shape[0]

    def halfspace(point: Array, row: int) -> Array:
        excess = jnp.maximum(a[row] @ point - (b[row] - SHRINK), 0.0)
        return point - excess / squares[row] * a[row]

    def one_round(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        point, residual = carry
        for i in range(n_rows + 1):
            shifted = point + residual[i]
            point = halfspace(shifted, i) if i < n_rows else jnp.clip(shifted, low, high)
            residual = residual.at[i].set(shifted - point)
        return (point, residual), None

    start = (x, jnp.zeros((n_rows + 1, x.shape[0]), x.dtype))
    if differentiable:
        (point, _), _ = jax.lax.scan(one_round, start, None, length=ROUNDS)
        return point

    def until_still(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        point, residual, count, _ = carry
        (moved, residual), _ = one_round((point, residual), None)
        return moved, residual, count + 1, jnp.max(jnp.abs(moved - point), initial=0.0)

    def goes_on(carry: tuple[Array, Array, Array, Array]) -> Array:
        return (carry[2] < ROUNDS) & (carry[3] > SHRINK)

    return jax.lax.while_loop(goes_on, until_still, (*start, jnp.asarray(0), jnp.asarray(jnp.inf, x.dtype)))[0]


def _onto_one_row(x: Array, row: Array, bound: Array, low: Array, high: Array) -> Array:
    """The point ``clip(x - t * row)`` with the least t >= 0 that keeps the row.

    Its sum over the row falls in straight pieces as t grows, so the right piece gives t exactly.
    """

    def at(t: Array) -> Array:
        return jnp.clip(x - t * row, low, high)

    used = jnp.concatenate([row, row]) != 0
    steep = jnp.where(row != 0, row, 1.0)
    bends = jnp.where(used, jnp.concatenate([x - low, x - high]) / jnp.concatenate([steep, steep]), 0.0)
    bends = jnp.maximum(bends, 0.0)
    sums = jax.vmap(at)(bends) @ row
    before = jnp.max(jnp.where(sums >= bound, bends, 0.0))
    after = jnp.min(jnp.where(sums <= bound, bends, jnp.max(bends)))
    top, bottom = at(before) @ row, at(after) @ row
    falls = top > bottom
    share = jnp.where(falls, (top - bound) / jnp.where(falls, top - bottom, 1.0), 1.0)
    t = before + jnp.clip(share, 0.0, 1.0) * (after - before)
    return at(jnp.where(at(jnp.zeros(())) @ row <= bound, 0.0, t))


@jax.jit
def into_halfspaces(
    x: Float[Array, " n"],
    a: Float[Array, "c n"],
    b: Float[Array, " c"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
    step: Float[Array, " n"],
    movable: Bool[Array, " n"],
) -> Float[Array, " n"]:
    """Move to other grid points until ``a @ x <= b``, one column at a time; callers check the result.

    Every move weighs, for each broken row and column, the nearest grid point that mends the row or comes as
    close as the interval allows, and one grid point short of it. It takes the one that leaves the least
    broken over all rows, and among equals the shortest; even if that is more than before, since mending one
    row may have to break another first. The least broken point on the way is returned.
    """
    spacing = jnp.where(step > 0, step, 1.0)
    slope = jnp.where(jnp.abs(a) > 1e-9, a, jnp.inf)  # a column outside the row: no way to go
    order = jnp.arange(2 * a.size).reshape(2 * a.shape[0], a.shape[1])

    @jax.jit
    def move(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        point, best, least, count = carry
        excess = a @ point - (b - SHRINK)
        goal = point[None, :] - jnp.maximum(excess, 0.0)[:, None] / slope
        steps = (goal - low[None, :]) / spacing[None, :]
        beyond = jnp.where(a > 0, jnp.floor(steps + 1e-4), jnp.ceil(steps - 1e-4))
        short = jnp.where(a > 0, beyond + 1, beyond - 1)
        lines = [jnp.where(step[None, :] > 0, low[None, :] + spacing[None, :] * k, goal) for k in (beyond, short)]
        grid = jnp.concatenate(lines)
        to = jnp.where(movable[None, :], jnp.clip(grid, low[None, :], high[None, :]), point[None, :])
        change = to - point[None, :]
        # What each move leaves broken: rows of candidates by columns.
        left = sum(jnp.maximum(excess[i] + change * a[i][None, :], 0.0) for i in range(a.shape[0]))
        useless = (jnp.abs(change) < 1e-7) | jnp.tile(excess <= SHRINK, 2)[:, None]
        price = jnp.where(useless, jnp.inf, left + 1e-4 * jnp.abs(change))
        # Masks in place of an argmin and of indices: inside a search they are many times faster.
        least_price = jnp.min(price)
        stuck = least_price == jnp.inf
        first = jnp.min(jnp.where(price == least_price, order, order.size))
        chosen = (order == first) & ~stuck
        moved = jnp.where(jnp.any(chosen, axis=0), jnp.sum(jnp.where(chosen, to, 0.0), axis=0), point)
        remaining = jnp.where(stuck, least, jnp.sum(jnp.where(chosen, left, 0.0)))
        better = remaining < least
        return moved, jnp.where(better, moved, best), jnp.minimum(remaining, least), count + 1

    broken = jnp.sum(jnp.maximum(a @ x - (b - SHRINK), 0.0))
    start = (x, x, broken, jnp.asarray(0))
    return jax.lax.while_loop(lambda c: (c[3] < MOVES) & (c[2] > 0), move, start)[1]
