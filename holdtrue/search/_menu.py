"""What one person may do, feature by feature: a menu of values and what each costs. Runs on the host."""

from dataclasses import dataclass

import numpy as np

from holdtrue.encoding import FeasibleSets, Layout, Norm, Tails
from holdtrue.search._percentile import Percentiles

MOST = 300  # values of a number that is measured by percentile, beyond which its grid is thinned
FEW = 16  # grid points up to which each is an option of its own; beyond, an integer counts steps
TIE = 1e-4  # cost of distance in l0: among actions of as many features, the shortest

Support = frozenset[int]
"""Which features an action changes, each by its first column."""


@dataclass(frozen=True)
class Choice:
    """A feature with a few options: encoded values of its columns, one row each; the first is to stay."""

    start: int
    values: np.ndarray
    cost: np.ndarray


@dataclass(frozen=True)
class Range:
    """A number on a fine grid (`count` steps from `lower`) or in an interval (`step` 0); or `own`, where it is."""

    start: int
    own: float
    lower: float
    upper: float
    step: float
    count: int
    weight: float

    @property
    def must_choose(self) -> bool:
        """Whether staying is no point of the grid or interval."""
        if self.step == 0:
            return not self.lower <= self.own <= self.upper
        k = (self.own - self.lower) / self.step
        return abs(k - round(k)) > 1e-4 or not -0.5 < k < self.count + 0.5


@dataclass(frozen=True)
class Menu:
    """What one person may do, feature by feature, and the limits across features."""

    x: np.ndarray
    features: list[Choice | Range]
    a: np.ndarray
    b: np.ndarray
    active: np.ndarray
    layout: Layout
    scale: np.ndarray
    offset: np.ndarray
    norm: Norm
    largest: bool = False
    """Whether the cost is that of the feature that costs most; among such actions the least sum is taken."""
    thinned: bool = False
    """Whether some values that the person could take are not on it."""
    tie: float = TIE
    """What distance adds to the cost in l0."""

    @property
    def separable(self) -> bool:
        """Whether features can be chosen without looking at each other, and each by its distance alone."""
        across = len(self.b) or self.active.any()
        gaps = any(isinstance(f, Range) and f.step == 0 and f.must_choose for f in self.features)
        return not (across or gaps or self.norm == "l0")


def menu(
    feasible: FeasibleSets,
    row: int,
    weights: np.ndarray,
    norm: Norm,
    percentiles: Percentiles | None = None,
    *,
    in_heights: bool = True,
    tie: float = TIE,
) -> Menu:
    """Read one person's menu from a batch of feasible sets held as numpy arrays.

    With `percentiles` the cost is theirs instead of the norm's, and every number has a grid. A number that the
    schema measures by percentile is a list of values, thinned where its grid is long; unless it is not asked for
    `in_heights`, where only what can be reached matters.
    """
    f, layout = feasible, feasible.layout
    x, lower, upper, step = (np.asarray(v[row]) for v in (f.x, f.lower, f.upper, f.step))
    movable, scale, offset = np.asarray(f.movable[row]), np.asarray(f.scale), np.asarray(f.offset)
    active = np.asarray(f.active[row])
    clauses = [clause for clause, on in zip(layout.clauses, active, strict=True) if on]
    bound = {i for clause in clauses for i, _ in (*clause.when, *clause.then)}
    features: list[Choice | Range] = []
    thinned = False
    for i, slot in enumerate(layout.numbers):
        c = slot.start
        if not movable[c] or lower[c] == upper[c] == x[c]:
            continue
        if percentiles is not None:
            grid = percentiles.grid(c, float(lower[c]), float(upper[c]), float(step[c]))
            values = np.r_[x[c], grid[np.abs(grid - x[c]) > max(1e-6, 0.25 * step[c])]][:, None]
            if len(values) > 1:
                features.append(Choice(c, values, percentiles.costs(c, values, values[0])))
            continue
        count = round(float(upper[c] - lower[c]) / float(step[c])) if step[c] > 0 else 0
        if in_heights and f.tails is not None and c in f.tails.columns:
            values, all_of_it = _values(f.tails, c, float(lower[c]), float(upper[c]), float(step[c]), count)
            thinned |= not all_of_it
            values = np.r_[x[c], values[np.abs(values - x[c]) > max(1e-6, 0.25 * step[c])]][:, None]
            if len(values) > 1:
                i_of = f.tails.columns.index(c)
                heights = f.tails.one(i_of, values.astype(np.float64))
                cost = _cost(heights, heights[0], weights[c : c + 1], norm, tie)
                features.append(Choice(c, values, cost))
            continue
        if step[c] > 0 and (count < FEW or i in bound):
            # The same float32 arithmetic as in hardening, so that a proposal comes back bit for bit.
            grid = np.minimum(lower[c] + step[c] * np.arange(count + 1, dtype=np.float32), upper[c])
            grid = grid[np.abs(grid - x[c]) > 0.25 * step[c]]
            values = np.r_[x[c], grid][:, None]
            if len(values) > 1:
                cost = _cost(values, x[c : c + 1], weights[c : c + 1], norm, tie)
                features.append(Choice(c, values, cost))
        else:
            own, low, high, spacing = (float(v) for v in (x[c], lower[c], upper[c], step[c]))
            features.append(Range(c, own, low, high, spacing, count, float(weights[c])))
    for slot in layout.groups:
        part = slice(slot.start, slot.stop)
        own = x[part] * scale[part] + offset[part] > 0.5
        levels = np.r_[np.flatnonzero(own), np.flatnonzero(movable[part] & ~own)]
        if len(levels) > 1:
            values = np.where(np.arange(len(own)) == levels[:, None], upper[part], lower[part])
            cost = (
                _cost(values, values[0], weights[part], norm, tie)
                if percentiles is None
                else percentiles.costs(slot.start, values, values[0])
            )
            features.append(Choice(slot.start, values, cost))
    limits = (np.asarray(f.a), np.asarray(f.b[row]), active, layout, scale, offset)
    if percentiles is None:
        return Menu(x, features, *limits, norm, thinned=thinned, tie=tie)
    return Menu(x, features, *limits, "l1", largest=percentiles.cost == "max_percentile")


def _values(
    tails: Tails, column: int, lower: float, upper: float, step: float, count: int
) -> tuple[np.ndarray, bool]:
    """Values of a number that is measured by percentile, and whether these are all."""
    low, spacing = np.float32(lower), np.float32(step)
    if step > 0 and count <= MOST:
        return np.minimum(low + spacing * np.arange(count + 1, dtype=np.float32), np.float32(upper)), True
    i = tails.columns.index(column)
    ends = tails.one(i, np.array([lower, upper]))
    knots, heights = (np.asarray(part[i], np.float64) for part in (tails.knots, tails.heights))
    even = np.interp(np.linspace(ends[0], ends[1], MOST + 1), heights, knots)  # as far apart in what they cost
    values = np.r_[lower, even[(even > lower) & (even < upper)], upper].astype(np.float32)
    if step > 0:
        values = np.minimum(low + spacing * np.rint((values - low) / spacing), np.float32(upper))
    return np.unique(values), False


def _cost(values: np.ndarray, own: np.ndarray, weights: np.ndarray, norm: Norm, tie: float) -> np.ndarray:
    """What each option costs, in units that add up; of the largest change, the feature's own."""
    parts = np.abs(values.astype(np.float64) - own) * weights.astype(np.float64)
    if norm == "l2":
        return (parts**2).sum(axis=1)
    if norm == "linf":
        return parts.max(axis=1, initial=0.0)
    if norm == "l0":
        return (np.abs(values - own) > 1e-6) @ weights.astype(np.float64) + tie * parts.sum(axis=1)
    return parts.sum(axis=1)
