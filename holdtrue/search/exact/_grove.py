"""A tree ensemble and a table of people as plain arrays, as compiled code takes them."""

from typing import NamedTuple

import numpy as np

from holdtrue.models import Boxes, Flat
from holdtrue.search._options import SAME, TINY
from holdtrue.search.exact._arrays import (
    Flags,
    Flags2,
    Reals,
    Reals2,
    Reals3,
    Short,
    Short2,
    Singles,
    Singles2,
    Whole,
    Whole2,
)
from holdtrue.search.exact._needs import Needs
from holdtrue.search.exact._room import Room

NORMS = {"l1": 0, "mad": 0, "l2": 1, "linf": 2, "l0": 3}


class Grove(NamedTuple):
    """Leaves and what they must add up to.

    A feature is a number or has levels; numbers come first. A condition is what a leaf asks of one feature: a
    number in ``(low, high]``, which leads there also when missing where it is `absent`, or a set of levels.

    Attributes
    ----------
    value, box : of leaves in the order of the needs, and in every tree of what they add, the most first: that, and
        which of the boxes each is.
    start, need : where each tree's leaves begin, and the need it adds to.
    first : where each need's trees begin.
    begin : where each box's conditions begin.
    slot, low, high, absent : of conditions; see above.
    same, n_same : of conditions, which of those that differ each is, and how many these are.
    low_edge, high_edge : which edge a bound is, below 0 where there is none; of levels, the set.
    edge, edge_first : distinct bounds, ascending, feature by feature.
    member, set_first : levels of every set, and where each feature's sets begin.
    nodes, threshold, roots, added, output, base : the trees themselves; see `Flat`.
    rows, before, member_of, lacking : what a unit of each output adds to each need, what it has before any tree,
        the member of a panel it is of, and what it lacks before any tree.
    """

    value: Reals
    box: Whole
    start: Whole
    need: Whole
    first: Whole
    begin: Whole
    slot: Short
    low: Singles
    high: Singles
    absent: Flags
    same: Short
    n_same: Whole
    low_edge: Short
    high_edge: Short
    edge: Singles
    edge_first: Whole
    member: Flags2
    set_first: Whole
    nodes: Short2
    threshold: Singles
    roots: Whole
    added: Reals2
    output: Whole
    base: Reals
    rows: Reals2
    before: Reals
    member_of: Whole
    lacking: Reals


class Timber(NamedTuple):
    """What of a `Grove` does not depend on a decision: the conditions of leaves, and the trees themselves."""

    begin: Whole
    slot: Short
    low: Singles
    high: Singles
    absent: Flags
    same: Short
    n_same: Whole
    low_edge: Short
    high_edge: Short
    edge: Singles
    edge_first: Whole
    member: Flags2
    set_first: Whole
    nodes: Short2
    threshold: Singles
    roots: Whole
    added: Reals2
    output: Whole
    base: Reals


def timber_of(flat: Flat, boxes: Boxes) -> Timber:
    """What every leaf asks of which features, one leaf after the other."""
    n, n_leaves = boxes.n_numbers, len(boxes.tree)
    parts, edges, edge_first, n_sets = [], [], [0], [0]
    for j in range(n):
        low, high, absent = boxes.low[j], boxes.high[j], boxes.absent[j]
        leaf = np.flatnonzero((low > -np.inf) | (high < np.inf) | ~absent)
        low, high = (np.where(low < high, part, np.inf)[leaf] for part in (low, high))  # only where it is missing
        both = np.concatenate([low, high])
        known = np.unique(both[np.isfinite(both)])
        ids = [
            np.where(np.isfinite(part), np.searchsorted(known, part) + edge_first[-1], -1) for part in (low, high)
        ]
        parts.append((leaf, np.full(len(leaf), j), low, high, absent[leaf], *ids))
        edges.append(known)
        edge_first.append(edge_first[-1] + len(known))
    widest = max((members.shape[1] for members in boxes.members), default=1)
    members = []
    for j, own in enumerate(boxes.members):
        leaf = np.flatnonzero(~np.asarray(own.all(axis=1))[boxes.sets[j]])
        none, which = np.zeros(len(leaf), np.float32), boxes.sets[j][leaf] + n_sets[-1]
        parts.append((leaf, np.full(len(leaf), n + j), none, none, np.ones(len(leaf), bool), which, which))
        members.append(np.pad(own, ((0, 0), (0, widest - own.shape[1]))))
        n_sets.append(n_sets[-1] + len(own))
    none = (np.zeros(0, int),) * 7
    leaf, slot, low, high, absent, low_edge, high_edge = (
        np.concatenate(part) for part in zip(none, *parts, strict=True)
    )
    order = np.argsort(leaf, kind="stable")
    n_ids, never = max(edge_first[-1], n_sets[-1]) + 1, (low == np.inf) & (slot < n)  # leads there when missing
    name = ((slot.astype(np.int64) * n_ids + low_edge + 1) * n_ids + high_edge + 1) * 4 + 2 * never + absent
    kinds, same = np.unique(name[order], return_inverse=True)
    return Timber(
        begin=np.searchsorted(leaf[order], np.arange(n_leaves + 1)).astype(np.int64),
        slot=slot[order].astype(np.int32),
        low=low[order].astype(np.float32),
        high=high[order].astype(np.float32),
        absent=absent[order].astype(np.uint8),
        same=same.astype(np.int32),
        n_same=np.array([len(kinds)], np.int64),
        low_edge=low_edge[order].astype(np.int32),
        high_edge=high_edge[order].astype(np.int32),
        edge=np.concatenate([np.zeros(0, np.float32), *edges]).astype(np.float32),
        edge_first=np.array(edge_first, np.int64),
        member=np.concatenate([np.zeros((0, widest), bool), *members]).astype(np.uint8),
        set_first=np.array(n_sets, np.int64),
        nodes=np.ascontiguousarray(flat.nodes, np.int32),
        threshold=flat.nodes[:, 1].astype(np.int32).view(np.float32),
        roots=np.asarray(flat.roots, np.int64),
        added=np.ascontiguousarray(flat.values, np.float64),
        output=np.asarray(flat.output, np.int64),
        base=np.asarray(flat.base, np.float64),
    )


def grove_of(timber: Timber, boxes: Boxes, needs: Needs) -> Grove:
    """Leaves and what a decision needs of them: in every tree those first that add most, since they are sought."""
    order = np.lexsort((-needs.value, needs.tree))
    return Grove(
        value=np.ascontiguousarray(needs.value[order], np.float64),
        box=needs.leaf[order].astype(np.int64),
        start=needs.start.astype(np.int64),
        need=needs.need.astype(np.int64),
        first=np.searchsorted(needs.need, np.arange(needs.n + 1)).astype(np.int64),
        **timber._asdict(),
        rows=np.ascontiguousarray(needs.rows, np.float64),
        before=needs.base - needs.rows @ boxes.base,
        member_of=needs.member.astype(np.int64),
        lacking=needs.base.astype(np.float64),
    )


class Ground(NamedTuple):
    """What is open to people; see `Room`, and for options `holdtrue.search`.

    Attributes
    ----------
    tail, knots, heights, slopes : which map measures each number, below 0 for none; and the maps.
    when, then : levels of both sides of every implication, by feature; a side that names no level of a feature
        has them all. `binds` says whom.
    change, place : what each level's change counts as an option, and where; numbers' places.
    options, same : changes that people have been offered, and from what share on a change is the same as these.
    rule : the norm, the most features that change, the most boxes, how many members may refuse.
    """

    own: Singles2
    missing: Flags2
    lower: Reals2
    upper: Reals2
    step: Reals2
    weight: Reals2
    free: Flags2
    price: Reals2
    level: Whole2
    spans: Whole
    tail: Whole
    knots: Reals2
    heights: Reals2
    slopes: Reals2
    rows_of_numbers: Reals2
    rows_of_levels: Reals2
    right: Reals2
    when: Flags2
    then: Flags2
    binds: Flags2
    change: Reals2
    place: Whole
    options: Reals3
    same: Reals
    rule: Whole


def ground_of(
    room: Room,
    *,
    max_changes: int,
    n_boxes: int,
    spared: int,
    options: tuple[np.ndarray, np.ndarray, np.ndarray] | None,
) -> Ground:
    """People as compiled code takes them; `options` has what was offered, what levels count, and where."""
    n_people, n = room.own.shape
    tail, tails = np.full(n, -1, np.int64), room.tails
    knots = heights = np.zeros((1, 2))
    if tails is not None:
        knots, heights = np.asarray(tails.knots, np.float64), np.asarray(tails.heights, np.float64)
        tail[list(tails.columns)] = np.arange(len(tails.columns))
    n_levels = int(room.spans[-1])
    when, then = (np.ones((len(room.clauses), n_levels), np.uint8) for _ in range(2))
    for i, (if_, so, _) in enumerate(room.clauses):
        for side, out in ((if_, when), (so, then)):
            for j, members in side.items():
                part = slice(room.spans[j], room.spans[j + 1])
                out[i, part] = members[part]
    binds = [active for _, _, active in room.clauses]
    offered, change, place = (
        (np.zeros((n_people, 0, 1)), np.zeros((n_people, n_levels)), np.zeros(n + room.n_levels, int))
        if options is None
        else options
    )
    return Ground(
        own=np.ascontiguousarray(room.own, np.float32),
        missing=np.ascontiguousarray(room.missing, np.uint8),
        lower=np.ascontiguousarray(room.lower, np.float64),
        upper=np.ascontiguousarray(room.upper, np.float64),
        step=np.ascontiguousarray(room.step, np.float64),
        weight=np.ascontiguousarray(room.weight, np.float64),
        free=np.ascontiguousarray(room.free, np.uint8),
        price=np.ascontiguousarray(room.price, np.float64),
        level=np.ascontiguousarray(room.level, np.int64),
        spans=np.asarray(room.spans, np.int64),
        tail=tail,
        knots=knots,
        heights=heights,
        slopes=np.diff(heights, axis=1) / np.diff(knots, axis=1) if tails is not None else np.zeros((1, 1)),
        rows_of_numbers=np.ascontiguousarray(room.rows_of_numbers, np.float64),
        rows_of_levels=np.ascontiguousarray(room.rows_of_levels, np.float64),
        right=np.ascontiguousarray(room.right, np.float64),
        when=when,
        then=then,
        binds=np.stack(binds, axis=1).astype(np.uint8) if binds else np.zeros((n_people, 0), np.uint8),
        change=np.ascontiguousarray(change, np.float64),
        place=np.asarray(place, np.int64),
        options=np.ascontiguousarray(offered, np.float64),
        same=np.array([SAME, TINY]),
        rule=np.array([NORMS[room.norm], max_changes, n_boxes, spared], np.int64),
    )
