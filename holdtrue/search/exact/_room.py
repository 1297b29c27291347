"""What is open to many people, feature by feature, and the cheapest point of a box of it."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdtrue.encoding import Norm, Tails
from holdtrue.models import AbstractTrees
from holdtrue.search._additive import addend
from holdtrue.search._problem import Problems

PAST = 2e-6  # how far beyond a threshold a number without a grid is put, in encoded units
NEAR = 3e-7  # of a grid point: one that lies above an edge by so little lies on it, but for rounding
ACCEPT = 2e-6  # how far a linear constraint may be missed, as in `Feasible`
ROUNDING = 3e-7
SWEEPS = 3  # of bounds from one feature of a constraint to another


class Box(NamedTuple):
    """Regions, a row each: whose they are, numbers in ``(low, high]``, and the levels that are left."""

    person: np.ndarray
    low: np.ndarray
    high: np.ndarray
    levels: np.ndarray

    def take(self, rows: np.ndarray) -> "Box":
        """Some of them."""
        return Box(*(part[rows] for part in self))


class Corner(NamedTuple):
    """The cheapest point of each box, limits across features aside: numbers, the level of each other feature, its
    cost in units that add up (infinite where the box is empty), and how many features it changes."""

    value: np.ndarray
    level: np.ndarray
    cost: np.ndarray
    n_changed: np.ndarray

    def take(self, rows: np.ndarray) -> "Corner":
        """Some of them."""
        return Corner(*(part[rows] for part in self))


@dataclass(frozen=True)
class Room:
    """Where people are and may go: numbers in intervals, on grids, and levels at a price.

    The person's own value is always permitted, also outside its interval or off its grid.

    Attributes
    ----------
    own, missing : numbers as they are, and which are not known; those stay so.
    lower, upper, step, weight, free : of numbers: the interval, its grid (0 for a continuum), what a unit costs,
        and whether it may move at all.
    price : of every level of every other feature; 0 for the person's own, infinite where not permitted.
    level : the person's own level of each feature, by its place among all levels.
    spans : where each feature's levels begin, and one past the last.
    norm : how prices add up.
    rows_of_numbers, rows_of_levels, right : linear constraints: what a unit of each number and what each level
        adds to each, and what must not be exceeded, less what cannot change.
    clauses : per implication the levels of its two sides, by feature, and whom it binds.
    tails : of numbers whose cost goes by percentile, by their place among numbers.
    """

    own: np.ndarray
    missing: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    step: np.ndarray
    weight: np.ndarray
    free: np.ndarray
    price: np.ndarray
    level: np.ndarray
    spans: np.ndarray
    norm: Norm
    rows_of_numbers: np.ndarray
    rows_of_levels: np.ndarray
    right: np.ndarray
    clauses: tuple[tuple[dict[int, np.ndarray], dict[int, np.ndarray], np.ndarray], ...]
    tails: Tails | None = None

    @property
    def n_people(self) -> int:
        """How many people."""
        return len(self.own)

    @property
    def n_levels(self) -> int:
        """How many features have levels."""
        return len(self.spans) - 1

    def whole(self) -> Box:
        """Everything that is open to each person."""
        inf = np.full(self.own.shape, np.inf, np.float32)
        return Box(np.arange(self.n_people), -inf, inf, np.isfinite(self.price))

    # ---- numbers ------------------------------------------------------------------------------------

    def above(self, person: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The least permitted value of each number that lies above an edge; NaN where none does."""
        lower, upper, step = self.lower[person], self.upper[person], self.step[person]
        grid = step > 0
        size = np.where(grid, step, 1.0)
        count = np.floor((np.maximum(edge.astype(np.float64), lower - size) - lower) / size)
        value = np.maximum(lower, _beyond(edge, PAST)).astype(np.float32)
        beyond = _beyond(edge)
        for further in (2, 1, 0):
            at = (lower + np.maximum(count + further, 0.0) * size).astype(np.float32)
            value = np.where(grid & ((at > beyond) | (further == 2)), at, value)
        return np.where(self.free[person] & (value <= upper + 1e-6) & (value > edge), value, np.nan)

    def below(self, person: np.ndarray, edge: np.ndarray) -> np.ndarray:
        """The greatest permitted value of each number that lies at an edge or below it; NaN where none does."""
        lower, upper, step = self.lower[person], self.upper[person], self.step[person]
        grid = step > 0
        size = np.where(grid, step, 1.0)
        last = np.rint((upper - lower) / size)
        count = np.floor((np.minimum(edge.astype(np.float64), upper + size) - lower) / size)
        value = np.minimum(upper, _beyond(edge, -PAST)).astype(np.float32)
        beyond = _beyond(edge)
        for further in (-1, 0, 1):
            at = (lower + np.minimum(count + further, last) * size).astype(np.float32)
            value = np.where(grid & ((at <= beyond) | (further == -1)), np.minimum(at, edge), value)
        return np.where(self.free[person] & (value >= lower - 1e-6) & (value <= edge), value, np.nan)

    def nearest(self, person: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The permitted value in ``(low, high]`` that is nearest to the person's own; NaN where there is none."""
        own = self.own[person]
        inside = (low < own) & (own <= high) | self.missing[person]
        rises = own <= low
        with np.errstate(invalid="ignore", over="ignore"):
            up, down = self.above(person, low), self.below(person, high)
        up, down = np.where(up <= high, up, np.nan), np.where(down > low, down, np.nan)
        return np.where(inside, own, np.where(rises, up, down))

    def spent(self, person: np.ndarray, value: np.ndarray) -> np.ndarray:
        """What each number's value costs; infinite where it is NaN and the person's own is known."""
        change = self._measured(value) - self._measured(self.own[person])
        change = np.where(self.missing[person], 0.0, change)
        return np.where(np.isnan(change), np.inf, addend(self.norm, self.weight[person], np.nan_to_num(change)))

    def spent_on(self, j: int, person: np.ndarray, value: np.ndarray) -> np.ndarray:
        """What values of one number cost."""
        change = self._measured_of(j, value) - self._measured_of(j, self.own[person, j])
        return addend(self.norm, self.weight[person, j], change)

    def _measured(self, value: np.ndarray) -> np.ndarray:
        value = value.astype(np.float64)
        return value if self.tails is None else self.tails.rise(value)

    def _measured_of(self, j: int, value: np.ndarray) -> np.ndarray:
        value = value.astype(np.float64)
        own = self.tails is not None and j in self.tails.columns
        return self.tails.one(self.tails.columns.index(j), value) if own and self.tails is not None else value

    # ---- boxes --------------------------------------------------------------------------------------

    def total(self, parts: np.ndarray) -> np.ndarray:
        """Costs of features added up, as the norm has it."""
        return parts.max(axis=-1, initial=0.0) if self.norm == "linf" else parts.sum(axis=-1)

    def corner(self, box: Box) -> Corner:
        """The cheapest point of each box."""
        person = box.person
        level = np.zeros((len(person), self.n_levels), np.int32)
        price = np.where(box.levels, self.price[person], np.inf)
        for j in range(self.n_levels):
            part = price[:, self.spans[j] : self.spans[j + 1]]
            level[:, j] = part.argmin(axis=1) + self.spans[j]
        corner = self.point(person, self.nearest(person, box.low, box.high), level)
        empty = ~np.isfinite(np.take_along_axis(price, level, axis=1)).all(axis=1)  # no level is left
        return corner._replace(cost=np.where(empty, np.inf, corner.cost))

    def point(self, person: np.ndarray, value: np.ndarray, level: np.ndarray) -> Corner:
        """Points, by their numbers and levels, with what they cost."""
        parts = [self.spent(person, value), np.take_along_axis(self.price[person], level, axis=1)]
        moved = (value != self.own[person]) & ~self.missing[person]
        changed = moved.sum(axis=1) + (level != self.level[person]).sum(axis=1)
        return Corner(value.astype(np.float32), level, self.total(np.concatenate(parts, axis=1)), changed)

    # ---- limits across features ---------------------------------------------------------------------

    @property
    def limited(self) -> bool:
        """Whether there are limits across features."""
        return bool(self.right.shape[1] or self.clauses)

    def broken(self, person: np.ndarray, corner: Corner) -> tuple[np.ndarray, np.ndarray]:
        """Which linear constraints, and which implications, the corners break."""
        value = np.nan_to_num(corner.value.astype(np.float64))
        left = value @ self.rows_of_numbers.T
        size = np.abs(value) @ np.abs(self.rows_of_numbers).T
        for j in range(self.n_levels):
            added = self.rows_of_levels[:, corner.level[:, j]].T
            left, size = left + added, size + np.abs(added)
        right = self.right[person]
        rows = left > right + ACCEPT + ROUNDING * (size + np.abs(right))
        implied = np.zeros((len(person), len(self.clauses)), bool)
        for i, (when, then, active) in enumerate(self.clauses):
            holds = [
                np.logical_and.reduce([members[corner.level[:, j]] for j, members in side.items()])
                for side in (when, then)
            ]
            implied[:, i] = active[person] & holds[0] & ~holds[1]
        return rows, implied

    def narrowed(self, box: Box) -> tuple[Box, np.ndarray]:
        """Boxes without what no point that keeps the linear constraints can have; and which have such points."""
        alive = np.ones(len(box.person), bool)
        if not self.right.shape[1]:
            return box, alive
        person, low, high = box.person, box.low.copy(), box.high.copy()
        own, a = self.own[person].astype(np.float64), self.rows_of_numbers
        right = self.right[person]
        tolerance = ACCEPT + 10 * ROUNDING * (1 + np.abs(right))
        at_levels = np.zeros((len(person), len(a)))
        for j in range(self.n_levels):
            part = slice(self.spans[j], self.spans[j + 1])
            added = np.where(box.levels[:, None, part], self.rows_of_levels[None, :, part], np.inf)
            at_levels += added.min(axis=2)
        for _ in range(SWEEPS):
            with np.errstate(invalid="ignore", over="ignore"):
                least, most = self.above(person, low), self.below(person, high)
            inside = (low < own) & (own <= high)
            least = np.where(least <= high, least, np.nan)
            most = np.where(most > low, most, np.nan)
            least = np.fmin(least, np.where(inside, own, np.nan))
            most = np.fmax(most, np.where(inside, own, np.nan))
            least, most = (np.where(self.missing[person], 0.0, part) for part in (least, most))
            alive &= ~np.isnan(least).any(axis=1)
            # What every number adds at least, to every constraint.
            adds = np.fmin(a[None] * least[:, None, :], a[None] * most[:, None, :])
            adds = np.nan_to_num(adds)
            room = right + tolerance - adds.sum(axis=2) - at_levels
            alive &= (room >= 0).all(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                edge = (room[:, :, None] + adds) / a[None]
            ceiling = np.where(a[None] > 0, edge, np.inf).min(axis=1)
            floor = np.where(a[None] < 0, edge, -np.inf).max(axis=1)
            movable = self.free[person]
            tighter = np.where(movable, np.minimum(high, ceiling), high).astype(np.float32)
            raised = np.where(movable & (floor > least), np.maximum(low, _just_under(floor)), low)
            raised = raised.astype(np.float32)
            if np.array_equal(tighter, high) and np.array_equal(raised, low):
                break
            high, low = tighter, raised
        return Box(person, low, high, box.levels), alive


def _beyond(edge: np.ndarray, by: float = NEAR) -> np.ndarray:
    """A little above an edge (or below it): what a grid point must exceed to lie above, for whoever looks from
    above and from below. No edge at all stays so."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(edge), edge + by * np.maximum(1.0, np.abs(edge)), edge)


def _just_under(value: np.ndarray) -> np.ndarray:
    """An edge that the value lies above."""
    with np.errstate(invalid="ignore"):
        return value - PAST * np.maximum(1.0, np.abs(value))


def room_of(
    trees: AbstractTrees, problems: Problems, weights: np.ndarray, factors: np.ndarray | None, norm: Norm
) -> Room:
    """What is open to people, as a tree ensemble sees it.

    Parameters
    ----------
    trees : AbstractTrees
    problems : Problems
    weights : array of shape (d,)
        What a unit of each encoded column costs.
    factors : array of shape (n, d), optional
        What each person's own costs are multiplied with.
    norm : str
    """
    slots, feasible = trees.slots, problems.feasible
    x = np.asarray(problems.x, np.float64)
    scale, offset = (np.asarray(part, np.float64) for part in (feasible.scale, feasible.offset))
    a, right = np.asarray(feasible.a, np.float64), np.asarray(feasible.b, np.float64)
    each = np.broadcast_to(np.asarray(weights, np.float64), x.shape)
    each = each if factors is None else each * factors
    raw = x * scale + offset
    at = np.array([c for c, _ in slots.numbers], int)
    flag = np.array([f for _, f in slots.numbers], int)
    missing = (flag != at) & (raw[:, flag] > 0.5)

    counts = [k + 1 for _, _, k in slots.positions] + [b - c for c, b in slots.groups]
    spans = np.concatenate([[0], np.cumsum(counts)]).astype(int)
    price = np.full((len(x), spans[-1]), np.inf)
    level = np.zeros((len(x), len(counts)), np.int32)
    by_level = np.zeros((len(a), spans[-1]))
    seen = np.zeros(x.shape[1], bool)
    seen[at] = True
    for j, (column, marked, n_levels) in enumerate(slots.positions):
        seen[column] = True
        codes = np.arange(n_levels + 1)
        value = (codes - offset[column]) / scale[column]
        half = 0.25 / scale[column]
        inside = (value >= feasible.lower[:, [column]] - half) & (value <= feasible.upper[:, [column]] + half)
        inside &= feasible.movable[:, [column]] & (codes < n_levels)
        own = np.clip(np.rint(raw[:, column]), 0, n_levels - 1).astype(int)
        gone = (marked != column) & (raw[:, marked] > 0.5)
        own = np.where(gone, n_levels, own)
        cost = addend(norm, each[:, [column]], value - x[:, [column]])
        cost = np.where(inside & ~gone[:, None], cost, np.inf)
        cost[np.arange(len(x)), own] = 0.0
        part = slice(spans[j], spans[j + 1])
        price[:, part], level[:, j] = cost, own + spans[j]
        by_level[:, part] = a[:, [column]] * value
        by_level[:, spans[j] + n_levels] = 0.0
        right = right - np.where(gone, x[:, column], 0.0)[:, None] * a[:, column]  # what is missing stays so
    for j, (first, last) in enumerate(slots.groups, start=len(slots.positions)):
        seen[first:last] = True
        size = addend(norm, each[:, first:last], 1.0 / scale[first:last])
        own = raw[:, first:last].argmax(axis=1)
        here = size[np.arange(len(x)), own][:, None]
        cost = np.maximum(size, here) if norm == "linf" else size + here
        cost = np.where(feasible.movable[:, first:last], cost, np.inf)
        cost[np.arange(len(x)), own] = 0.0
        part = slice(spans[j], spans[j + 1])
        price[:, part], level[:, j] = cost, own + spans[j]
        off = (0.0 - offset[first:last]) / scale[first:last]
        on = (1.0 - offset[first:last]) / scale[first:last]
        by_level[:, part] = (a[:, first:last] @ off)[:, None] + a[:, first:last] * (on - off)
    right = right - x[:, ~seen] @ a[:, ~seen].T
    numbers = a[:, at].copy()
    lost = np.where(missing, x[:, at], 0.0)
    right = right - lost @ numbers.T
    own = np.where(missing, np.nan, np.asarray(problems.x)[:, at]).astype(np.float32)
    return Room(
        own=own,
        missing=missing,
        lower=np.asarray(feasible.lower, np.float64)[:, at],
        upper=np.asarray(feasible.upper, np.float64)[:, at],
        step=np.asarray(feasible.step, np.float64)[:, at],
        weight=each[:, at],
        free=np.asarray(feasible.movable)[:, at] & ~missing,
        price=price,
        level=level,
        spans=spans,
        norm=norm,
        rows_of_numbers=numbers,
        rows_of_levels=by_level,
        right=right,
        clauses=_clauses(trees, problems, spans),
        tails=_tails(problems, at),
    )


def _tails(problems: Problems, at: np.ndarray) -> Tails | None:
    """What numbers are measured by, by their place among those that the trees read."""
    tails = problems.feasible.tails
    if tails is None:
        return None
    place = {int(column): j for j, column in enumerate(at)}
    read = [i for i, column in enumerate(tails.columns) if column in place]
    knots, heights = (np.asarray(part, np.float64)[read] for part in (tails.knots, tails.heights))
    return Tails(knots, heights, tuple(place[tails.columns[i]] for i in read)) if read else None


def _clauses(
    trees: AbstractTrees, problems: Problems, spans: np.ndarray
) -> tuple[tuple[dict[int, np.ndarray], dict[int, np.ndarray], np.ndarray], ...]:
    """Implications by feature, as which of all levels count."""
    layout, slots = problems.feasible.layout, trees.slots
    place = {column: j for j, (column, _, _) in enumerate(slots.positions)}
    place |= {first: j for j, (first, _) in enumerate(slots.groups, start=len(slots.positions))}

    def side(part: tuple[tuple[int, tuple[int, ...]], ...]) -> dict[int, np.ndarray]:
        out: dict[int, np.ndarray] = {}
        for index, positions in part:
            j = place[layout.slots[index].start]
            members = np.zeros(spans[-1], bool)
            members[spans[j] + np.asarray(positions, int)] = True
            out[j] = out[j] & members if j in out else members
        return out

    return tuple(
        (side(clause.when), side(clause.then), np.asarray(problems.feasible.active)[:, i])
        for i, clause in enumerate(layout.clauses)
    )


def rows_at(
    trees: AbstractTrees, problems: Problems, room: Room, person: np.ndarray, corner: Corner
) -> np.ndarray:
    """Encoded rows of corners; what is not changed keeps its bits."""
    slots, feasible = trees.slots, problems.feasible
    out = np.array(problems.x[person], np.float32)
    for j, (column, _) in enumerate(slots.numbers):
        known = ~room.missing[person, j]
        out[known, column] = corner.value[known, j]
    scale, offset = np.asarray(feasible.scale), np.asarray(feasible.offset)
    for j, (column, _, _) in enumerate(slots.positions):
        moved = corner.level[:, j] != room.level[person, j]
        code = corner.level[moved, j] - room.spans[j]
        out[moved, column] = (code - offset[column]) / scale[column]
    for j, (first, last) in enumerate(slots.groups, start=len(slots.positions)):
        moved = np.flatnonzero(corner.level[:, j] != room.level[person, j])
        out[moved, first:last] = np.asarray(feasible.lower)[person[moved], first:last]
        at = first + corner.level[moved, j] - room.spans[j]
        out[moved, at] = np.asarray(feasible.upper)[person[moved], at]
    return out
