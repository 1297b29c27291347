"""The general case of choosing from a menu: an integer programme, with limits across features."""

from collections.abc import Collection

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from holdtrue.encoding import Norm
from holdtrue.search._menu import Choice, Menu, Range, Support

LEAST = 0.01  # encoded units that a number without a step must move to count as changed, where that matters


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


def by_programme(
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
    limits = [_between(own, np.array([r[1] for r in p.rows]), np.array([r[2] for r in p.rows]))]
    if len(menu.b):
        limits.append(_between(menu.a @ matrix, -np.inf, menu.b - inside - menu.a @ p.base))
    cost = np.array(p.cost)
    if need is None:
        cost = -(rows.sum(axis=0) @ matrix)
    else:
        limits.append(_between(rows @ matrix, need - rows @ p.base, np.inf))
    options = {"mip_rel_gap": 0.0} | ({"time_limit": max(seconds, 1e-3)} if np.isfinite(seconds) else {})
    box = Bounds(0.0, p.upper)  # pyright: ignore[reportArgumentType]
    answer = milp(cost, integrality=p.whole, bounds=box, constraints=limits, options=options)
    if answer.status == 2:
        return None  # proven infeasible
    if answer.status != 0 or answer.x is None:
        raise TimeoutError(answer.message)
    z = np.where(np.array(p.whole) > 0, np.rint(answer.x), answer.x)
    return p.base + matrix @ z


def _between(matrix: np.ndarray, low: np.ndarray | float, high: np.ndarray | float) -> LinearConstraint:
    return LinearConstraint(matrix, low, high)  # pyright: ignore[reportArgumentType]  # its stubs know scalars only
