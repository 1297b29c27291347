"""What the leaves of a tree ensemble must add up to for a decision: linear in their values, for every head."""

from dataclasses import dataclass

import numpy as np

from holdtrue.models import AbstractTrees, Boxes, Decision, TreesModel, TreesPanel
from holdtrue.models.adapters import Head
from holdtrue.search._solver import CLEARANCE

EXACT = 1e-4  # by how much sums over leaves and the model's own may differ, in logits


@dataclass(frozen=True)
class Needs:
    """The decision as sums that must not fall below 0: one for each class to be beaten, of each member of a panel.

    Attributes
    ----------
    leaf, tree, value : leaves in the order of the needs, the tree that each belongs to, counted anew for each
        need, and what it adds to it.
    need : which need each tree adds to.
    start : where each tree's leaves begin, and one past the last.
    first : where each need's leaves begin, and one past the last.
    rows, base : what a unit of each output adds to each need, and what it has before any tree is asked: below 0
        what is lacking.
    member : which member of a panel each need is of; 0 is the model itself.
    spared : how many members, but not the model, may be denied a need of theirs.
    """

    leaf: np.ndarray
    tree: np.ndarray
    value: np.ndarray
    need: np.ndarray
    start: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    base: np.ndarray
    member: np.ndarray
    spared: int

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.base)

    def met(self, sums: np.ndarray) -> np.ndarray:
        """Whether rows of sums, one for each need, are a yes."""
        short: np.ndarray = sums < 0
        if self.spared == 0:
            return np.asarray(~short.any(axis=1))
        own = short[:, self.member == 0].any(axis=1)
        starts = np.flatnonzero(np.diff(self.member, prepend=-1))[1:]  # of every guide's needs
        guides = np.logical_or.reduceat(short, starts, axis=1) if len(starts) else np.zeros((len(sums), 0), bool)
        return ~own & (guides.sum(axis=1) <= self.spared)


def needs_of(decision: Decision, boxes: Boxes, target: int) -> Needs:
    """What it takes that `decision`, of a tree ensemble or a panel of such, is `target`."""
    trees = decision.model
    assert isinstance(trees, AbstractTrees)
    n_outputs = len(boxes.base)
    members = [(trees, 0.0)]
    spared = 0
    if isinstance(trees, TreesPanel):
        slack = float(trees.slack)
        guides = trees.guides
        members = [(trees.model, max(slack, 0.0)), *((None, slack) for _ in range(guides.n_members))]
        factors = [float(trees.model.factor), *np.asarray(guides.factor, np.float64).tolist()]
        head, spared = trees.model.head, trees.spared
    else:
        assert isinstance(trees, TreesModel)
        factors, head = [float(trees.factor)], trees.head
    own = n_outputs // len(members)
    threshold = float(decision.threshold)
    parts, rows, base, member = [], [], [], []
    for index, ((_, slack), factor) in enumerate(zip(members, factors, strict=True)):
        beyond = CLEARANCE + EXACT + slack
        for weights, least in _rows(head, own, decision.n_classes, threshold, decision.favourable, target, beyond):
            row = np.zeros(n_outputs)
            row[index * own : (index + 1) * own] = weights * factor
            parts.append(_adds(boxes, row))
            rows.append(row)
            base.append(float(row @ boxes.base) - least)
            member.append(index)
    leaf = np.concatenate([p[0] for p in parts])
    need = np.repeat(np.arange(len(parts)), [len(p[0]) for p in parts])
    own_tree = np.concatenate([boxes.tree[p[0]] for p in parts])
    begins = np.flatnonzero(np.diff(own_tree + need * np.int64(len(boxes.output)), prepend=-1))
    return Needs(
        leaf=leaf,
        tree=np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(leaf)))),
        value=np.concatenate([p[1] for p in parts]),
        need=need[begins],
        start=np.append(begins, len(leaf)),
        first=np.searchsorted(need, np.arange(len(parts) + 1)),
        rows=np.stack(rows),
        base=np.array(base),
        member=np.array(member),
        spared=spared,
    )


def _adds(boxes: Boxes, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The leaves whose trees add to a weighted sum of the outputs, and what they add."""
    columns = np.arange(boxes.value.shape[1])
    weights = row[boxes.output[:, None] + columns]
    kept = np.flatnonzero((weights != 0).any(axis=1)[boxes.tree])
    return kept, (boxes.value[kept] * weights[boxes.tree[kept]]).sum(axis=1)


def _rows(
    head: Head, n_outputs: int, n_classes: int, threshold: float, favourable: int, target: int, beyond: float
) -> list[tuple[np.ndarray, float]]:
    """Weights of one model's sums, and the least that each weighted sum must be."""
    if n_classes == 2:
        level = float(np.log(threshold) - np.log1p(-threshold))
        least = (level if target == favourable else -level) + beyond  # of the log-odds of the target
        sign = 1.0 if target == 1 else -1.0
        share = 1.0 / (1.0 + np.exp(-least))
        if head == "binary":
            return [(np.array([sign]), least)]
        if head == "share":
            return [(np.array([sign]), share if target == 1 else share - 1.0)]
        if head == "softmax":
            return [(np.array([-sign, sign]), least)]
        return [(np.array([-share, 1.0 - share]) if target == 1 else np.array([1.0 - share, -share]), 0.0)]
    rows = []
    for other in range(n_classes):
        if other == target:
            continue
        weights = np.zeros(n_outputs)
        if head == "softmax":
            weights[[target, other]] = 1.0, -1.0
            rows.append((weights, beyond))
        else:
            ratio = 1.0 / (1.0 + np.exp(-beyond))
            weights[[target, other]] = 1.0 - ratio, -ratio
            rows.append((weights, 0.0))
    return rows
