"""Sums over the trees inside a composed model, of many rows: to the bit those of its own program."""

from dataclasses import dataclass

import numpy as np

from holdtrue.models import ComposedModel, Exact, Slots, TreesModel, rounded
from holdtrue.search.exact._arrays import Handed
from holdtrue.search.exact._program import loaded
from holdtrue.search.exact._wood import Asked, Wood

ROWS = 256  # that go down a tree together
MOST_COLUMNS = 512  # that nodes of one ensemble ask about


@dataclass(frozen=True)
class _Columns:
    """What nodes ask about, side by side; a leaf asks about nothing, which is last.

    Attributes
    ----------
    numbers : slot of each number, and whether it goes left where it is missing.
    levels : slot, and words of a set of levels that go left.
    """

    slots: Slots
    numbers: np.ndarray
    levels: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Values of rows: of numbers as they are, of levels 0 where they are in the set and 1 where not."""
        numbers, codes = slots_of(self.slots, rows)
        n = len(self.numbers)
        out = np.zeros((len(rows), n + len(self.levels) + 1), np.float32)
        # A missing number is at most any limit, or at most none.
        own = numbers[:, self.numbers[:, 0]]
        out[:, :n] = np.where(np.isnan(own) & (self.numbers[:, 1] == 1), np.float32(-np.inf), own)
        code = codes[:, self.levels[:, 0] - numbers.shape[1]]
        word = self.levels[np.arange(len(self.levels)), 1 + code // 32]
        out[:, n:-1] = (word >> (code % 32)) & 1 == 0
        return out


def slots_of(slots: Slots, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of rows (NaN where missing), and codes of their levels: what `Slots` gives, without filling up."""
    scale, offset = np.asarray(slots.scale), np.asarray(slots.offset)

    def said(columns: list[int]) -> np.ndarray:
        return rows[:, columns] * scale[columns] + offset[columns]

    at, flag = [a for a, _ in slots.numbers], [f for _, f in slots.numbers]
    missing = (np.array(flag, int) != np.array(at, int)) & (said(flag) > 0.5)
    numbers = np.where(missing, np.float32(np.nan), rows[:, at])
    at, flag = [a for a, _, _ in slots.positions], [f for _, f, _ in slots.positions]
    n_levels = np.array([n for _, _, n in slots.positions], np.int32)
    code = np.clip(np.rint(said(at)).astype(np.int32), 0, n_levels - 1)
    missing = (np.array(flag, int) != np.array(at, int)) & (said(flag) > 0.5)
    codes = [np.where(missing, n_levels, code)]
    codes += [said(list(range(a, b))).argmax(axis=1)[:, None].astype(np.int32) for a, b in slots.groups]
    return numbers, np.concatenate(codes, axis=1)


@dataclass(frozen=True)
class _Ensemble:
    """One ensemble, laid out."""

    trees: TreesModel
    columns: _Columns
    wood: Handed[Wood]

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """`TreesModel.sums` of rows."""
        leaf, n = self.trees.leaf, len(rows)
        exact = isinstance(leaf, Exact)
        n_outputs = leaf.high.shape[1] if isinstance(leaf, Exact) else leaf.base.shape[1]
        if self.trees.group is not None:
            n_outputs = 1 if self.trees.head == "binary" else self.trees.k
        fixed = np.zeros((n, n_outputs if exact else 0), np.int64)
        single = np.zeros((n, 0 if exact else n_outputs), np.float32)
        if not isinstance(leaf, Exact):
            single += np.asarray(leaf.base[0])
        node, who, at = np.zeros((3, min(n, ROWS)), np.int32)
        loaded().walk(self.wood, Handed(Asked(self.columns(rows), node, who, at, fixed, single)))
        if isinstance(leaf, Exact):
            high, low = (part.astype(np.int32) for part in (fixed >> leaf.bits, fixed & ((1 << leaf.bits) - 1)))
            return rounded(high, low, leaf.bits, np.asarray(leaf.unit))
        return single + np.asarray(leaf.base[1])


class Walks:
    """All ensembles in a composed model.

    Attributes
    ----------
    model : ComposedModel
    rest : the same without the trees' arrays.
    """

    def __init__(self, model: ComposedModel, ensembles: list[_Ensemble]) -> None:
        self.model, self.rest, self._ensembles = model, model.bare(), ensembles

    @classmethod
    def of(cls, model: object) -> "Walks | None":
        """Lay out a composed model's trees; None where it has none, or their nodes ask about too many things."""
        if not isinstance(model, ComposedModel):
            return None
        found = [_laid_out(trees) for trees in model.trees()]
        ensembles = [one for one in found if one is not None]
        return cls(model, ensembles) if ensembles and len(ensembles) == len(found) else None

    def sums(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of every ensemble, in the order of `ComposedModel.trees`."""
        return tuple(one.sums(rows) for one in self._ensembles)


def _laid_out(trees: TreesModel) -> _Ensemble | None:
    """Nodes in breadth, children side by side; None where they ask about too many things."""
    nodes, roots = np.asarray(trees.nodes), np.asarray(trees.roots)
    order, root, depth = _in_breadth(nodes, roots)
    place = np.zeros(len(nodes), np.int64)
    place[order] = np.arange(len(order))
    nodes = nodes[order]
    inner, limit = nodes[:, 2] != order, np.ascontiguousarray(nodes[:, 1]).view(np.float32).copy()
    n = len(trees.slots.numbers)
    is_number, words = inner & (nodes[:, 0] < n), nodes[:, 4:]
    numbers, of_number = np.unique(
        np.stack([nodes[is_number, 0], words[is_number, 0] & 1], axis=1), axis=0, return_inverse=True
    )
    is_level = inner & ~is_number
    levels, of_level = np.unique(
        np.concatenate([nodes[is_level, :1], words[is_level]], axis=1), axis=0, return_inverse=True
    )
    nothing = len(numbers) + len(levels)
    if nothing > MOST_COLUMNS:
        return None
    column = np.full(len(nodes), nothing)
    column[is_number], column[is_level] = of_number.ravel(), len(numbers) + of_level.ravel()
    limit[is_level], limit[~inner] = 0.5, np.inf
    leaf = trees.leaf
    fixed, single = np.zeros((len(nodes), 0), np.int64), np.zeros((len(nodes), 0), np.float32)
    if isinstance(leaf, Exact):
        fixed = (np.asarray(leaf.high, np.int64) << leaf.bits) + np.asarray(leaf.low)
        fixed = fixed[order]
    else:
        single = np.asarray(leaf.values)[order]
    output = np.zeros(len(roots), int) if trees.group is None else np.asarray(trees.group)
    columns = _Columns(trees.slots, numbers, levels)
    wood = Wood(column, limit, place[nodes[:, 2]], root, depth, output, fixed, single)
    return _Ensemble(trees, columns, Handed(wood))


def _in_breadth(nodes: np.ndarray, roots: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes tree by tree, level by level; where each tree begins, and how many levels lie below its root."""
    at, tree, depth = roots.astype(np.int64), np.arange(len(roots)), np.zeros(len(roots), np.int64)
    levels, trees = [at], [tree]
    while True:
        inner = nodes[at, 2] != at
        at, tree = at[inner], np.repeat(tree[inner], 2)
        if not len(at):
            break
        depth[tree] = len(levels)
        at = nodes[at, 2:4].ravel().astype(np.int64)
        levels.append(at)
        trees.append(tree)
    tree = np.concatenate(trees)
    by_tree = np.argsort(tree, kind="stable")
    return np.concatenate(levels)[by_tree], np.searchsorted(tree[by_tree], np.arange(len(roots))), depth
