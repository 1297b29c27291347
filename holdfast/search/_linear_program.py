"""The linearised step: a linear programme over the person's polytope, then the cheapest way to its optimum."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdfast.encoding import Feasible, Norm
from holdfast.models import Decision, solve_positive
from holdfast.search._problem import Problem, is_found
from holdfast.search._solver import CLEARANCE, AbstractSolver, State

ITERATIONS = 30  # of the interior-point method; float32 gains nothing after about 25
POINTS = 8  # asked at a time along a way
ROUNDS = 4  # of narrowing a way down: 1/8^4 of it at the end

Way = Callable[[Float[Array, ""]], Float[Array, " d"]]  # from the factual at 0 to the corner at 1


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
    a_unit = jnp.where(free, a * width, 0.0)
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
        normal = (a_unit / stiff) @ a_unit.T + jnp.diag(p.s / p.y) + 1e-7 * jnp.eye(m)
        dy = solve_positive(normal, ((a_unit / stiff) @ right - primal + comp_s / p.y)[:, None])[:, 0]
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

    def iterate(_: int, p: Point) -> Point:
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


class Linearised(NamedTuple):
    """Where the model is linearised next."""

    at: Float[Array, " d"]


class LinearProgramSolver(AbstractSolver):
    """Linearise the margin, solve the linear programme, and look for the cheapest valid point on the way there.

    One step is one linearisation. The optimum lies in a far corner of what is permitted. Two ways lead there
    from the factual: straight, and one feature after the other in the order of what its change gains for its
    cost. Along each, hardened points are asked in rounds that narrow down the first valid one. The next
    linearisation is at the best point found; without one, between the last place and the corner.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    radius: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    def start(self, problem: Problem) -> Linearised:
        """Linearise where the problem says: at the factual, as a rule."""
        return Linearised(problem.start)

    def step(self, problem: Problem, state: State[Linearised]) -> State[Linearised]:
        """One linearisation, one linear programme, two ways."""
        feasible = within(problem.feasible, self.radius)
        # The loss falls as the margin rises, so both have the same linear programme.
        slope = -jax.grad(self.decision.margin)(state.own.at, problem.target)
        far = self.corner(feasible, slope)
        for way in (lambda t: problem.x + t * (far - problem.x), self._by_gain(problem, slope, far)):
            state = self._first_valid(problem, feasible, state, way)
        mixed = state.own.at + 2 / (state.n_steps + 2) * (far - state.own.at)  # the step of Frank and Wolfe
        lost = ~jnp.all(jnp.isfinite(slope))
        at = jnp.where(is_found(state.status), state.best, jnp.where(lost, state.own.at, mixed))
        return eqx.tree_at(lambda s: (s.own, s.done), state, (Linearised(at), lost))

    def corner(self, feasible: Feasible, slope: Float[Array, " d"]) -> Float[Array, " d"]:
        """Optimum of the linear programme: the best level of each category, then the best numbers."""
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
            solved = minimise_linear(slope[:n], feasible.a[:, :n], left, low, high)
            best_numbers = jnp.where(cut, solved, best_numbers)
        return jnp.concatenate([best_numbers, x[n:]])

    def _by_gain(self, problem: Problem, slope: Array, far: Array) -> Way:
        """Way that changes one feature after the other, the most gain for its cost first.

        For a linear model of numbers, a cost that adds up and a box it passes through the cheapest point of
        every score.
        """
        layout = problem.feasible.layout
        owner = np.full(layout.n_columns, len(layout.slots))
        for i, slot in enumerate(layout.slots):
            owner[slot.start : slot.stop] = i
        n_slots = len(layout.slots)
        change = far - problem.x
        gain = jnp.zeros(n_slots + 1).at[owner].add(-slope * change)[:n_slots]
        cost = jnp.zeros(n_slots + 1).at[owner].add(self.cost_weights * jnp.abs(change))[:n_slots]
        ratio = jnp.where(cost > 0, gain / jnp.where(cost > 0, cost, 1.0), -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-ratio, stable=True), stable=True)
        n_moving = jnp.maximum(jnp.sum(ratio > 0), 1)
        turn = jnp.concatenate([rank, jnp.asarray([n_slots])])[owner]

        def at(t: Array) -> Array:
            return problem.x + jnp.clip(t * n_moving - turn, 0.0, 1.0) * change

        return at

    def _first_valid(self, problem: Problem, feasible: Feasible, state: State, way: Way) -> State:
        """Offer hardened points along a way, in rounds between the last invalid and the first valid one."""

        def ask(t: Float[Array, ""]) -> tuple[Array, Array, Bool[Array, ""]]:
            x, ok = feasible.hard(way(t))
            return x, self.decision.margin(x, problem.target), ok

        def one_round(_: int, carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
            state, low, high = carry
            t = low + (high - low) * (jnp.arange(POINTS) + 1) / POINTS
            x, margin, ok = jax.vmap(ask)(t)
            valid = ok & (margin >= CLEARANCE)
            cost = jnp.where(valid, jax.vmap(lambda row: self.cost(row, problem))(x), jnp.inf)
            best = jnp.argmin(cost)
            state = self.offer(problem, state, x[best], margin[best], ok[best])
            first = jnp.argmax(valid)
            below = jnp.where(first > 0, t[jnp.maximum(first - 1, 0)], low)
            found = jnp.any(valid)
            return state, jnp.where(found, below, low), jnp.where(found, t[first], high)

        start = (state, jnp.zeros(()), jnp.ones(()))
        return jax.lax.fori_loop(0, ROUNDS, one_round, start)[0]
