"""Where a worker keeps what it has of one person: made once, and used for one after the other."""

from typing import NamedTuple

import numpy as np

from holdtrue.search.exact._arrays import Flags, Flags2, Reals, Reals2, Short, Singles, Singles2, Whole, Whole2
from holdtrue.search.exact._grove import Ground, Grove

# Places in `Desk.number`.
BEST, AT_MOST, LEAST, REACH, LEFT, LIMIT = range(6)
# Places in `Desk.tally`.
(
    LEAVES, TREES, NEEDS, LOOKED, COLUMNS, FOUND, STEPS, SHORT, FULL, BOXES, NODES, BEGUN, LAST, TURN, QUOTA,
    DEPTH, LEADS,
) = range(17)  # fmt: skip
COLUMN = 10  # bits of a leaf's state below its column
ONE_OFF = 1 << COLUMN
SHARES = (1.0, 0.5, 0.25, 0.125, 0.03)  # of what is lacking, that a change of a dive must bring: long and short
BEAM = 12  # dives of one person that go on
MORE = 4  # times as large, where something is too small


class Desk(NamedTuple):
    """Leaves within reach of a person, tree by tree, of the needs that take part; boxes; and paper to reckon on.

    A column is a feature that the person can change and that some leaf asks about.

    Attributes
    ----------
    leaf, value, cost, state : of leaves: the leaf, what it adds, what it costs at least to be there, and how many
        columns keep the person from it (modulo `ONE_OFF`), with their numbers added up (above that).
    first, last : of leaves: where their conditions begin, and end.
    low, high, entry : by column and leaf: the interval that leads there, or the set of levels (in `low`), and what
        the column costs at least there.
    start, need : where each tree's leaves begin, and which need it adds to.
    base, active, every, asked : what the person has of each need in every box: before any tree, and from trees
        with one leaf in reach; which needs take part; that all do; and those that do, in the order of joining.
    column, slot : the column of each feature, below 0 for none; the feature of each column.
    paid, enter, entries : what each edge costs; the same where it may be crossed; and what each set costs.
    condition : what each condition costs at least, below 0 where that has not been asked for.
    leaf_cost : what it costs at least to be in each leaf of the model itself.
    point, level : the best point.
    number, tally : single values, by the names above.
    stop : not 0 when the time is over.
    seen_cost, seen_state : of leaves, from where a box begins.
    set_hit, set_out : which sets a box meets, and which its point is not in.
    tree_most, tree_best, tree_now : the most that a tree adds in a box, the leaf that does, and what it adds at
        the box's point.
    now, most, sums : these added up for every need, and what a point has of all.
    head, event_next, event_need, event_gain : changes of the sums at edges, chained.
    gain, gains : the same by need and level, and at one edge.
    spared : what the guides lack that lack most and may be denied.
    weight, touched : what lies beyond each edge, and which edges were met.
    step_slot, step_edge, step_rises, step_extra, step_share : single changes of a box's point: the feature, the
        edge or level, its side, what it costs more, and how much of what is lacking it brings.
    box_low, box_high, box_levels : boxes; numbers lie in ``(low, high]``.
    box_cost, box_hope, box_node : what their cheapest points cost, how far they may be from a yes, their number.
    box_rest, box_share : of dives: what is left of what was lacking, and the share of theirs.
    heap, free : boxes that wait, the cheapest first; and places for others.
    values, levels, going : points, and dives that go on.
    least, largest, spare, adds : what numbers and constraints leave each other.
    change : of a point, feature by feature.
    made, edges : how boxes were cut.
    """

    leaf: Whole
    value: Reals
    cost: Singles
    state: Short
    first: Whole
    last: Whole
    low: Singles2
    high: Singles2
    entry: Singles2
    start: Whole
    need: Whole
    base: Reals
    active: Flags
    every: Flags
    asked: Whole
    column: Whole
    slot: Whole
    paid: Reals
    enter: Reals
    entries: Reals
    condition: Reals
    point: Singles
    level: Whole
    number: Reals
    tally: Whole
    stop: Whole
    seen_cost: Singles
    seen_state: Short
    set_hit: Short
    set_out: Short
    tree_most: Reals
    tree_best: Whole
    tree_now: Reals
    now: Reals
    most: Reals
    sums: Reals
    outputs: Reals
    leaf_cost: Reals
    head: Short
    event_next: Short
    event_need: Short
    event_gain: Reals
    gain: Reals2
    gains: Reals
    spared: Reals
    weight: Reals
    touched: Whole
    step_slot: Whole
    step_edge: Reals
    step_rises: Flags
    step_extra: Reals
    step_share: Reals
    box_low: Singles2
    box_high: Singles2
    box_levels: Flags2
    box_cost: Reals
    box_hope: Reals
    box_node: Whole
    box_rest: Reals
    box_share: Reals
    heap: Whole
    free: Whole
    values: Singles2
    levels: Whole2
    going: Whole
    least: Reals
    largest: Reals
    spare: Reals
    adds: Reals2
    change: Reals
    made: Whole2
    edges: Singles


def desk_of(grove: Grove, ground: Ground, size: int) -> Desk:
    """Room for so many leaves."""
    n, n_levels, n_rows = ground.own.shape[1], ground.level.shape[1], ground.right.shape[1]
    n_features, n_sets, n_needs = n + n_levels, len(grove.member), len(grove.lacking)
    n_trees, n_edges, n_all = len(grove.need), len(grove.edge), int(ground.spans[-1])
    n_steps, n_points = n_edges + n_all + 1, n_features + len(SHARES) * BEAM + 3
    n_boxes = 2 * n_points
    f32, f64, i32, i64, u8 = np.float32, np.float64, np.int32, np.int64, np.uint8
    return Desk(
        leaf=np.empty(size, i64),
        value=np.empty(size, f64),
        cost=np.empty(size, f32),
        state=np.empty(size, i32),
        first=np.empty(size, i64),
        last=np.empty(size, i64),
        low=np.empty((n_features, size), f32),
        high=np.empty((n_features, size), f32),
        entry=np.empty((n_features, size), f32),
        start=np.empty(n_trees + 1, i64),
        need=np.empty(n_trees, i64),
        base=np.zeros(n_needs, f64),
        active=np.zeros(n_needs, u8),
        every=np.ones(n_needs, u8),
        asked=np.zeros(n_needs, i64),
        column=np.zeros(n_features, i64),
        slot=np.zeros(n_features, i64),
        paid=np.empty(n_edges, f64),
        enter=np.empty(n_edges, f64),
        entries=np.empty(n_sets, f64),
        condition=np.empty(grove.n_same[0], f64),
        point=np.empty(n, f32),
        level=np.empty(n_levels, i64),
        number=np.zeros(6, f64),
        tally=np.zeros(17, i64),
        stop=np.zeros(1, i64),
        seen_cost=np.empty(size, f32),
        seen_state=np.empty(size, i32),
        set_hit=np.empty(n_sets, i32),
        set_out=np.empty(n_sets, i32),
        tree_most=np.empty(n_trees, f64),
        tree_best=np.empty(n_trees, i64),
        tree_now=np.empty(n_trees, f64),
        now=np.empty(n_needs, f64),
        most=np.empty(n_needs, f64),
        sums=np.empty(n_needs, f64),
        outputs=np.empty(grove.rows.shape[1], f64),
        leaf_cost=np.empty(int(grove.start[grove.first[int((grove.member_of == 0).sum())]]), f64),
        head=np.full(n_edges, -1, i32),
        event_next=np.empty(2 * size, i32),
        event_need=np.empty(2 * size, i32),
        event_gain=np.empty(2 * size, f64),
        gain=np.zeros((n_needs, n_all), f64),
        gains=np.zeros(n_needs, f64),
        spared=np.zeros(int(ground.rule[3]) + 1, f64),
        weight=np.zeros(n_edges + n_levels, f64),
        touched=np.empty(n_edges + n_levels, i64),
        step_slot=np.empty(n_steps, i64),
        step_edge=np.empty(n_steps, f64),
        step_rises=np.empty(n_steps, u8),
        step_extra=np.empty(n_steps, f64),
        step_share=np.empty(n_steps, f64),
        box_low=np.empty((n_boxes, n), f32),
        box_high=np.empty((n_boxes, n), f32),
        box_levels=np.empty((n_boxes, n_all), u8),
        box_cost=np.empty(n_boxes, f64),
        box_hope=np.empty(n_boxes, f64),
        box_node=np.empty(n_boxes, i64),
        box_rest=np.empty(n_boxes, f64),
        box_share=np.empty(n_boxes, f64),
        heap=np.empty(n_boxes, i64),
        free=np.arange(n_boxes),
        values=np.empty((n_points, n), f32),
        levels=np.empty((n_points, n_levels), i64),
        going=np.empty(n_points, i64),
        least=np.empty(n, f64),
        largest=np.empty(n, f64),
        spare=np.empty(n_rows, f64),
        adds=np.empty((n_rows, n), f64),
        change=np.empty(ground.options.shape[2], f64),
        made=np.empty((n_boxes, 5), i64),
        edges=np.empty(n_boxes, f32),
    )


def with_more_boxes(desk: Desk) -> Desk:
    """The same desk, with room for more boxes."""
    names = ("box_low", "box_high", "box_levels", "box_cost", "box_hope", "box_node", "box_rest", "box_share")
    grown = {}
    for name in (*names, "heap", "free", "made", "edges"):
        part: np.ndarray = getattr(desk, name)
        grown[name] = np.concatenate([part, np.empty((len(part) * (MORE - 1), *part.shape[1:]), part.dtype)])
    grown["free"][len(desk.free) :] = np.arange(len(desk.free), len(grown["free"]))
    return desk._replace(**grown)
