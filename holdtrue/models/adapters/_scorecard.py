"""A linear model of bins and levels is a scorecard: points for each feature's value, added up.

Points that stay the same between two edges are a tree of one feature, so that a scorecard is an ensemble with a
tree for each feature, and searched as one: by reasoning, with a proof.
"""

import numpy as np

from holdtrue._types import Estimator
from holdtrue.models.adapters._columns import Column, Levels, NotUnderstood, Number
from holdtrue.models.adapters._curves import Bins
from holdtrue.models.adapters._dense import dense_layers
from holdtrue.models.adapters._grow import Comparison, Sums, Tree

Read = tuple[list[Tree], list[Column], Comparison, Sums]


def is_scorecard(columns: list[Column]) -> bool:
    """Whether every column stays the same within a bin or a level, and some number is binned."""
    binned = [isinstance(c, Number) and c.curve is not None and isinstance(c.curve[1], Bins) for c in columns]
    return any(binned) and all(b or isinstance(c, Levels) for b, c in zip(binned, columns, strict=True))


def scorecard(estimator: Estimator, name: str, columns: list[Column]) -> Read:
    """Read a linear model of bins and levels as trees, one for each feature and output."""
    ((weight, bias),), head, k = dense_layers(estimator, name)
    if head == "one_vs_rest":
        raise NotUnderstood("a scorecard for each class against the rest")
    names = list(dict.fromkeys(column.name for column in columns))
    sources: list[Column] = []
    trees: list[Tree] = []
    for place, feature in enumerate(names):
        own = [i for i, column in enumerate(columns) if column.name == feature]
        source, edges, points, absent = _points([columns[i] for i in own], weight[:, own])
        sources.append(source)
        trees += [_tree(place, edges, row, absent[group], group) for group, row in enumerate(points)]
    sums = Sums("binary" if head == "binary" else "softmax", k, np.asarray(bias, np.float64))
    return trees, sources, Comparison(strict=True, single=False), sums


def _points(columns: list[Column], weight: np.ndarray) -> tuple[Column, np.ndarray, np.ndarray, np.ndarray]:
    """What a feature's trees read, its edges, and each output's points: of every piece, of a missing number."""
    first = columns[0]
    if isinstance(first, Levels):
        values = np.stack([c.numbers() for c in columns if isinstance(c, Levels)])
        if len(values) < len(columns) or not np.isfinite(values).all():
            raise NotUnderstood(f"points of {first.name!r}, some of which are missing")
        codes = np.arange(values.shape[1], dtype=float)
        points = weight @ values
        return Levels(first.name, codes), codes[1:] - 0.5, points, points[:, -1]
    parts = [c.curve for c in columns if isinstance(c, Number)]
    bends = [part for part in parts if part is not None]
    before = bends[0][0]
    if len(bends) < len(columns) or any(part[0].ops != before.ops for part in bends):
        raise NotUnderstood(f"bins of {first.name!r} that are made in different ways")
    edges = np.unique(np.concatenate([part[1].edges for part in bends]))  # type: ignore[attr-defined]
    # One value of each piece: below the first edge, then at every edge.
    inside = np.concatenate([[-np.inf], edges])
    values = np.stack([after.value(curve(inside)) for _, curve, after in bends])
    points = weight @ values
    if not np.isnan(before.missing):  # filled in before it is binned: a number like others
        return before, edges, points, points[:, -1]
    return before, edges, points, weight @ np.array([c.missing for c in columns if isinstance(c, Number)])


def _tree(column: int, edges: np.ndarray, points: np.ndarray, absent: float, group: int) -> Tree:
    """A balanced tree over the pieces; a missing number goes to the last, or has a leaf of its own."""
    at, threshold, left, right, value = [], [], [], [], []

    def make(low: int, high: int) -> int:
        node = len(at)
        for part, start in ((at, column), (threshold, 0.0), (left, -1), (right, -1), (value, 0.0)):
            part.append(start)
        if low == high:
            value[node] = points[low]
            return node
        middle = (low + high + 1) // 2
        threshold[node] = edges[middle - 1]
        left[node] = make(low, middle - 1)
        right[node] = make(middle, high)
        return node

    apart = absent != points[-1]
    if apart:  # no number is below all numbers: only what is missing goes left
        for part, start in ((at, column), (threshold, -np.inf), (left, 1), (right, 2), (value, 0.0)):
            part.append(start)
        for part, start in ((at, column), (threshold, 0.0), (left, -1), (right, -1), (value, absent)):
            part.append(start)
    make(0, len(edges))
    default_left = np.arange(len(at)) < int(apart)
    parts = (np.asarray(part) for part in (at, threshold, left, right))
    values = np.asarray(value, np.float64)[:, None]
    return Tree(*parts, default_left=default_left, value=values, group=group)
