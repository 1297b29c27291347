"""A proof of `ExactSearch` under trees, followed box by box: from the schema's text and the libraries' own trees.

Shares no code with the search. Every feature is a list of options: values on a grid or levels, or, of a number
without a step, the cells between the edges of the trees. A box is a set of options for every feature. It holds
nothing of interest where its cheapest options cost no less than what was found, where a limit cannot be kept in
it, or where the best leaves in it, at less than that cost, do not add up to a yes. A proof is a tree of cuts whose
last boxes are all of that kind: together they are everything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.attack._checker import NUMBERS, Row, _level, allowed, grid, limit_of, term

Leaf = tuple[dict[str, tuple[float, float, bool]], float]
"""By feature the interval ``low < number <= high`` that leads there, whether a missing value does; its value."""
TOLERANCE = 1e-6  # of linear constraints
CLOSE = 1e-5  # of costs: a number without a step is put a little beyond an edge
ROUNDING, NEAR = 1e-6, 5e-7  # of encoded edges; below a value by so little, an edge lies on it
Box = dict[str, np.ndarray]


@dataclass
class Options:
    """What a feature may become: encoded ends, cost, what a model reads; values, of a cell last and first."""

    low: np.ndarray
    high: np.ndarray
    cost: np.ndarray
    number: np.ndarray
    values: list[Any]
    others: list[Any]
    step: float


class Replayer:
    """One person's options, limits and trees.

    Parameters
    ----------
    schema, row, restriction : as in `_checker.broken`.
    scale : by feature, the raw units of one encoded unit, and the raw value of an encoded 0.
    number : of a feature and a value, what the model reads.
    trees, need : leaves of every tree, and what they must add up to.
    """

    def __init__(
        self,
        schema: Mapping[str, Any],
        row: Row,
        restriction: Mapping[str, Any],
        scale: Mapping[str, tuple[float, float]],
        number: Callable[[str, Any], float],
        trees: list[list[Leaf]],
        need: float,
    ) -> None:
        self.schema, self.row, self.need = schema, row, need
        edges: dict[str, set[float]] = {}
        for name, path in ((name, path) for tree in trees for leaf, _ in tree for name, path in leaf.items()):
            edges.setdefault(name, set()).update(edge for edge in path[:2] if np.isfinite(edge))
        self.options = {f["name"]: self._options(f, restriction, scale, number, edges) for f in schema["features"]}
        self.trees = [[({n: self._leads(n, p) for n, p in leaf.items()}, v) for leaf, v in tree] for tree in trees]
        self.rows = [self._constraint(c) for c in schema.get("constraints", [])]
        self.clauses = [
            [{n: self._takes(n, levels) for n, levels in i.get(side, {}).items()} for side in ("when", "then")]
            for i in schema.get("implications", [])
            if all(_level(schema, n, row) in levels for n, levels in i.get("was", {}).items())
        ]

    def replay(self, proof: Mapping[str, Any]) -> str | None:
        """What is wrong with a proof; None where it holds."""
        self.limit = np.inf if proof["status"] == "INFEASIBLE" else proof["cost"] - CLOSE * (1 + proof["cost"])
        boxes, seen = proof["boxes"], 0
        left: list[tuple[int, Box]] = [(0, {n: np.ones(len(o.cost), bool) for n, o in self.options.items()})]
        while left:
            at, box = left.pop()
            cut, seen = boxes[at], seen + 1
            box = self._narrowed(box)
            if not cut:
                if not self._empty(box):
                    return f"box {at} may hold something cheaper"
                continue
            name, options = cut["feature"], self.options[cut["feature"]]
            if "edge" in cut:
                # What is missing is on neither side, and so on both; a cell lies between edges, but for rounding.
                edge, cell = cut["edge"] + NEAR, options.low < options.high
                below = ~(options.low > edge) & ~(cell & (options.low > edge - ROUNDING))
                parts = {"below": below, "above": ~(options.high <= edge + ROUNDING * cell)}
            else:
                feature = next(f for f in self.schema["features"] if f["name"] == name)
                same = np.array([_place(feature, v) == cut["level"] for v in options.values])
                parts = {"same": same, "other": ~same}
            left += [(cut[side], box | {name: box[name] & part}) for side, part in parts.items()]
        return None if seen == len(boxes) else "boxes that belong to nothing"

    def _empty(self, box: Box) -> bool:
        if not all(mask.any() for mask in box.values()):
            return True
        least = {n: float(self.options[n].cost[mask].min()) for n, mask in box.items()}
        total = sum(least.values())
        if total >= self.limit:
            return True
        for when, then in self.clauses:
            if all((~box[n] | m).all() for n, m in when.items()) and any(
                not (box[n] & m).any() for n, m in then.items()
            ):
                return True
        if any(sum(part[n][box[n]].min() for n in part) > bound for part, bound in self.rows):
            return True
        most = 0.0
        for tree in self.trees:
            best = -np.inf
            for path, value in tree:
                if value <= best:
                    continue
                cost = total
                for name, mask in path.items():
                    both = box[name] & mask
                    cost += (float(self.options[name].cost[both].min()) - least[name]) if both.any() else np.inf
                if cost < self.limit:
                    best = value
            most += best
        return most < self.need

    def _narrowed(self, box: Box) -> Box:
        """Without options that no row of the box can have under a linear constraint."""
        for _ in range(3 if self.rows else 0):
            for part, bound in self.rows:
                if not all(box[n].any() for n in part):
                    return box
                least = {n: part[n][box[n]].min() for n in part}
                total = sum(least.values())
                box = box | {n: box[n] & (part[n] + total - least[n] <= bound) for n in part}
        return box

    def _options(self, feature: Any, restriction: Any, scales: Any, number: Any, edges: Any) -> Options:
        name, own, weight = feature["name"], self.row[feature["name"]], feature.get("cost_weight", 1.0)
        limit, (scale, offset) = limit_of(restriction, feature), scales[name]
        if feature["kind"] == "numeric" and "step" not in feature:
            return self._cells(feature, limit, scale, offset, sorted(edges.get(name, ())))
        values = [own, *(v for v in grid(feature) if v != own and allowed(feature, own, v, limit))]
        at = np.array([_place(feature, v) for v in values], float)
        at = (at - offset) / scale if feature["kind"] in NUMBERS else at / scale
        cost = weight * np.nan_to_num(np.abs(at - at[0]))
        if feature["kind"] == "categorical":
            cost = weight * 2.0 / scale * (np.arange(len(values)) > 0)
        step = feature.get("step", 1.0) / scale
        return Options(at, at, cost, np.array([number(name, v) for v in values], float), values, values, step)

    def _cells(self, feature: Any, limit: Any, scale: float, offset: float, edges: list[float]) -> Options:
        """The person's own value, and the cells between edges that they may go to."""
        own, ways = self.row[feature["name"]], {feature.get("direction"), limit.get("direction")}
        given, own_limit = feature["bounds"], limit.get("bounds", feature["bounds"])
        low, high = max(given[0], own_limit[0]), min(given[1], own_limit[1])
        cells = [(np.nan, np.nan) if own is None else (own, own)]
        if own is not None and "fixed" not in ways:  # what is missing stays so
            low, high = max([low] + [own] * ("increase" in ways)), min([high] + [own] * ("decrease" in ways))
            cells += pairwise([low - 1e-9, *(e for e in edges if low <= e < high), high] if low <= high else [])
        first, last = (np.array([c[k] for c in cells], float) for k in (0, 1))
        near = np.clip(cells[0][0], np.minimum(np.maximum(first, low), last), last)
        cost = feature.get("cost_weight", 1.0) * np.nan_to_num(np.abs(near - cells[0][0])) / scale
        encoded = [(end - offset) / scale for end in (first, last)]
        return Options(*encoded, cost, last, [own, *last[1:].tolist()], [own, *first[1:].tolist()], 0.0)

    def _leads(self, name: str, path: tuple[float, float, bool]) -> np.ndarray:
        number = self.options[name].number.astype(np.float32)
        inside = (np.float32(path[0]) < number) & (number <= np.float32(path[1]))
        return np.where(np.isnan(number), path[2], inside)

    def _takes(self, name: str, levels: Any) -> np.ndarray:
        return np.array([_level(self.schema, name, {name: v}) in levels for v in self.options[name].values])

    def _constraint(self, constraint: Any) -> tuple[dict[str, np.ndarray], float]:
        parts: dict[str, np.ndarray] = {}
        for key, coefficient in constraint["coefficients"].items():
            name = next(
                f["name"] for f in self.schema["features"] if key == f["name"] or key.startswith(f["name"] + "=")
            )
            ends = (self.options[name].values, self.options[name].others)
            added = np.min(
                [[coefficient * term(self.schema, key, self.row | {name: v}) for v in e] for e in ends], 0
            )
            if constraint.get("on", "value") == "change":
                added = added - coefficient * term(self.schema, key, self.row)
            parts[name] = parts.get(name, 0.0) + added
        return parts, constraint["bound"] + TOLERANCE * (1 + abs(constraint["bound"]))


def _place(feature: Any, value: Any) -> float:
    """A number as it is; where a level stands, a missing one after all of them, unless it is a level itself."""
    if feature["kind"] in NUMBERS:
        return np.nan if value is None else float(value)
    levels, named = list(feature["levels"]), "(missing)" if value is None else value
    return levels.index(named) if named in levels else len(levels)
