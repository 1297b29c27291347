"""Which leaves of a tree ensemble are within a person's reach, and at what cost: compiled."""

import numpy as np

from holdtrue.search.exact._compiled import compiled
from holdtrue.search.exact._desk import (
    AT_MOST,
    BEST,
    COLUMN,
    COLUMNS,
    LEAVES,
    LEFT,
    NEEDS,
    SHORT,
    TREES,
    Desk,
)
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._points import INF32, LINF, UNNAMED, spent

TINY = 1e-12
NOTHING = np.float32(0.0)
HALVINGS = 8  # of the cost, in search of what a recourse costs at least


@compiled
def a_little_above(limit: float) -> float:
    """Costs of leaves are added up in another order than those of points."""
    return limit * (1 + 1e-5) + 1e-7


@compiled
def begin(grove: Grove, room: Ground, p: int, desk: Desk) -> None:
    """Clear the desk for a person: what edges and sets cost, and which features can be changed."""
    own, price, spans, level = room.own, room.price, room.spans, room.level
    column, paid, enter, entries, member = desk.column, desk.paid, desk.enter, desk.entries, grove.member
    count, number, set_first = desk.tally, desk.number, grove.set_first
    n, n_levels = own.shape[1], level.shape[1]
    for j in range(n):
        desk.point[j] = own[p, j]
        first, last = grove.edge_first[j], grove.edge_first[j + 1]
        movable = room.free[p, j] and last > first
        column[j] = 0 if movable else -1
        for i in range(first, last):
            paid[i] = enter[i] = np.inf
            if movable:
                edge = np.float64(grove.edge[i])
                paid[i] = spent(room, p, j, edge)
                if edge >= np.float64(own[p, j]):
                    permitted = edge < room.upper[p, j] + 1e-6
                else:
                    permitted = edge >= room.lower[p, j] - 1e-6
                if permitted:
                    enter[i] = max(paid[i], TINY)
    for j in range(n_levels):
        desk.level[j] = level[p, j]
        first, last, n_open = spans[j], spans[j + 1], 0
        for i in range(first, last):
            n_open += price[p, i] < np.inf
        column[n + j] = 0 if set_first[j + 1] - set_first[j] > 1 and n_open > 1 else -1
        for s in range(set_first[j], set_first[j + 1]):
            least = np.inf
            for i in range(first, last):
                if member[s, i - first]:
                    least = min(least, 0.0 if i == level[p, j] else max(price[p, i], TINY))
            entries[s] = least
    n_columns = 0
    for slot in range(n + n_levels):
        if column[slot] == 0:
            column[slot], desk.slot[n_columns] = n_columns, slot
            n_columns += 1
    for i in range(len(count)):
        count[i] = 0
    for i in range(len(desk.active)):
        desk.active[i] = 0
    for i in range(len(desk.condition)):
        desk.condition[i] = -1.0  # none has been asked for
    count[COLUMNS] = n_columns
    number[BEST] = number[AT_MOST] = number[LEFT] = np.inf


@compiled
def entry_of(grove: Grove, room: Ground, p: int, desk: Desk, i: int) -> float:
    """What a condition costs a person at least."""
    slot = grove.slot[i]
    if slot >= room.own.shape[1]:
        return float(desk.entries[grove.low_edge[i]])
    own = room.own[p, slot]
    if room.missing[p, slot]:
        return 0.0 if grove.absent[i] else np.inf
    if own > grove.low[i] and own <= grove.high[i]:
        return 0.0
    edge = grove.low_edge[i] if own <= grove.low[i] else grove.high_edge[i]
    return float(desk.enter[edge]) if edge >= 0 else np.inf


@compiled
def leaf_cost(grove: Grove, room: Ground, p: int, desk: Desk, leaf: int, limit: float) -> float:
    """What it costs at least to be in a leaf; infinite from a limit on."""
    total, at, largest, known = 0.0, grove.box[leaf], room.rule[0] == LINF, desk.condition
    for i in range(grove.begin[at], grove.begin[at + 1]):
        same = grove.same[i]
        if known[same] < 0:
            known[same] = entry_of(grove, room, p, desk, i)
        part = float(known[same])
        total = max(total, part) if largest else total + part
        if total >= limit:
            return np.inf
    return total


@compiled
def list_leaves(grove: Grove, room: Ground, p: int, desk: Desk, need: int) -> None:
    """Write down the leaves of a need's trees; one that is the last of its tree adds the same to every box."""
    count, leaves, values, costs, known = desk.tally, desk.leaf, desk.value, desk.cost, desk.leaf_cost
    limit, begins, n, n_trees = a_little_above(desk.number[AT_MOST]), count[LEAVES], count[LEAVES], count[TREES]
    desk.base[need] = grove.lacking[need]
    for tree in range(grove.first[need], grove.first[need + 1]):
        first = n
        for leaf in range(grove.start[tree], grove.start[tree + 1]):
            # Those of the model itself have been added up for `enough`.
            cost = known[leaf] if leaf < len(known) else leaf_cost(grove, room, p, desk, leaf, limit)
            if cost >= limit:
                continue
            if n == len(leaves):
                count[SHORT] = 1
                return
            leaves[n], values[n], costs[n] = leaf, grove.value[leaf], np.float32(cost)
            n += 1
        if n - first == 1:
            desk.base[need] += values[first]
            n = first
            continue
        desk.start[n_trees], desk.need[n_trees] = first, need
        n_trees += 1
    desk.start[n_trees] = n
    count[LEAVES], count[TREES] = n, n_trees
    _list_conditions(grove, room, p, desk, begins)


@compiled
def _list_conditions(grove: Grove, room: Ground, p: int, desk: Desk, first: int) -> None:
    """Write down, from the first of some leaves on, what leads there, column by column."""
    low, high, entries, state, slots, n = (
        desk.low,
        desk.high,
        desk.entry,
        desk.state,
        grove.slot,
        desk.tally[LEAVES],
    )
    n_numbers = room.own.shape[1]
    for column in range(desk.tally[COLUMNS]):
        lowest = -INF32 if desk.slot[column] < n_numbers else UNNAMED  # every level leads there
        for k in range(first, n):
            low[column, k] = lowest
        for k in range(first, n):
            high[column, k] = INF32
        for k in range(first, n):
            entries[column, k] = NOTHING
    for k in range(first, n):
        off, at = 0, grove.box[desk.leaf[k]]
        desk.first[k], desk.last[k] = grove.begin[at], grove.begin[at + 1]
        for i in range(desk.first[k], desk.last[k]):
            column = desk.column[slots[i]]
            if column < 0:
                continue
            same = grove.same[i]
            if desk.condition[same] < 0:
                desk.condition[same] = entry_of(grove, room, p, desk, i)
            entry = desk.condition[same]
            entries[column, k] = np.float32(entry)
            if slots[i] >= n_numbers:
                low[column, k] = np.float32(grove.low_edge[i])
            else:
                low[column, k], high[column, k] = grove.low[i], grove.high[i]
            if entry > 0:
                off += 1 + (column << COLUMN)
        state[k] = off


@compiled
def join(grove: Grove, room: Ground, p: int, desk: Desk, need: int) -> None:
    """Let a need take part, with the leaves that cost less than the limit."""
    desk.active[need] = 1
    desk.asked[desk.tally[NEEDS]] = need
    desk.tally[NEEDS] += 1
    list_leaves(grove, room, p, desk, need)


@compiled
def list_again(grove: Grove, room: Ground, p: int, desk: Desk, limit: float) -> None:
    """Write down the leaves of all needs that take part anew, within another limit."""
    desk.number[AT_MOST] = limit
    desk.tally[LEAVES] = desk.tally[TREES] = 0
    for i in range(desk.tally[NEEDS]):
        list_leaves(grove, room, p, desk, desk.asked[i])


@compiled
def shrink(desk: Desk, limit: float) -> None:
    """Forget the leaves that cost as much as the best that was found."""
    desk.number[AT_MOST] = limit
    count, costs, need, start, begins, kept = (
        desk.tally, desk.cost, desk.need, desk.start, desk.tree_best, desk.event_next,
    )  # fmt: skip
    most, n, n_trees = a_little_above(limit), 0, 0
    for tree in range(count[TREES]):
        first = n
        for k in range(start[tree], start[tree + 1]):
            if costs[k] < most:
                kept[n] = k
                n += 1
        if n - first == 1:
            desk.base[need[tree]] += desk.value[kept[first]]
            n = first
        else:
            need[n_trees], begins[n_trees] = need[tree], first  # where trees began is still read
            n_trees += 1
    for tree in range(n_trees):
        start[tree] = begins[tree]
    start[n_trees] = n
    count[TREES] = n_trees
    if n < count[LEAVES]:
        count[LEAVES] = n
        _move_up(desk)


@compiled
def _move_up(desk: Desk) -> None:
    """Put the leaves that are kept where those were that are not."""
    leaves, values, costs, state, kept = desk.leaf, desk.value, desk.cost, desk.state, desk.event_next
    low, high, entries, n = desk.low, desk.high, desk.entry, desk.tally[LEAVES]
    first, last = desk.first, desk.last
    for k in range(n):
        first[k], last[k] = first[kept[k]], last[kept[k]]
        leaves[k], values[k], costs[k], state[k] = (
            leaves[kept[k]], values[kept[k]], costs[kept[k]], state[kept[k]],
        )  # fmt: skip
    for column in range(desk.tally[COLUMNS]):
        for k in range(n):
            low[column, k] = low[column, kept[k]]
        for k in range(n):
            high[column, k] = high[column, kept[k]]
        for k in range(n):
            entries[column, k] = entries[column, kept[k]]


@compiled
def enough(grove: Grove, room: Ground, p: int, desk: Desk) -> tuple[float, float]:
    """What a recourse costs at least, from the best leaves of every tree; and the dearest leaf in reach.

    Infinite where no leaves are enough. Found by halving, and on the low side.
    """
    costs, reach = desk.leaf_cost, 0.0
    for leaf in range(len(costs)):
        costs[leaf] = leaf_cost(grove, room, p, desk, leaf, np.inf)
        if costs[leaf] < np.inf:
            reach = max(reach, costs[leaf])
    low, high = reach * 1e-6, reach
    if not _are_enough(grove, desk, reach):
        return np.inf, reach
    if _are_enough(grove, desk, low):
        return low, reach
    for _ in range(HALVINGS):
        middle = np.sqrt(low * high)
        if _are_enough(grove, desk, middle):
            high = middle
        else:
            low = middle
    return low, reach


@compiled
def _are_enough(grove: Grove, desk: Desk, limit: float) -> bool:
    costs, values, start = desk.leaf_cost, grove.value, grove.start
    for need in range(len(grove.lacking)):
        if grove.member_of[need] > 0:
            break
        total = grove.lacking[need]
        for tree in range(grove.first[need], grove.first[need + 1]):
            best = -np.inf
            for leaf in range(start[tree], start[tree + 1]):
                if costs[leaf] <= limit:  # of what is left of the tree it adds most
                    best = values[leaf]
                    break
            total += best
        if not total >= -1e-9:
            return False
    return True
