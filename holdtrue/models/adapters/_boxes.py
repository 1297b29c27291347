"""The leaves of a tree ensemble as boxes: which rows end where, for searches that reason about whole regions."""

import itertools
from dataclasses import dataclass

import numpy as np

from holdtrue.models.adapters._trees import AbstractTrees, Flat


@dataclass(frozen=True)
class Boxes:
    """Every leaf as a box over the features, in the model's own order of trees.

    Attributes
    ----------
    low, high : of a number, by feature and leaf: values in ``(low, high]``, in encoded units, lead there.
    absent : whether a missing number leads there.
    members : for each feature with levels, the distinct sets of levels that leaves ask for.
    sets : by feature with levels and leaf: which of the feature's `members` leads there.
    tree, value : tree of a leaf (ascending), and what it adds: one column, or one per class.
    output : first output that each tree adds to; a panel has outputs for every member.
    base : what is added once, per output.
    """

    low: np.ndarray
    high: np.ndarray
    absent: np.ndarray
    members: tuple[np.ndarray, ...]
    sets: np.ndarray
    tree: np.ndarray
    value: np.ndarray
    output: np.ndarray
    base: np.ndarray

    @property
    def n_numbers(self) -> int:
        """How many features are numbers; they come first."""
        return len(self.low)


def boxes_of(model: AbstractTrees) -> Boxes:
    """Every leaf of an ensemble that some row can reach, as a box."""
    flat = model.flat()
    nodes: np.ndarray = flat.nodes
    thresholds = nodes[:, 1].astype(np.int32).view(np.float32)
    n = len(flat.slots.numbers)
    counts = [k + 1 for _, _, k in flat.slots.positions] + [b - a for a, b in flat.slots.groups]
    spans = np.concatenate([[0], np.cumsum(counts)]).astype(int)

    at: np.ndarray = flat.roots
    tree: np.ndarray = np.arange(len(at))
    low = np.full((len(at), n), -np.inf, np.float32)
    high, absent = np.full_like(low, np.inf), np.ones((len(at), n), bool)
    listed = np.ones((len(at), spans[-1]), bool)
    found = []
    while len(at):
        leaf = nodes[at, 2] == at
        found.append([part[leaf] for part in (at, tree, low, high, absent, listed)])
        at, tree, low, high, absent, listed = (part[~leaf] for part in (at, tree, low, high, absent, listed))
        slot, words = nodes[at, 0], nodes[at, 4:].astype(np.int64)
        sides = []
        for goes_left in (True, False):
            down, up, gone, sets = low.copy(), high.copy(), absent.copy(), listed.copy()
            for j in range(n):
                rows = np.flatnonzero(slot == j)
                place = thresholds[at[rows]]
                if goes_left:
                    up[rows, j] = np.minimum(up[rows, j], place)
                else:
                    down[rows, j] = np.maximum(down[rows, j], place)
                gone[rows, j] &= ((words[rows, 0] & 1) == 1) == goes_left
            for j, (first, last) in enumerate(itertools.pairwise(spans)):
                rows = np.flatnonzero(slot == n + j)
                code = np.arange(last - first)
                bits = (words[rows][:, code // 32] >> (code % 32)) & 1 == 1
                sets[rows, first:last] &= bits == goes_left
            sides.append((nodes[at, 2 if goes_left else 3], tree, down, up, gone, sets))
        at, tree, low, high, absent, listed = (np.concatenate(part) for part in zip(*sides, strict=True))
    at, tree, low, high, absent, listed = (np.concatenate(part) for part in zip(*found, strict=True))
    reached = ((low < high) | absent).all(axis=1)
    for first, last in itertools.pairwise(spans):
        reached &= listed[:, first:last].any(axis=1)
    kept = np.flatnonzero(reached)
    kept = kept[np.argsort(tree[kept], kind="stable")]
    return _assembled(flat, spans, *(part[kept] for part in (at, tree, low, high, absent, listed)))


def _assembled(
    flat: Flat,
    spans: np.ndarray,
    at: np.ndarray,
    tree: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    absent: np.ndarray,
    listed: np.ndarray,
) -> Boxes:
    members, sets = [], np.zeros((len(spans) - 1, len(at)), np.int32)
    for j, (first, last) in enumerate(itertools.pairwise(spans)):
        distinct, which = np.unique(listed[:, first:last], axis=0, return_inverse=True)
        members.append(distinct)
        sets[j] = which.ravel()
    return Boxes(
        low=np.ascontiguousarray(low.T),
        high=np.ascontiguousarray(high.T),
        absent=np.ascontiguousarray(absent.T),
        members=tuple(members),
        sets=sets,
        tree=tree.astype(np.int32),
        value=flat.values[at].astype(np.float64),
        output=np.asarray(flat.output),
        base=np.asarray(flat.base, np.float64),
    )
