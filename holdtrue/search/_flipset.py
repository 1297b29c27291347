"""Cheapest action under linear scores: an integer programme over what one person may change. Runs on the host."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from holdtrue.encoding import FeasibleSets, Layout, Norm, Tails
from holdtrue.search._knapsack import choose
from holdtrue.search._percentile import Percentiles

MOST = 300  # values of a number that is measured by percentile, beyond which its grid is thinned
FEW = 16  # grid points up to which each is an option of its own; beyond, an integer counts steps
INSIDE = 3e-6  # how far inside a linear constraint a proposal stays, so that float32 does not push it out
OUTSIDE = 2e-6  # how far outside a point is let in at first, so that float32 does not shut out one on the edge
SAME = 1e-4  # encoded units: two points this near to each other are one, where no grid tells them apart
TIE = 1e-4  # cost of distance in l0: among actions of as many features, the shortest
LEAST = 0.01  # encoded units that a number without a step must move to count as changed, where that matters

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


def cheapest(
    menu: Menu,
    rows: np.ndarray,
    need: np.ndarray,
    *,
    inside: float = INSIDE,
    seconds: float = np.inf,
    barred: Collection[Support] = (),
) -> np.ndarray | None:
    """Cheapest point with ``rows @ x >= need``, or None where there is none.

    Parameters
    ----------
    rows, need : linear scores, one per class to beat.
    inside : how far inside linear constraints the point must stay; negative asks a weaker question, whose "no"
        is a proof.
    seconds : time limit of the integer programme.
    barred : combinations of features that the point must not change, each as a whole.

    Raises
    ------
    TimeoutError
        Where the integer programme ended without an answer either way.
    """
    if menu.largest:
        return _least_largest(menu, rows, need, inside, seconds, barred)
    if len(need) == 1 and menu.separable and not barred:
        try:
            return _by_knapsack(menu, rows[0].astype(np.float64), float(need[0]))
        except OverflowError:
            pass
    return _by_programme(menu, rows, need, inside, seconds, barred)


def proposal(
    menu: Menu,
    rows: np.ndarray,
    need: np.ndarray,
    *,
    seconds: float = np.inf,
    barred: Collection[Support] = (),
) -> tuple[np.ndarray | None, bool]:
    """`cheapest`, with points on the edge of a linear constraint; and whether nothing cheaper can exist.

    Single precision puts a point that lies on an edge on either side of it. So it is asked a little beyond first,
    which is a proof where the answer lies on the edge or inside; where it does not, a little inside.
    """
    found = cheapest(menu, rows, need, inside=-OUTSIDE, seconds=seconds, barred=barred)
    if found is None or _inside(menu, found):
        return found, found is not None
    safe = cheapest(menu, rows, need, inside=INSIDE, seconds=seconds, barred=barred)
    return safe, safe is not None and bool(np.abs(safe - found).max() <= SAME)


def _inside(menu: Menu, x: np.ndarray) -> bool:
    """Whether a point keeps the linear constraints, as far as single precision can tell."""
    a, b = menu.a.astype(np.float64), menu.b.astype(np.float64)
    x = x.astype(np.float64)
    return bool((a @ x <= b + 1e-7 + 3e-7 * (np.abs(a) @ np.abs(x) + np.abs(b))).all())


def options(
    menu: Menu, rows: np.ndarray, need: np.ndarray, n: int, *, seconds: float = np.inf
) -> Iterator[np.ndarray]:
    """Up to `n` cheapest points, by rising cost, each changing another combination of features."""
    barred: list[Support] = []
    while len(barred) < n:
        found, _ = proposal(menu, rows, need, seconds=seconds, barred=barred)
        if found is None:
            return
        barred.append(support(menu, found))
        yield found


def support(menu: Menu, x: np.ndarray) -> Support:
    """Features that a point changes."""
    moved = np.abs(x - menu.x) > 1e-6
    widths = {f.start: f.values.shape[1] if isinstance(f, Choice) else 1 for f in menu.features}
    return frozenset(start for start, width in widths.items() if moved[start : start + width].any())


def _least_largest(
    menu: Menu, rows: np.ndarray, need: np.ndarray, inside: float, seconds: float, barred: Collection[Support]
) -> np.ndarray | None:
    """Least possible cost of the dearest feature, by halving among the costs there are; then the least sum."""

    def within(level: float) -> np.ndarray | None:
        kept = []
        for f in menu.features:
            if not isinstance(f, Choice):
                raise TypeError("The cost of a range has no levels.")
            few = np.flatnonzero(f.cost <= level + 1e-12)
            kept.append(Choice(f.start, f.values[few], f.cost[few]))
        small = replace(menu, features=kept, largest=False)
        return cheapest(small, rows, need, inside=inside, seconds=seconds, barred=barred)

    levels = np.unique(np.concatenate([f.cost for f in menu.features if isinstance(f, Choice)]))
    best, low, high = within(levels[-1]), -1, len(levels) - 1
    while best is not None and high - low > 1:
        middle = (low + high) // 2
        found = within(levels[middle])
        best, low, high = (best, middle, high) if found is None else (found, low, middle)
    return best


def highest(menu: Menu, rows: np.ndarray, *, seconds: float = np.inf) -> np.ndarray | None:
    """Point with the highest sum of scores, whatever it costs; None where limits across features leave none."""
    if menu.separable:
        x, w = menu.x.copy(), rows.sum(axis=0)
        for f in menu.features:
            if isinstance(f, Choice):
                width = f.values.shape[1]
                x[f.start : f.start + width] = f.values[np.argmax(f.values @ w[f.start : f.start + width])]
            else:
                ends = np.array([f.own, f.lower, f.upper])
                x[f.start] = ends[np.argmax(ends * w[f.start])]
        return x
    return _by_programme(menu, rows, None, INSIDE, seconds, ())


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


# ---- one score, no limits across features --------------------------------------------------------------


def _by_knapsack(menu: Menu, w: np.ndarray, need: float) -> np.ndarray | None:
    need = need - float(w @ menu.x)
    options, slopes, room = [], [], []
    discrete: list[tuple[Any, np.ndarray]] = []
    smooth: list[tuple[Range, float]] = []
    for f in menu.features:
        if isinstance(f, Choice):
            part = slice(f.start, f.start + f.values.shape[1])
            options.append((f.cost, (f.values.astype(np.float64) - menu.x[part]) @ w[part]))
            discrete.append((f, f.values))
            continue
        slope = w[f.start]
        if slope == 0:
            continue
        end = f.upper if slope > 0 else f.lower
        if f.step == 0:
            slopes.append(f.weight / abs(slope))
            room.append(abs(slope) * abs(end - f.own))
            smooth.append((f, float(np.sign(slope))))
            continue
        # Steps towards the better end, as far as anyone could need to go.
        far = f.own + need / slope
        first, last = (f.own, min(end, far)) if slope > 0 else (max(end, far), f.own)
        low = np.clip(np.floor((first - f.lower) / f.step) - 1, 0, f.count)
        high = np.clip(np.ceil((last - f.lower) / f.step) + 1, 0, f.count)
        grid = np.arange(low, high + 1, dtype=np.float32) * np.float32(f.step) + np.float32(f.lower)
        values = np.r_[np.float32(f.own), np.minimum(grid, np.float32(f.upper))][:, None]
        options.append((np.abs(values[:, 0] - f.own) * f.weight, (values[:, 0] - f.own) * slope))
        discrete.append((f, values))
    chosen = choose(options, np.array(slopes), np.array(room), need)
    if chosen is None:
        return None
    x = menu.x.copy()
    for (f, values), k in zip(discrete, chosen[0], strict=True):
        x[f.start : f.start + values.shape[1]] = values[k]
    for (f, sign), gain in zip(smooth, chosen[1], strict=True):
        if gain > 0:
            x[f.start] = np.clip(f.own + sign * gain / abs(w[f.start]), f.lower, f.upper)
    return x


# ---- the general case: an integer programme ------------------------------------------------------------


class Programme:
    """Variables `z` with ``x = base + matrix @ z``, gathered feature by feature."""

    def __init__(self, menu: Menu, barred: Collection[Support] = (), *, counted: bool = False) -> None:
        self.tie, self.counted = menu.tie, counted
        self.base = menu.x.astype(np.float64)
        self.cost: list[float] = []
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.entries: list[tuple[int, int, float]] = []  # of the matrix
        self.rows: list[tuple[dict[int, float], float, float]] = []
        self.level: dict[int, tuple[int, np.ndarray]] = {}  # first column: first binary and encoded values
        self.moves: dict[int, tuple[dict[int, float], float]] = {}  # terms and constant of "it changes"
        self.prices: dict[int, dict[int, float]] = {}  # what each feature costs, where costs do not add up
        self.lengths: dict[int, tuple[int, int, Range]] = {}  # how far up and down a range goes
        for f in menu.features:
            if isinstance(f, Choice):
                self._choice(f, menu.norm)
            elif barred:
                self._either_way(f, menu.norm)
            else:
                self._range(f, menu.norm)
        for combination in barred:
            self._bar(combination)

    def variable(self, cost: float, upper: float, whole: bool) -> int:
        self.cost.append(cost)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return len(self.cost) - 1

    def _choice(self, f: Choice, norm: Norm) -> None:
        first = len(self.cost)
        self.base[f.start : f.start + f.values.shape[1]] = 0.0
        for cost, value in zip(f.cost, f.values, strict=True):
            z = self.variable(0.0 if norm == "linf" else cost, 1.0, True)
            self.entries += [(f.start + j, z, float(v)) for j, v in enumerate(value) if v != 0]
        self.prices[f.start] = {first + k: float(cost) for k, cost in enumerate(f.cost)}
        self.rows.append(({first + k: 1.0 for k in range(len(f.cost))}, 1.0, 1.0))
        self.level[f.start] = (first, f.values)
        self.moves[f.start] = ({first: -1.0}, 1.0)

    def _bar(self, combination: Support) -> None:
        """At least one feature of the combination stays, or another changes."""
        if not combination <= self.moves.keys():
            return  # one of them cannot change at all
        row: dict[int, float] = {}
        least = 1.0
        for start, (terms, constant) in self.moves.items():
            sign = -1.0 if start in combination else 1.0
            row |= {z: sign * v for z, v in terms.items()}
            least -= sign * constant + (start in combination)
        self.rows.append((row, least, np.inf))

    def _either_way(self, f: Range, norm: Norm) -> None:
        """A range with binaries for going up and down, so that leaving without moving is impossible."""
        price, fixed = (self.tie * f.weight, f.weight) if norm == "l0" else (f.weight, 0.0)
        unit = f.step if f.step > 0 else 1.0
        going: dict[int, float] = {}
        for sign, end in ((1.0, f.upper), (-1.0, f.lower)):
            first = max(f.own + LEAST, f.lower) if sign > 0 else min(f.own - LEAST, f.upper)
            if f.step > 0:
                k = (f.own - f.lower) / f.step
                k = np.floor(k + 0.25) + 1 if sign > 0 else np.ceil(k - 0.25) - 1
                first = f.lower + f.step * float(np.clip(k, 0, f.count))
            if sign * (first - f.own) <= 0 or sign * (end - first) < -1e-9:
                continue
            room = sign * (end - first) / unit
            go = self.variable(fixed + price * sign * (first - f.own), 1.0, True)
            more = self.variable(price * unit, np.rint(room) if f.step > 0 else room, f.step > 0)
            self.entries += [(f.start, go, first - f.own), (f.start, more, sign * unit)]
            self.rows.append(({more: 1.0, go: -max(room, 0.0)}, -np.inf, 1e-9))
            going[go] = 1.0
        if going:
            self.rows.append((going, 0.0, 1.0))
            self.moves[f.start] = (going, 0.0)

    def _range(self, f: Range, norm: Norm) -> None:
        self.base[f.start] = f.lower
        size = f.count if f.step > 0 else f.upper - f.lower
        unit = f.step if f.step > 0 else 1.0
        price = {"l0": self.tie * f.weight, "l2": 0.0, "linf": 0.0}.get(norm, f.weight)
        steps = self.variable(0.0, size, f.step > 0)
        up, down = self.variable(price, np.inf, False), self.variable(price, np.inf, False)
        self.lengths[f.start] = (up, down, f)
        self.entries.append((f.start, steps, unit))
        change = {steps: unit, up: -1.0, down: 1.0}
        if norm == "l0" or f.must_choose or self.counted:
            # Leaving costs something in l0; staying is 1 - leaving.
            leave = self.variable(f.weight if norm == "l0" else 0.0, 1.0, True)
            self.base[f.start] = f.own
            self.entries.append((f.start, leave, f.lower - f.own))
            self.rows.append(({steps: 1.0, leave: -float(size)}, -np.inf, 0.0))
            self.rows.append((change | {leave: f.lower - f.own}, 0.0, 0.0))
            self.moves[f.start] = ({leave: 1.0}, 0.0)
        else:
            self.rows.append((change, f.own - f.lower, f.own - f.lower))

    def add_clauses(self, menu: Menu) -> None:
        """Implications, over the binaries that say which level is taken."""
        for clause, on in zip(menu.layout.clauses, menu.active, strict=True):
            if not on:
                continue
            whens = [self._taken(menu, part) for part in clause.when]
            for part in clause.then:
                terms, constant = self._taken(menu, part)
                row = dict(terms)
                for when, _ in whens:
                    for z, v in when.items():
                        row[z] = row.get(z, 0.0) - v
                # then >= sum(when) - (number of them - 1)
                least = sum(c for _, c in whens) - (len(whens) - 1) - constant
                self.rows.append((row, least, np.inf))

    def _taken(self, menu: Menu, part: tuple[int, tuple[int, ...]]) -> tuple[dict[int, float], float]:
        """Terms and constant of "this feature takes one of these levels"."""
        index, positions = part
        slot = menu.layout.slots[index]
        at = slice(slot.start, slot.stop)
        first, values = self.level.get(slot.start, (0, menu.x[at][None]))
        raw = values * menu.scale[at] + menu.offset[at]
        codes = np.rint(raw[:, 0]) if index < len(menu.layout.numbers) else raw.argmax(axis=1)
        hits = np.isin(codes, positions)
        if slot.start not in self.level:
            return {}, float(hits[0])
        return {first + int(k): 1.0 for k in np.flatnonzero(hits)}, 0.0


def _by_programme(
    menu: Menu,
    rows: np.ndarray,
    need: np.ndarray | None,
    inside: float,
    seconds: float,
    barred: Collection[Support],
) -> np.ndarray | None:
    p = Programme(menu, barred)
    p.add_clauses(menu)
    n, d = len(p.cost), len(menu.x)
    if n == 0:
        return None
    to, at, values = (np.array(part) for part in zip(*p.entries, strict=True)) if p.entries else ([], [], [])
    matrix = coo_array((values, (to, at)), shape=(d, n)).toarray()
    own = np.zeros((len(p.rows), n))
    for i, (terms, _, _) in enumerate(p.rows):
        own[i, list(terms)] = list(terms.values())
    # scipy's stubs know scalar bounds only.
    limits: list[Any] = [LinearConstraint(own, [r[1] for r in p.rows], [r[2] for r in p.rows])]  # pyright: ignore[reportArgumentType]
    if len(menu.b):
        limits.append(LinearConstraint(menu.a @ matrix, -np.inf, menu.b - inside - menu.a @ p.base))  # pyright: ignore[reportArgumentType]
    cost = np.array(p.cost)
    if need is None:
        cost = -(rows.sum(axis=0) @ matrix)
    else:
        limits.append(LinearConstraint(rows @ matrix, need - rows @ p.base, np.inf))  # pyright: ignore[reportArgumentType]
    options = {"mip_rel_gap": 0.0} | ({"time_limit": max(seconds, 1e-3)} if np.isfinite(seconds) else {})
    box = Bounds(0.0, p.upper)  # pyright: ignore[reportArgumentType]
    answer = milp(cost, integrality=p.whole, bounds=box, constraints=limits, options=options)
    if answer.status == 2:
        return None  # proven infeasible
    if answer.status != 0 or answer.x is None:
        raise TimeoutError(answer.message)
    z = np.where(np.array(p.whole) > 0, np.rint(answer.x), answer.x)
    return p.base + matrix @ z
