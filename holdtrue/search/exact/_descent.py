"""Dives: good points before anything is proved, one change after another, that which helps most for its cost.

Compiled. A panel is asked member by member: a guide takes part from the first point on that all members so far
accept and it refuses. Constants are put into variables before a call: numba compiles a function anew for every
constant that it is called with.
"""

import numpy as np

from holdtrue.search.exact._compiled import compiled, inlined
from holdtrue.search.exact._desk import (
    AT_MOST,
    BEAM,
    BEST,
    COLUMNS,
    DEPTH,
    FOUND,
    LEADS,
    LEFT,
    LOOKED,
    NEEDS,
    SHARES,
    SHORT,
    Desk,
)
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._look import ceiling, met, see, see_point, steps, stride
from holdtrue.search.exact._points import (
    INF32,
    broken_clause,
    broken_row,
    corner,
    cost_of,
    is_option,
    mend,
    narrowed,
    under,
)
from holdtrue.search.exact._reach import join, shrink

LEAD = 0.5  # of what is lacking, that a change must bring in dives that begin with a given feature
DEEPEST = 12  # changes of a dive
IMPROVED = 4  # rounds in which a point's changes are put in question
JOIN = 2  # needs that take part from a point on that they refuse, at most
SMALLER = 0.9  # of the limit, from which on leaves are forgotten
DONE, AGAIN, FORBIDDEN = 0, 1, 2


@compiled
def stopped(desk: Desk) -> bool:
    """Whether the time is over, or the desk too small."""
    return desk.stop[0] != 0 or desk.tally[SHORT] != 0


# ---- points -----------------------------------------------------------------------------------------


@compiled
def ask(grove: Grove, room: Ground, p: int, desk: Desk, v: int) -> bool:
    """Whether every need is met at a point, by the trees themselves; writes down what each has."""
    values, levels, outputs, nodes, threshold = (
        desk.values,
        desk.levels,
        desk.outputs,
        grove.nodes,
        grove.threshold,
    )
    missing, spans, added, sums = room.missing, room.spans, grove.added, desk.sums
    n = values.shape[1]
    for i in range(len(outputs)):
        outputs[i] = grove.base[i]
    for tree in range(len(grove.roots)):
        at = grove.roots[tree]
        while nodes[at, 2] != at:  # a leaf is its own child
            slot, code = np.int64(nodes[at, 0]), np.int64(0)
            if slot < n and not missing[p, slot]:
                left = values[v, slot] <= threshold[at]
            else:
                if slot >= n:
                    code = levels[v, slot - n] - spans[slot - n]
                left = (nodes[at, 4 + code // 32] >> (code % 32)) & 1 == 1
            at = np.int64(nodes[at, 2] if left else nodes[at, 3])
        for i in range(added.shape[1]):
            outputs[grove.output[tree] + i] += added[at, i]
    for need in range(len(sums)):
        sums[need] = grove.before[need]
        for i in range(len(outputs)):
            sums[need] += grove.rows[need, i] * outputs[i]
    return met(grove, room, sums, desk.every)


@compiled
def keep(desk: Desk, v: int, cost: float) -> None:
    """The cheapest point so far."""
    if cost < desk.number[BEST]:
        desk.number[BEST], desk.tally[FOUND] = cost, 1
        for j in range(len(desk.point)):
            desk.point[j] = desk.values[v, j]
        for j in range(len(desk.level)):
            desk.level[j] = desk.levels[v, j]
        if cost < SMALLER * desk.number[AT_MOST]:
            shrink(desk, cost)


@compiled
def offered(grove: Grove, room: Ground, p: int, desk: Desk, v: int, cost: float) -> int:
    """Keep a point that the needs which take part accept, if all others do and no limit forbids it.

    AGAIN: guides refuse it, and take part from now on. FORBIDDEN: by a limit across features.
    """
    row = broken_row(room, p, desk, v)
    if row >= 0 or broken_clause(room, p, desk, v) >= 0:
        if row >= 0:
            _offered_mended(grove, room, p, desk, v, row)
        return FORBIDDEN
    if not is_option(room, p, desk, v):
        return DONE
    if desk.tally[NEEDS] < len(desk.sums) and not ask(grove, room, p, desk, v):
        joined = 0
        for _ in range(JOIN):
            neediest, least = np.int64(-1), 0.0
            for need in range(len(desk.sums)):
                if not desk.active[need] and desk.sums[need] < least:
                    neediest, least = need, desk.sums[need]
            if neediest >= 0:
                join(grove, room, p, desk, neediest)
                joined += 1
        if joined == 0:  # by a hair, though every need that takes part is met: nothing is proved of such a box
            desk.number[LEFT] = min(desk.number[LEFT], cost)
        return AGAIN if joined else DONE
    keep(desk, v, cost)
    return DONE


@inlined
def _offered_mended(grove: Grove, room: Ground, p: int, desk: Desk, v: int, row: int) -> None:
    """Offer a point that breaks a linear constraint, with one number set to where it holds."""
    values, levels = desk.values, desk.levels
    to = len(values) - 1
    for j in range(values.shape[1]):
        values[to, j] = values[v, j]
    for j in range(levels.shape[1]):
        levels[to, j] = levels[v, j]
    if mend(room, p, desk, to, row):
        cost = cost_of(room, p, desk, to)
        kept = broken_row(room, p, desk, to) < 0 and broken_clause(room, p, desk, to) < 0
        if kept and cost < desk.number[BEST] and is_option(room, p, desk, to) and ask(grove, room, p, desk, to):
            keep(desk, to, cost)


# ---- boxes ------------------------------------------------------------------------------------------


@compiled
def whole(room: Ground, p: int, desk: Desk, b: int) -> None:
    """Everything that is open to a person."""
    low, high, levels = desk.box_low, desk.box_high, desk.box_levels
    for j in range(low.shape[1]):
        low[b, j], high[b, j] = -INF32, INF32
    for i in range(levels.shape[1]):
        levels[b, i] = room.price[p, i] < np.inf


@compiled
def copy(desk: Desk, b: int, to: int) -> None:
    """The same box at another place."""
    low, high, levels = desk.box_low, desk.box_high, desk.box_levels
    for j in range(low.shape[1]):
        low[to, j], high[to, j] = low[b, j], high[b, j]
    for i in range(levels.shape[1]):
        levels[to, i] = levels[b, i]


@compiled
def halve(room: Ground, desk: Desk, b: int, v: int, slot: int, edge: float, rises: bool, beyond: bool) -> None:
    """Make a box the half of it that lies beyond a cut, or that where its cheapest point does.

    Of levels, the cheapest point's own is one half; where a dive names another, that is the half beyond.
    """
    low, high, levels, spans = desk.box_low, desk.box_high, desk.box_levels, room.spans
    n = low.shape[1]
    if slot < n:
        at = np.float32(edge)
        if rises == beyond:
            # A dive may turn back: then the other end gives way.
            if high[b, slot] <= at:
                high[b, slot] = INF32
            low[b, slot] = at
        else:
            if low[b, slot] >= at:
                low[b, slot] = -INF32
            high[b, slot] = at
        return
    taken, named = desk.levels[v, slot - n], np.int64(edge)
    if beyond and named < 0:
        levels[b, taken] = 0
        return
    for i in range(spans[slot - n], spans[slot - n + 1]):
        levels[b, i] = i == (named if beyond else taken)


@compiled
def _without(room: Ground, p: int, desk: Desk, slot: int, b: int) -> None:
    """Everything beyond the best point, as far as one of the features that it changes is free."""
    whole(room, p, desk, b)
    point, own, levels, spans, n = desk.point, room.own, desk.box_levels, room.spans, room.own.shape[1]
    for j in range(n):
        if j == slot:
            continue
        if point[j] > own[p, j]:
            desk.box_low[b, j] = under(np.float64(point[j]))
        elif point[j] < own[p, j]:
            desk.box_high[b, j] = point[j]
    for j in range(len(spans) - 1):
        if n + j != slot and desk.level[j] != room.level[p, j]:
            for i in range(spans[j], spans[j + 1]):
                levels[b, i] = i == desk.level[j]


# ---- dives ------------------------------------------------------------------------------------------


@inlined
def dive(grove: Grove, room: Ground, p: int, desk: Desk) -> None:
    """Find a good point. Then each change of it in turn is taken back, and the cheapest that will do put in its
    place."""
    count, slots, n = desk.tally, desk.slot, room.own.shape[1]
    for turn in range(1 + IMPROVED):
        before, n_boxes = desk.number[BEST], np.int64(0)
        if turn == 0:
            whole(room, p, desk, n_boxes)
            desk.box_rest[0] = 1.0
            n_boxes, count[DEPTH], count[LEADS] = np.int64(1), DEEPEST, len(SHARES) + count[COLUMNS]
        else:
            if not count[FOUND] or stopped(desk):
                return
            for column in range(count[COLUMNS]):
                slot = slots[column]
                if slot < n:
                    changed = desk.point[slot] != room.own[p, slot]
                else:
                    changed = desk.level[slot - n] != room.level[p, slot - n]
                if changed:
                    _without(room, p, desk, slot, n_boxes)
                    desk.box_rest[n_boxes] = desk.box_share[n_boxes] = 1.0
                    n_boxes += 1
            count[DEPTH], count[LEADS] = 2, len(SHARES)
        _descend(grove, room, p, desk, n_boxes)
        if turn > 0 and not desk.number[BEST] < before * (1 - 1e-3):
            return


@inlined
def _descend(grove: Grove, room: Ground, p: int, desk: Desk, n_boxes: np.int64) -> None:
    """Go on from the cheapest point of each box, a change at a time, to points that are accepted.

    With LEADS, a dive begins in every box for every share, and, where there are more, for every feature that
    changes first.
    Boxes lie in one half of the desk, and those that they lead to in the other.
    """
    count, going, cost, hope, rest, shares = (
        desk.tally, desk.going, desk.box_cost, desk.box_hope, desk.box_rest, desk.box_share,
    )  # fmt: skip
    size = len(going)
    here, there = np.int64(0), np.int64(size)
    for _ in range(count[DEPTH] + len(grove.lacking)):
        n_going, n_next, leads = np.int64(0), np.int64(0), count[LEADS]
        for v in range(n_boxes):
            b = here + v
            cost[b] = corner(room, p, desk, b, v) if narrowed(room, p, desk, b) else np.inf
            if cost[b] < ceiling(desk) and not _met_before(desk, n_going, v):
                hope[b] = cost[b] / max(1.0 - rest[b], 1e-3)
                going[n_going] = v
                n_going += 1
        _sort(desk, n_going, here)  # dives meet, and those that promise least are given up
        for i in range(min(n_going, BEAM)):
            v = going[i]
            b = here + v
            if stopped(desk):
                return
            if not cost[b] < ceiling(desk):
                continue
            count[LOOKED] += 1
            see(grove, room, p, desk, b, v)
            see_point(grove, room, p, desk, b, v)
            if met(grove, room, desk.now, desk.active):
                if offered(grove, room, p, desk, v, cost[b]) == AGAIN:
                    to = there + n_next
                    copy(desk, b, to)
                    rest[to], shares[to] = rest[b], SHARES[0] if leads else shares[b]
                    n_next += 1
                continue
            steps(grove, room, p, desk, v, cost[b])
            for lead in range(leads if leads else 1):
                share, only = shares[b], np.int64(-1)
                if leads:
                    share = SHARES[lead] if lead < len(SHARES) else LEAD
                    if lead >= len(SHARES):
                        only = desk.slot[lead - len(SHARES)]
                at = stride(desk, share, only)
                if at < 0:
                    continue
                to, beyond = there + n_next, at >= 0
                copy(desk, b, to)
                halve(room, desk, to, v, desk.step_slot[at], desk.step_edge[at], desk.step_rises[at] == 1, beyond)
                rest[to] = rest[b] * (1.0 - min(max(desk.step_share[at], 0.0), 1.0))
                shares[to] = share
                n_next += 1
        if n_next == 0:
            return
        n_boxes, count[LEADS] = n_next, 0
        here, there = there, here


@compiled
def _met_before(desk: Desk, n: int, v: int) -> bool:
    """Whether a dive is where another is."""
    values, levels = desk.values, desk.levels
    for i in range(n):
        same, a = True, desk.going[i]
        for j in range(values.shape[1]):
            same &= values[a, j] == values[v, j] or np.isnan(values[a, j])
        for j in range(levels.shape[1]):
            same &= levels[a, j] == levels[v, j]
        if same:
            return True
    return False


@compiled
def _sort(desk: Desk, n: int, here: int) -> None:
    """Put those that promise most first."""
    going, hope = desk.going, desk.box_hope
    for i in range(1, n):
        v, at = going[i], i
        while at > 0 and hope[here + going[at - 1]] > hope[here + v]:
            going[at] = going[at - 1]
            at -= 1
        going[at] = v
