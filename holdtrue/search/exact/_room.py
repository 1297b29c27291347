"""What is open to many people, feature by feature."""

from dataclasses import dataclass

import numpy as np

from holdtrue.encoding import Norm, Tails
from holdtrue.models import AbstractTrees
from holdtrue.search._additive import addend
from holdtrue.search._problem import Problems


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
    trees: AbstractTrees, problems: Problems, room: Room, value: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """Encoded rows of a point each; what is not changed keeps its bits."""
    slots, feasible = trees.slots, problems.feasible
    out = np.array(problems.x, np.float32)
    for j, (column, _) in enumerate(slots.numbers):
        known = ~room.missing[:, j]
        out[known, column] = value[known, j]
    scale, offset = np.asarray(feasible.scale), np.asarray(feasible.offset)
    for j, (column, _, _) in enumerate(slots.positions):
        moved = level[:, j] != room.level[:, j]
        code = level[moved, j] - room.spans[j]
        out[moved, column] = (code - offset[column]) / scale[column]
    for j, (first, last) in enumerate(slots.groups, start=len(slots.positions)):
        moved = np.flatnonzero(level[:, j] != room.level[:, j])
        out[moved, first:last] = np.asarray(feasible.lower)[moved, first:last]
        at = first + level[moved, j] - room.spans[j]
        out[moved, at] = np.asarray(feasible.upper)[moved, at]
    return out
