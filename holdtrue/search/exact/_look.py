"""What a box holds: the most that its leaves can add, what its cheapest point has, where to go on: compiled."""

from typing import Any

import numpy as np

from holdtrue.search.exact._compiled import compiled
from holdtrue.search.exact._desk import BEST, COLUMN, COLUMNS, LEAVES, NEEDS, ONE_OFF, STEPS, TREES, Desk
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._points import INF32, LINF, UNNAMED, spent
from holdtrue.search.exact._reach import NOTHING, TINY, a_little_above

ONE_MORE = np.uint64(1)  # of places that cannot lie below 0, of which numba need not make sure
NEXT = 1.0 + 1.4 * 2.0**-24  # times a number above 0, rounded to single precision: the next one
CLOSE = 1e-6  # by which share the best may be dearer than the cheapest


@compiled
def ceiling(desk: Desk) -> float:
    """What a box must cost less than to matter."""
    return desk.number[BEST] * (1 - CLOSE)


@compiled
def see(grove: Grove, room: Ground, p: int, desk: Desk, b: int, v: int) -> None:
    """What every leaf costs from where a box begins, and the best leaf of every tree."""
    low, high, values, slots = desk.box_low, desk.box_high, desk.values, desk.slot
    cost, first_cost = desk.seen_cost, desk.cost
    n, n_numbers, largest = desk.tally[LEAVES], values.shape[1], room.rule[0] == LINF
    for k in range(n):
        cost[k] = first_cost[k]
    for column in range(desk.tally[COLUMNS]):
        slot = slots[column]
        if slot >= n_numbers:
            if _levels_cut(grove, room, p, desk, b, v, column):
                _levels_paid(room, p, desk, v, column)
        elif _cut(low[b, slot], high[b, slot]):
            if values[v, slot] == room.own[p, slot]:
                _meeting(desk, n, column, low[b, slot], high[b, slot])
            else:
                paid = np.float32(spent(room, p, slot, np.float64(values[v, slot])))
                _from(desk, n, column, low[b, slot], high[b, slot], paid, largest)
    _see_trees(desk)


@compiled
def see_point(grove: Grove, room: Ground, p: int, desk: Desk, b: int, v: int) -> None:
    """What keeps a box's cheapest point from every leaf that `see` has seen, and what every tree adds there."""
    low, high, values, slots = desk.box_low, desk.box_high, desk.values, desk.slot
    state, first_state = desk.seen_state, desk.state
    n, n_numbers = desk.tally[LEAVES], values.shape[1]
    for k in range(n):
        state[k] = first_state[k]
    for column in range(desk.tally[COLUMNS]):
        slot = slots[column]
        if slot >= n_numbers:
            if _levels_cut(grove, room, p, desk, b, v, column):
                _levels_moved(desk, column)
        elif _cut(low[b, slot], high[b, slot]) and values[v, slot] != room.own[p, slot]:
            _moved(desk, n, column, values[v, slot])
    _see_now(desk)


@compiled
def _cut(low: np.float32, high: np.float32) -> bool:
    """Whether a number has been cut; else the cheapest point has the person's own, and every leaf fits."""
    return bool(low > -INF32 or high < INF32)


@compiled
def _levels_cut(grove: Grove, room: Ground, p: int, desk: Desk, b: int, v: int, column: int) -> bool:
    """Whether a feature's levels have been cut; then also which sets a box meets, and its point is not in."""
    price, member, left, hit, out = room.price, grove.member, desk.box_levels, desk.set_hit, desk.set_out
    j = desk.slot[column] - room.own.shape[1]
    first, last, level, cut = room.spans[j], room.spans[j + 1], desk.levels[v, j], 0
    for i in range(first, last):
        cut |= (price[p, i] < np.inf) != (left[b, i] == 1)
    if not cut:
        return False
    for s in range(grove.set_first[j], grove.set_first[j + 1]):
        hit[s] = 0
        for i in range(first, last):
            hit[s] |= left[b, i] & member[s, i - first]
        out[s] = 1 - member[s, level - first]
    return True


@compiled
def _levels_paid(room: Ground, p: int, desk: Desk, v: int, column: int) -> None:
    """As `_from`, where a feature's levels have been cut."""
    sets, entries, cost, hit = desk.low, desk.entry, desk.seen_cost, desk.set_hit
    j = desk.slot[column] - room.own.shape[1]
    paid, largest = np.float32(room.price[p, desk.levels[v, j]]), room.rule[0] == LINF
    for k in range(desk.tally[LEAVES]):
        entry, s = entries[column, k], np.int64(sets[column, k])
        if s >= 0 and not hit[s]:
            cost[k] = INF32
        cost[k] = max(cost[k], paid) if largest else cost[k] + max(paid - entry, NOTHING)


@compiled
def _levels_moved(desk: Desk, column: int) -> None:
    """As `_moved`, where a feature's levels have been cut."""
    sets, entries, state, out, one = desk.low, desk.entry, desk.seen_state, desk.set_out, _one(column)
    for k in range(desk.tally[LEAVES]):
        s, outside = np.int64(sets[column, k]), np.int32(0)
        if s >= 0:
            outside = out[s]
        state[k] += (outside - np.int32(entries[column, k] > 0)) * one


@compiled
def _one(column: int) -> np.int32:
    """What a leaf's state has more where a column keeps the point from it."""
    return np.int32(1 + (column << COLUMN))


@compiled
def _meeting(desk: Desk, n: int, column: int, low: np.float32, high: np.float32) -> None:
    """`_from` where nothing is paid: the person's own value lies in the interval."""
    lows, highs, cost = desk.low, desk.high, desk.seen_cost
    if high < INF32:
        for k in range(n):
            cost[k] = cost[k] if lows[column, k] < high else INF32
    if low > -INF32:
        for k in range(n):
            cost[k] = cost[k] if low < highs[column, k] else INF32


@compiled
def _from(
    desk: Desk, n: int, column: int, low: np.float32, high: np.float32, paid: np.float32, largest: bool
) -> None:
    """Leaves that do not meet an interval cost what nobody pays; to the others is added what is paid here."""
    lows, highs, entries, cost = desk.low, desk.high, desk.entry, desk.seen_cost
    if largest or (low > -INF32 and high < INF32):
        for k in range(n):
            more = max(cost[k], paid) if largest else cost[k] + max(paid - entries[column, k], NOTHING)
            cost[k] = more if (lows[column, k] < high) & (low < highs[column, k]) else INF32
    elif high < INF32:  # most boxes have been cut on one side: what is not read takes no time
        for k in range(n):
            more = cost[k] + max(paid - entries[column, k], NOTHING)
            cost[k] = more if lows[column, k] < high else INF32
    else:
        for k in range(n):
            more = cost[k] + max(paid - entries[column, k], NOTHING)
            cost[k] = more if low < highs[column, k] else INF32


@compiled
def _moved(desk: Desk, n: int, column: int, value: np.float32) -> None:
    """Which leaves a number's value keeps the point from."""
    lows, highs, entries, state, one = desk.low, desk.high, desk.entry, desk.seen_state, _one(column)
    for k in range(n):
        outside = np.int32((value <= lows[column, k]) | (value > highs[column, k]))
        state[k] += (outside - np.int32(entries[column, k] > 0)) * one


@compiled
def _see_trees(desk: Desk) -> None:
    """The best leaf of every tree, added up for every need: the first that costs little enough."""
    cost, values, start, needs = desk.seen_cost, desk.value, desk.start, desk.need
    tree_most, tree_best, sum_most = desk.tree_most, desk.tree_best, desk.most
    # A leaf that costs as much as the best, from where the box begins, is of no use. In single precision, as costs
    # are, the limit is the next number from it on.
    exact = a_little_above(desk.number[BEST])
    limit = np.float32(exact)
    if np.float64(limit) < exact:
        limit = np.float32(np.float64(limit) * NEXT)
    for i in range(desk.tally[NEEDS]):
        need = desk.asked[i]
        sum_most[need] = desk.base[need]
    need, total = np.int64(-1), 0.0  # trees that add to one need lie together
    for tree in range(desk.tally[TREES]):
        if needs[tree] != need:
            if need >= 0:
                sum_most[need] = total
            need = needs[tree]
            total = sum_most[need]
        most, best, k, end = -np.inf, -1, np.uint64(start[tree]), np.uint64(start[tree + 1])
        while k < end:
            if cost[k] < limit:
                most, best = values[k], np.int64(k)
                break
            k += ONE_MORE
        tree_most[tree], tree_best[tree] = most, best
        total += most
    if need >= 0:
        sum_most[need] = total


@compiled
def _see_now(desk: Desk) -> None:
    """What every tree adds at a box's point, added up for every need."""
    cost, state, values, start, needs = desk.seen_cost, desk.seen_state, desk.value, desk.start, desk.need
    tree_now, sum_now, limit = desk.tree_now, desk.now, a_little_above(desk.number[BEST])
    for i in range(desk.tally[NEEDS]):
        need = desk.asked[i]
        sum_now[need] = desk.base[need]
    need, total = np.int64(-1), 0.0
    for tree in range(desk.tally[TREES]):
        if needs[tree] != need:
            if need >= 0:
                sum_now[need] = total
            need = needs[tree]
            total = sum_now[need]
        now, k, end = 0.0, np.uint64(start[tree]), np.uint64(start[tree + 1])
        while k < end:
            if state[k] & (ONE_OFF - 1) == 0 and cost[k] < limit:
                now = values[k]
                break
            k += ONE_MORE
        tree_now[tree] = now
        total += now
    if need >= 0:
        sum_now[need] = total


@compiled
def met(grove: Grove, room: Ground, sums: np.ndarray, asked: np.ndarray) -> bool:
    """Whether the needs that are asked for are a yes."""
    spared, denied, last, members = room.rule[3], 0, -1, grove.member_of
    for need in range(len(members)):
        if asked[need] and not sums[need] >= 0:
            member = members[need]
            if member == 0:
                return False
            if member != last:
                denied, last = denied + 1, member
                if denied > spared:
                    return False
    return True


@compiled
def where(grove: Grove, room: Ground, desk: Desk, v: int) -> tuple[Any, ...]:
    """The edge that keeps the cheapest point from most of what trees could add: slot, edge, side and how much."""
    # What is read in the loop is named before it: it is not read anew wherever something has been written.
    weight, touched, values, levels, columns = desk.weight, desk.touched, desk.values, desk.levels, desk.column
    slots, lows, highs, low_edge, high_edge = grove.slot, grove.low, grove.high, grove.low_edge, grove.high_edge
    now, needs, tree_most, tree_now, tree_best, firsts, lasts = (
        desk.now, desk.need, desk.tree_most, desk.tree_now, desk.tree_best, desk.first, desk.last,
    )  # fmt: skip
    member, spans = grove.member, room.spans
    n, n_edges, n_touched = values.shape[1], len(grove.edge), 0
    for tree in range(desk.tally[TREES]):
        lacks, best_leaf = -now[needs[tree]], tree_best[tree]
        if lacks <= 0 or best_leaf < 0:
            continue
        # What the tree could add to what is lacking, as a share of it.
        gain = (tree_most[tree] - tree_now[tree]) / max(lacks, TINY)
        if gain <= TINY:
            continue
        i, end = np.uint64(firsts[best_leaf]), np.uint64(lasts[best_leaf])
        while i < end:
            slot, condition = np.int64(slots[i]), i
            i += ONE_MORE
            if columns[slot] < 0:
                continue
            key = np.int64(-1)
            if slot >= n:
                if not member[low_edge[condition], levels[v, slot - n] - spans[slot - n]]:
                    key = n_edges + slot - n
            elif values[v, slot] <= lows[condition]:
                key = np.int64(low_edge[condition])
            elif values[v, slot] > highs[condition]:
                key = np.int64(high_edge[condition])
            if key >= 0:
                if weight[key] == 0.0:
                    touched[n_touched] = key
                    n_touched += 1
                weight[key] += gain
    most, best = 0.0, np.int64(-1)
    for i in range(n_touched):
        key = touched[i]
        if weight[key] > most or (weight[key] == most and key < best):
            most, best = weight[key], key
        weight[key] = 0.0
    if best < 0 or best >= n_edges:
        return (n + best - n_edges if best >= 0 else best), UNNAMED, False, most
    slot = 0
    while grove.edge_first[slot + 1] <= best:
        slot += 1
    return slot, grove.edge[best], values[v, slot] <= grove.edge[best], most


# ---- single changes ---------------------------------------------------------------------------------


@compiled
def steps(grove: Grove, room: Ground, p: int, desk: Desk, v: int, so_far: float) -> None:
    """Write down every single change of a box's point that brings something and does not cost too much.

    A leaf that one feature keeps the point from is where the point gets by changing it. So what becomes of every
    need when any one feature takes any value follows from the leaves in reach, all at once.
    """
    asked, slots, count, gains = desk.asked, desk.slot, desk.tally, desk.gains
    n, n_asked = room.own.shape[1], count[NEEDS]
    _events(grove, room, desk)
    for i in range(n_asked):
        gains[asked[i]] = 0.0
    lacks = max(TINY, _lacking(grove, room, desk))
    most = ceiling(desk) - so_far  # that a change may cost
    count[STEPS] = 0
    for column in range(count[COLUMNS]):
        slot = slots[column]
        if slot < n:
            _along_number(grove, room, p, desk, v, slot, lacks, most)
            continue
        first, last = room.spans[slot - n], room.spans[slot - n + 1]
        before = room.price[p, desk.levels[v, slot - n]]
        for at in range(first, last):
            changes = 0
            for i in range(n_asked):
                gains[asked[i]] = desk.gain[asked[i], at]
                desk.gain[asked[i], at] = 0.0
                changes |= gains[asked[i]] != 0.0
            extra, rises = room.price[p, at] - before, slot < n  # a level has no side
            if changes and extra < most and room.price[p, at] < np.inf:
                _note(grove, room, desk, slot, np.float64(at), rises, extra, lacks)


@compiled
def _along_number(
    grove: Grove, room: Ground, p: int, desk: Desk, v: int, slot: int, lacks: float, most: float
) -> None:
    """Every value of a number, upwards and downwards from the point's own."""
    edges, head, gains, asked = grove.edge, desk.head, desk.gains, desk.asked
    events, needs, added = desk.event_next, desk.event_need, desk.event_gain
    first, last, value = grove.edge_first[slot], grove.edge_first[slot + 1], desk.values[v, slot]
    before = spent(room, p, slot, np.float64(value))
    here, end = first, last  # the first edge that is not below the value
    while here < end:
        middle = (here + end) // 2
        if edges[middle] < value:
            here = middle + 1
        else:
            end = middle
    for rises in (True, False):
        for i in range(desk.tally[NEEDS]):
            gains[asked[i]] = 0.0
        at, by = here, 1
        if not rises:
            at, by = here - 1, -1
        while first <= at < last:
            event = head[at]
            if event >= 0:
                head[at] = -1
                while event >= 0:
                    gains[needs[event]] += by * added[event]
                    event = events[event]
                edge, extra = np.float64(edges[at]), desk.paid[at] - before
                usable = edge < room.upper[p, slot] + 1e-6 if rises else edge >= room.lower[p, slot] - 1e-6
                if usable and extra < most:
                    _note(grove, room, desk, slot, edge, rises, extra, lacks)
            at += by


@compiled
def _events(grove: Grove, room: Ground, desk: Desk) -> None:
    """What every need gains where, from leaves that one feature keeps the point from."""
    cost, state, values, start, slots = desk.seen_cost, desk.seen_state, desk.value, desk.start, grove.slot
    head, following, needs, added = desk.head, desk.event_next, desk.event_need, desk.event_gain
    limit, n_events, n = a_little_above(desk.number[BEST]), 0, room.own.shape[1]
    for tree in range(desk.tally[TREES]):
        need, now = desk.need[tree], desk.tree_now[tree]
        for k in range(start[tree], start[tree + 1]):
            if state[k] & (ONE_OFF - 1) != 1 or not cost[k] < limit:
                continue
            column = state[k] >> COLUMN
            slot, gain = desk.slot[column], values[k] - now
            if slot >= n:
                first, s = room.spans[slot - n], np.int64(desk.low[column, k])
                for i in range(first, room.spans[slot - n + 1]):
                    if grove.member[s, i - first]:
                        desk.gain[need, i] += gain
                continue
            i = grove.begin[grove.box[desk.leaf[k]]]
            while slots[i] != slot:
                i += 1
            edge = grove.low_edge[i]
            if edge >= 0:
                needs[n_events], added[n_events] = need, gain
                following[n_events], head[edge] = head[edge], n_events
                n_events += 1
            edge = grove.high_edge[i]
            if edge >= 0:
                needs[n_events], added[n_events] = need, -gain
                following[n_events], head[edge] = head[edge], n_events
                n_events += 1


@compiled
def _lacking(grove: Grove, room: Ground, desk: Desk) -> float:
    """What all needs that take part lack after a change, but for the guides that lack most and may be denied.

    By the one that lacks most alone a change would bring nothing that helps all others.
    """
    now, gains, asked, members, most = desk.now, desk.gains, desk.asked, grove.member_of, desk.spared
    left, n_spared, spared = np.float64(0.0), 0, room.rule[3]
    for i in range(desk.tally[NEEDS]):
        need = asked[i]
        lack = np.float64(-(now[need] + gains[need]))
        if lack <= 0.0:
            continue
        if spared == 0 or members[need] == 0:
            left += lack
            continue
        at = n_spared  # among those that lack most, in falling order
        if n_spared < spared:
            n_spared += 1
        else:
            at -= 1
            if lack <= most[at]:
                left += lack
                continue
            left += np.float64(most[at])
        while at > 0 and most[at - 1] < lack:
            most[at] = most[at - 1]
            at -= 1
        most[at] = lack
    return left


@compiled
def _note(
    grove: Grove, room: Ground, desk: Desk, slot: int, edge: float, rises: bool, extra: float, lacks: float
) -> None:
    """One step more, if it brings anything of what is lacking."""
    count = desk.tally
    share, at = 1.0 - _lacking(grove, room, desk) / lacks, count[STEPS]
    if share > 1e-6:
        desk.step_slot[at], desk.step_edge[at], desk.step_rises[at] = slot, edge, rises
        desk.step_extra[at], desk.step_share[at] = extra, share
        count[STEPS] += 1


@compiled
def stride(desk: Desk, share: float, only: int) -> int:
    """One step of a dive: the cheapest that is accepted, or else one that brings most for its cost.

    A change that does not bring enough of what is lacking, a `share` of it, or of the most that any brings, is
    left out. `only` is the one feature that may change; any where it is below 0.
    """
    slots, shares, extras = desk.step_slot, desk.step_share, desk.step_extra
    n, top = desk.tally[STEPS], 0.0
    for i in range(n):
        if only < 0 or slots[i] == only:
            top = max(top, shares[i])
    least, best, most = min(share, top) - 1e-9, -1, -np.inf
    for i in range(n):
        if only >= 0 and slots[i] != only:
            continue
        worth = -np.inf
        if top >= 1.0:
            if shares[i] >= 1.0:
                worth = -extras[i]
        elif shares[i] >= least:
            worth = shares[i] / max(extras[i], 1e-6)
        if worth > most:
            most, best = worth, i
    return best
