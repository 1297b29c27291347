"""The linearised step: a linear programme over one person's polytope, as pure functions."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from holdtrue.encoding import Feasible
from holdtrue.models import solve_positive

ITERATIONS = 30  # of the interior-point method; float32 gains nothing after about 25


def within(feasible: Feasible, radius: Float[Array, " d"] | Float[Array, ""]) -> Feasible:
    """Restrict each number to grid points at most `radius` away; one-hot columns stay free."""
    n = len(feasible.layout.numbers)
    is_number = jnp.arange(feasible.x.shape[0]) < n
    spacing = jnp.where(feasible.step > 0, feasible.step, 1.0)

    def inwards(edge: Array, rounding: Array) -> Array:
        on_grid = feasible.lower + spacing * rounding
        return jnp.where(feasible.step > 0, on_grid, edge)

    low, high = feasible.x - radius, feasible.x + radius
    low = inwards(low, jnp.ceil((low - feasible.lower) / spacing - 1e-4))
    high = inwards(high, jnp.floor((high - feasible.lower) / spacing + 1e-4))
    lower = jnp.where(is_number & jnp.isfinite(low), jnp.maximum(feasible.lower, low), feasible.lower)
    upper = jnp.where(is_number & jnp.isfinite(high), jnp.minimum(feasible.upper, high), feasible.upper)
    shut = is_number & (lower > upper)
    parts = (jnp.where(shut, feasible.x, lower), jnp.where(shut, feasible.x, upper), feasible.movable & ~shut)
    return eqx.tree_at(lambda f: (f.lower, f.upper, f.movable), feasible, parts)


def box_minimum(slope: Array, low: Array, high: Array, own: Array) -> Array:
    """Minimise ``slope @ x`` over a box, column by column; a column of no slope stays at `own`."""
    return jnp.where(slope > 0, low, jnp.where(slope < 0, high, own))


def minimise_linear(
    slope: Float[Array, " n"],
    a: Float[Array, "c n"],
    b: Float[Array, " c"],
    low: Float[Array, " n"],
    high: Float[Array, " n"],
) -> Float[Array, " n"]:
    """Minimise ``slope @ x`` subject to ``a @ x <= b`` and ``low <= x <= high``.

    Mehrotra's interior-point method on a box of unit width. Constraints are few beside columns, so a step
    solves a system of their number only. Where the set is empty the result is no member of it; callers check.
    """
    width = high - low
    free = width > 1e-7
    # Rows and objective are brought to one size, columns that cannot move are taken out.
    a_unit = jnp.where(free[None, :], a * width[None, :], 0.0)
    size = jnp.maximum(jnp.linalg.norm(a_unit, axis=1), 1e-6)
    a_unit = a_unit / size[:, None]
    b_unit = (b - a @ low) / size
    c = jnp.where(free, slope * width, 0.0)
    c = c / jnp.maximum(jnp.max(jnp.abs(c)), 1e-12)
    n, m = slope.shape[0], b.shape[0]

    class Point(NamedTuple):
        z: Array  # position in the box
        s: Array  # slack of the rows
        y: Array  # their multipliers
        zl: Array  # multipliers of the lower and the upper side of the box
        zu: Array

    def longest(value: Array, change: Array) -> Array:
        ratio = jnp.where(change < 0, -value / jnp.where(change < 0, change, -1.0), jnp.inf)
        return jnp.minimum(jnp.min(ratio, initial=1.0), 1.0)

    def direction(p: Point, aim: Array, second: tuple[Array, Array, Array]) -> Point:
        below, above = p.z, 1 - p.z
        dual = -(c + a_unit.T @ p.y - p.zl + p.zu)
        primal = b_unit - a_unit @ p.z - p.s
        comp_s = aim - p.s * p.y - second[0]
        comp_l = aim - below * p.zl - second[1]
        comp_u = aim - above * p.zu - second[2]
        stiff = p.zl / below + p.zu / above
        right = dual + comp_l / below - comp_u / above
        normal = (a_unit / stiff[None, :]) @ a_unit.T + jnp.diag(p.s / p.y) + 1e-7 * jnp.eye(m)
        dy = solve_positive(normal, ((a_unit / stiff[None, :]) @ right - primal + comp_s / p.y)[:, None])[:, 0]
        dz = (right - a_unit.T @ dy) / stiff
        ds = (comp_s - p.s * dy) / p.y
        return Point(dz, ds, dy, (comp_l - p.zl * dz) / below, (comp_u + p.zu * dz) / above)

    def steps(p: Point, d: Point) -> tuple[Array, Array]:
        primal = jnp.minimum(jnp.minimum(longest(p.z, d.z), longest(1 - p.z, -d.z)), longest(p.s, d.s))
        dual = jnp.minimum(jnp.minimum(longest(p.y, d.y), longest(p.zl, d.zl)), longest(p.zu, d.zu))
        return primal, dual

    def move(p: Point, d: Point, primal: Array, dual: Array) -> Point:
        return Point(*(v + step * dv for v, dv, step in zip(p, d, (primal,) * 2 + (dual,) * 3, strict=True)))

    def gap(p: Point) -> Array:
        return (p.s @ p.y + p.z @ p.zl + (1 - p.z) @ p.zu) / (m + 2 * n)

    def iterate(_: Array, p: Point) -> Point:
        mu = gap(p)
        zero = (jnp.zeros(m), jnp.zeros(n), jnp.zeros(n))
        ahead = direction(p, jnp.zeros(()), zero)
        primal, dual = steps(p, ahead)
        tried = Point(
            *(v + (primal if i < 2 else dual) * dv for i, (v, dv) in enumerate(zip(p, ahead, strict=True)))
        )
        aim = mu * (gap(tried) / jnp.maximum(mu, 1e-30)) ** 3
        d = direction(p, aim, (ahead.s * ahead.y, ahead.z * ahead.zl, -ahead.z * ahead.zu))
        primal, dual = (0.99 * step for step in steps(p, d))
        moved = move(p, d, primal, dual)
        # Near the optimum float32 runs out of digits; the last sound point is as good as it gets.
        sound = jnp.all(jnp.stack([jnp.all(jnp.isfinite(v)) for v in moved])) & (mu > 1e-7)
        return jax.tree.map(lambda new, old: jnp.where(sound, new, old), moved, p)

    start = Point(jnp.full(n, 0.5), jnp.ones(m), jnp.ones(m), jnp.ones(n), jnp.ones(n))
    best = jax.lax.fori_loop(0, ITERATIONS, iterate, start)
    return low + jnp.where(free, jnp.clip(best.z, 0.0, 1.0), 0.0) * jnp.where(free, width, 0.0)


def best_corner(feasible: Feasible, slope: Float[Array, " d"]) -> Float[Array, " d"]:
    """Minimise ``slope @ x`` over one person's polytope: the best level of each category, then the best numbers.

    Closed form where no linear constraint cuts the box, the interior-point method where one does.
    """
    n = len(feasible.layout.numbers)
    own, movable = feasible.x, feasible.movable
    levels = [own[:n]]
    for group in feasible.layout.groups:
        part = slice(group.start, group.stop)
        unit = own[part] * feasible.scale[part] + feasible.offset[part]
        gain = -slope[part] * (feasible.upper[part] - feasible.lower[part])
        gain = jnp.where(movable[part] | (unit > 0.5), gain, -jnp.inf)
        best = jnp.arange(gain.shape[0]) == jnp.argmax(gain)
        levels.append(jnp.where(best, feasible.upper[part], feasible.lower[part]))
    indicators = own[feasible.layout.n_columns - len(feasible.layout.indicators) :]
    x = jnp.concatenate([*levels, indicators])
    low = jnp.where(movable[:n], jnp.minimum(feasible.lower[:n], own[:n]), own[:n])
    high = jnp.where(movable[:n], jnp.maximum(feasible.upper[:n], own[:n]), own[:n])
    best_numbers = box_minimum(slope[:n], low, high, own[:n])
    if feasible.layout.n_constraints and n:
        left = feasible.b - feasible.a[:, n:] @ x[n:]
        # The closed form is the answer unless a constraint cuts it off.
        cut = jnp.any(feasible.a[:, :n] @ best_numbers > left)
        # A loop of at most one round: over a batch, jax computes both sides of a condition, but leaves out a loop
        # that nobody enters.
        best_numbers, _ = jax.lax.while_loop(
            lambda carry: carry[1],
            lambda _: (minimise_linear(slope[:n], feasible.a[:, :n], left, low, high), jnp.asarray(False)),
            (best_numbers, cut),
        )
    return jnp.concatenate([best_numbers, x[n:]])
