"""One person's question to a linear model or a network, as an integer programme for HiGHS.

The row is what `Programme` makes of the person's menu. A unit that is on one side of its kink wherever the person
can go is linear; any other has a number of its own, and a binary that says on which side it is.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from holdtrue.search._integer_programme import Programme
from holdtrue.search._menu import Menu, Support
from holdtrue.search.exact._layers import Members
from holdtrue.search.exact._relaxed import Reach, Span, most_of, spans_of

TANGENTS = (0.1, 0.25, 0.5, 0.75, 1.0)  # of a range, where a square is touched by a line at first
ROUNDS = 30  # of lines added where the answer is
CLOSE = 1e-7  # by how much the lines may lie below the squares, of the cost
WIDER = 1e-6  # of a span that HiGHS must not cut into, by its own tolerance


@dataclass(frozen=True)
class Answer:
    """The best row that was found (None without one), and what every row costs at least: infinite for none at all.

    Costs are in units that add up.
    """

    x: np.ndarray | None
    bound: float
    n_nodes: int = 0


class Spans:
    """Bounds of all members' units within reach, and of their scores."""

    def __init__(self, members: Members, reach: Reach) -> None:
        self.members = members
        self.units: list[list[Span]] = [spans_of(member.hidden, reach) for member in members.each]
        self.most: list[np.ndarray] = []
        self.least: list[np.ndarray] = []
        for member, spans in zip(members.each, self.units, strict=True):
            self.most.append(most_of(member.hidden, spans, member.weight, member.bias, reach))
            self.least.append(-most_of(member.hidden, spans, -member.weight, -member.bias, reach))

    def hopeless(self, need: float) -> bool:
        """Whether no row within reach is accepted, whatever the units do together."""
        short = [bool((most < need).any()) for most in self.most]
        return short[0] or sum(short[1:]) > self.members.spared

    @property
    def n_open(self) -> int:
        """Units that may be on either side."""
        return sum(int(((low < 0) & (high > 0)).sum()) for spans in self.units for low, high in spans)


class _Rows:
    """Constraints over a known number of variables, gathered row by row."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.parts: list[np.ndarray] = []
        self.low: list[np.ndarray] = []
        self.high: list[np.ndarray] = []

    def add(self, rows: np.ndarray, low: Any, high: Any) -> None:
        rows = np.atleast_2d(rows)
        if len(rows):
            self.parts.append(rows)
            self.low.append(np.broadcast_to(np.asarray(low, np.float64), len(rows)))
            self.high.append(np.broadcast_to(np.asarray(high, np.float64), len(rows)))

    def terms(self, terms: dict[int, float], low: float, high: float) -> None:
        row = np.zeros(self.n)
        row[list(terms)] = list(terms.values())
        self.add(row, low, high)

    def together(self) -> LinearConstraint:
        parts: Any = csc_array(np.concatenate(self.parts))
        low: Any = np.concatenate(self.low)
        return LinearConstraint(parts, low, np.concatenate(self.high))  # pyright: ignore[reportArgumentType]


def solve(
    menu: Menu,
    members: Members,
    spans: Spans | None,
    need: float,
    *,
    inside: float,
    limit: float = np.inf,
    max_changes: int | None = None,
    barred: Collection[Support] = (),
    until: float = np.inf,
) -> Answer:
    """The cheapest row whose scores reach `need`, at less than a limit.

    Parameters
    ----------
    menu : Menu
    members : Members
    spans : Spans, optional
        Of the units, within the limit; not needed where none has hidden units and no guide may be spared.
    need : float
        What every score must be at least.
    inside : float
        How far inside linear constraints the row must stay; below 0, how far outside it may be.
    limit : float
        What the row may cost.
    max_changes : int, optional
        Features changed at most.
    barred : combinations of features that must not change together and alone.
    until : float
        When the time is over, by the monotonic clock.
    """
    p = Programme(menu, barred, counted=max_changes is not None)
    p.add_clauses(menu)
    if max_changes is not None:
        terms: dict[int, float] = {}
        for own, _ in p.moves.values():
            terms |= own
        p.rows.append((terms, -np.inf, max_changes - sum(constant for _, constant in p.moves.values())))
    if menu.norm == "linf":
        largest = p.variable(1.0, np.inf, False)
        for prices in p.prices.values():
            p.rows.append(({largest: 1.0} | {z: -cost for z, cost in prices.items()}, 0.0, np.inf))
        for up, down, f in p.lengths.values():
            p.rows.append(({largest: 1.0, up: -f.weight, down: -f.weight}, 0.0, np.inf))
    squares = []
    if menu.norm == "l2":
        for up, down, f in p.lengths.values():
            square = p.variable(1.0, np.inf, False)
            far = max(abs(f.upper - f.own), abs(f.own - f.lower))
            squares.append((up, down, square, f.weight))
            p.rows += [_tangent(up, down, square, f.weight, share * far) for share in TANGENTS]
    open_ = 0 if spans is None else spans.n_open
    first = len(p.cost)
    kept = len(members.each) - 1 if members.spared else 0
    for _ in range(open_):
        p.variable(0.0, np.inf, False)
    for _ in range(open_ + kept):
        p.variable(0.0, 1.0, True)
    rows = _assembled(p, menu, members, spans, need, inside, first, open_)
    if np.isfinite(limit):
        rows.add(np.array(p.cost), -np.inf, limit)
    return _answered(p, menu, rows, squares, until)


def _tangent(up: int, down: int, square: int, weight: float, at: float) -> tuple[dict[int, float], float, float]:
    """A square lies above the line that touches it."""
    slope = 2 * weight**2 * at
    return {square: 1.0, up: -slope, down: -slope}, -((weight * at) ** 2), np.inf


def _matrix(p: Programme, menu: Menu) -> np.ndarray:
    matrix = np.zeros((len(menu.x), len(p.cost)))
    for to, at, value in p.entries:
        matrix[to, at] += value
    return matrix


def _assembled(
    p: Programme, menu: Menu, members: Members, spans: Spans | None, need: float, inside: float, first: int,
    open_: int,
) -> _Rows:  # fmt: skip
    """All constraints: the menu's own, limits across features, units, and the scores."""
    n = len(p.cost)
    matrix, rows = _matrix(p, menu), _Rows(n)
    for terms, low, high in p.rows:
        rows.terms(terms, low, high)
    if len(menu.b):
        a = menu.a.astype(np.float64)
        rows.add(a @ matrix, -np.inf, menu.b.astype(np.float64) - inside - a @ p.base)
    at = first
    for i, member in enumerate(members.each):
        h, bias = matrix, p.base
        for k, layer in enumerate(member.hidden):
            assert spans is not None
            low, high = spans.units[i][k]
            z, shift = layer.weight @ h, layer.weight @ bias + layer.bias
            on = np.where(low >= 0, 1.0, layer.slope)
            h, bias = on[:, None] * z, on * shift
            for unit in np.flatnonzero((low < 0) & (high > 0)):
                # y = max(z, 0): no less than z, and no more than z or 0, by the side that the binary names.
                least, most = low[unit] - WIDER, high[unit] + WIDER
                y, side = at, at + open_
                own = -z[unit]
                own[y] = 1.0
                rows.add(own, shift[unit], np.inf)
                own = own.copy()
                own[side] = -least
                rows.add(own, -np.inf, shift[unit] - least)
                rows.terms({y: 1.0, side: -most}, -np.inf, 0.0)
                h[unit] = layer.slope * z[unit]
                h[unit, y] += 1.0 - layer.slope
                bias[unit] = layer.slope * shift[unit]
                at += 1
        scores, constant = member.weight @ h, member.weight @ bias + member.bias
        if members.spared and i > 0:
            assert spans is not None
            lacks = np.maximum(need - spans.least[i], 0.0) + WIDER  # what is forgiven to a guide that is spared
            scores = scores.copy()
            scores[:, first + 2 * open_ + i - 1] -= lacks
            constant = constant + lacks
        rows.add(scores, need - constant, np.inf)
    if members.spared:
        guides = range(first + 2 * open_, n)
        rows.terms(dict.fromkeys(guides, 1.0), len(guides) - members.spared, np.inf)
    return rows


def _answered(p: Programme, menu: Menu, rows: _Rows, squares: list[Any], until: float) -> Answer:
    """Ask HiGHS; again with further lines where squares are cut short."""
    cost, whole = np.array(p.cost), np.array(p.whole)
    if not len(cost):
        return Answer(None, np.inf)
    matrix, bound, nodes = _matrix(p, menu), 0.0, 0
    best: np.ndarray | None = None
    least = np.inf
    for _ in range(ROUNDS if squares else 1):
        found = _asked(cost, whole, p.upper, rows, until)
        if found.status == 2:
            return Answer(best, np.inf if best is None else bound, nodes)
        known = getattr(found, "mip_dual_bound", None)
        nodes += int(getattr(found, "mip_node_count", 0) or 0)
        if found.status == 0:
            known = found.fun if known is None else min(known, found.fun)
        if known is not None and np.isfinite(known):
            bound = max(bound, float(known))
        if found.x is None:
            return Answer(best, bound, nodes)
        z = np.where(whole > 0, np.rint(found.x), found.x)
        exact = float(cost @ z) + sum((w * (z[u] + z[d])) ** 2 - z[s] for u, d, s, w in squares)
        if exact < least:
            best, least = p.base + matrix @ z, exact
        if found.status != 0 or least - bound <= CLOSE * max(least, 1e-3):
            break
        for up, down, square, weight in squares:
            rows.terms(*_tangent(up, down, square, weight, float(z[up] + z[down])))
    return Answer(best, bound, nodes)


def _asked(cost: np.ndarray, whole: np.ndarray, upper: list[float], rows: _Rows, until: float) -> Any:
    """HiGHS's answer; what presolve cannot tell apart is asked without it."""
    box = Bounds(0.0, upper)  # pyright: ignore[reportArgumentType]
    limits = rows.together()
    for presolve in (True, False):
        options: dict[str, Any] = {"mip_rel_gap": 0.0, "presolve": presolve}
        if np.isfinite(until):
            options["time_limit"] = max(until - time.monotonic(), 1e-2)
        found = milp(cost, integrality=whole, bounds=box, constraints=limits, options=options)
        if found.status in (0, 1, 2):
            break
    return found
