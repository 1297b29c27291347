"""Branch and bound over the boxes of a tree ensemble: the cheapest recourse, or a proof that there is none.

A box is a part of what is open to a person. Its cheapest point costs no more than anything else in it; the best
leaf that each tree still has in it adds no less. So a box whose cheapest point is accepted holds nothing cheaper,
and a box whose best leaves together are refused holds nothing at all. Any other is cut in two where most of the
trees would gain. The cheapest box is looked at first: the first point accepted there is the cheapest of all.

One person at a time, in compiled code that asks for no memory: what it has lies on a desk. Of the leaves only
those are looked at that are within reach, at less than the best that was found. Dives find a good point first, so
that little is in reach.
"""

import numpy as np

from holdtrue.search.exact._compiled import compiled, inlined, program
from holdtrue.search.exact._descent import AGAIN, FORBIDDEN, copy, dive, halve, offered, stopped, whole
from holdtrue.search.exact._desk import (
    BEGUN,
    BEST,
    BOXES,
    FOUND,
    FULL,
    LAST,
    LEAST,
    LEFT,
    LIMIT,
    LOOKED,
    NEEDS,
    NODES,
    QUOTA,
    REACH,
    TURN,
    Desk,
)
from holdtrue.search.exact._grove import Ground, Grove
from holdtrue.search.exact._look import ceiling, met, see, see_point, where
from holdtrue.search.exact._points import corner, cut_by_limits, narrowed
from holdtrue.search.exact._reach import TINY, begin, enough, list_again, shrink

AT_ONCE = 64  # cheapest boxes looked at, at most, before the one that may be nearest to a yes
WITHIN = 3.0  # limit of the first dive, in what a recourse costs at least
ANEW = 3  # dives at most, each with the guides that joined in the one before
FIRST, FURTHER = 1.5, 2.0  # a person's first limit, in what recourse costs at least, and every further one
EXTRA = 500  # boxes of a last dive


@inlined
def _find(grove: Grove, room: Ground, p: int, desk: Desk) -> None:
    """Dive for a good point, within a limit that is raised until there is one."""
    count, number, need = desk.tally, desk.number, 0
    begin(grove, room, p, desk)
    number[LEAST], number[REACH] = enough(grove, room, p, desk)
    desk.made[0, 0], count[NODES] = -1, 1
    if number[LEAST] == np.inf:
        return
    while need < len(grove.member_of) and grove.member_of[need] == 0:
        desk.active[need], desk.asked[need] = 1, need
        need += 1
    count[NEEDS], number[LIMIT] = need, max(number[LEAST] * WITHIN, TINY)
    while not stopped(desk):
        _within(grove, room, p, desk)
        for _ in range(ANEW):
            n_needs = count[NEEDS]
            if not stopped(desk):
                dive(grove, room, p, desk)
            if not count[FOUND] or count[NEEDS] == n_needs:
                break
        if count[FOUND] or number[BEST] == np.inf:
            break
        number[LIMIT] *= WITHIN
    number[LIMIT] = number[BEST] if count[FOUND] else max(number[LEAST] * FIRST, TINY)


@compiled
def _within(grove: Grove, room: Ground, p: int, desk: Desk) -> None:
    """Begin anew, within a limit."""
    number = desk.number
    if desk.tally[FOUND]:
        shrink(desk, number[BEST])
        return
    number[BEST] = np.inf if number[LIMIT] >= number[REACH] else number[LIMIT]  # beyond it every leaf costs less
    list_again(grove, room, p, desk, number[BEST])


@inlined
def _prove(grove: Grove, room: Ground, p: int, desk: Desk, writes: int) -> None:
    """Look at boxes, the cheapest first."""
    count, number, heap, cost = desk.tally, desk.number, desk.heap, desk.box_cost
    while not stopped(desk):
        if count[BOXES] == 0 or not cost[heap[0]] < ceiling(desk):
            # Nothing cheaper than the limit is left: a higher one, and in the end none.
            if count[BEGUN]:
                tired = count[LOOKED] >= room.rule[2]
                if count[FOUND] or count[LAST] or (number[BEST] == np.inf and not tired):
                    count[BOXES] = 0
                    return
                count[LAST] = tired
                number[LIMIT] = np.inf if count[LAST] else number[BEST] * FURTHER
            _within(grove, room, p, desk)
            _begun(room, p, desk)
        elif count[LOOKED] >= room.rule[2] + EXTRA * count[LAST]:
            number[LEFT], count[BOXES] = min(number[LEFT], cost[heap[0]]), 0
        elif count[BOXES] + 2 > len(heap) or count[NODES] + 2 > len(desk.made):
            count[FULL] = 1
            return
        else:
            _look_at(grove, room, p, desk, _chosen(desk), writes)
    # The time is over: beyond the limit nobody has looked, unless something was found within it.
    beyond = np.inf if count[FOUND] else number[BEST]
    number[LEFT] = min(number[LEFT], cost[heap[0]] if count[BOXES] else beyond) if count[BEGUN] else 0.0


@inlined
def _begun(room: Ground, p: int, desk: Desk) -> None:
    """All that is open to a person, as the one box."""
    count, free, b, v = desk.tally, desk.free, np.int64(0), np.int64(0)
    for i in range(len(free)):
        free[i] = i
    count[BEGUN], count[BOXES], count[TURN], count[QUOTA] = 1, 0, 0, 0
    desk.made[0, 0], count[NODES] = -1, 1
    whole(room, p, desk, b)
    if narrowed(room, p, desk, b):
        desk.box_cost[b] = corner(room, p, desk, b, v)
        if desk.box_cost[b] < ceiling(desk):
            desk.box_hope[b], desk.box_node[b] = 0.0, 0
            _put(desk, b)


@inlined
def _look_at(grove: Grove, room: Ground, p: int, desk: Desk, b: int, writes: int) -> None:
    """Look at a box, keep its point if it is accepted, and cut what may hold a cheaper one."""
    count, v, other = desk.tally, np.int64(0), np.int64(1)
    count[LOOKED] += 1
    cost = corner(room, p, desk, b, v)
    see(grove, room, p, desk, b, v)
    if not met(grove, room, desk.most, desk.active):
        return
    see_point(grove, room, p, desk, b, v)
    slot, edge, rises, gain = where(grove, room, desk, v)
    lack = 0.0
    for i in range(count[NEEDS]):
        need = desk.asked[i]
        lack += max(-desk.now[need], 0.0) / max(-grove.lacking[need], TINY)
    if met(grove, room, desk.now, desk.active):
        told = offered(grove, room, p, desk, v, cost)
        if told == AGAIN:
            _put(desk, b)
            return
        if told == FORBIDDEN:
            slot, edge = cut_by_limits(room, p, desk, b, v)
            rises, gain = False, 0.0
    if slot < 0 or not cost < ceiling(desk):
        return
    node, n_nodes = desk.box_node[b], count[NODES]
    if writes:
        made, taken, n = desk.made, -1, room.own.shape[1]
        if slot >= n:
            taken = desk.levels[v, slot - n] - room.spans[slot - n]
        made[node, 0], made[node, 1], made[node, 2], made[node, 3] = slot, taken, n_nodes, n_nodes + 1
        made[node, 4], desk.edges[node] = rises, edge
        made[n_nodes, 0] = made[n_nodes + 1, 0] = -1
        count[NODES] += 2
    # The box's own place is the first that is free, and the other half gets the next.
    here = desk.free[count[BOXES] + 1]
    copy(desk, b, here)
    for beyond in (False, True):
        at = b if beyond else here
        halve(room, desk, at, v, slot, np.float64(edge), rises, beyond)
        if not narrowed(room, p, desk, at):
            continue
        desk.box_cost[at] = corner(room, p, desk, at, other)
        if desk.box_cost[at] < ceiling(desk):
            desk.box_hope[at] = lack * (1.0 - min(gain, 1.0)) if beyond else lack
            desk.box_node[at] = n_nodes if beyond else n_nodes + 1
            _put(desk, at)


# ---- boxes that wait, the cheapest first ------------------------------------------------------------


@inlined
def _chosen(desk: Desk) -> int:
    """Take a box: the cheapest prove what the best costs at least, those that may be nearest to a yes find it."""
    count, heap, cost, hope = desk.tally, desk.heap, desk.box_cost, desk.box_hope
    best, most = np.int64(0), ceiling(desk)
    if count[QUOTA] > 0:
        count[QUOTA] -= 1
    else:
        count[TURN] += 1
        count[QUOTA] = 0 if count[LAST] else min(2 ** min(count[TURN], 12), AT_ONCE)
        for i in range(1, count[BOXES]):
            a, b = heap[i], heap[best]
            if cost[a] < most and (hope[a] < hope[b] or (hope[a] == hope[b] and cost[a] < cost[b])):
                best = np.int64(i)
    b = heap[best]
    _take(desk, best)
    return b


@compiled
def _before(desk: Desk, a: int, b: int) -> bool:
    """Whether a box comes before another: it is cheaper, or as cheap and nearer to a yes."""
    cost, hope = desk.box_cost, desk.box_hope
    return cost[a] < cost[b] or (cost[a] == cost[b] and hope[a] < hope[b])


@compiled
def _rise(desk: Desk, at: int, b: int) -> int:
    """Where a box belongs, at a place or above it."""
    heap = desk.heap
    while at > 0 and _before(desk, b, heap[(at - 1) // 2]):
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    return at


@compiled
def _put(desk: Desk, b: int) -> None:
    """Let a box wait; so many places at the beginning of `free` are taken."""
    n, free = desk.tally[BOXES], desk.free
    if free[n] != b:  # then it is the next
        free[n], free[n + 1] = b, free[n]
    desk.heap[_rise(desk, n, b)] = b
    desk.tally[BOXES] += 1


@compiled
def _take(desk: Desk, at: int) -> None:
    """Take a box out of those that wait; its place is free."""
    heap, count = desk.heap, desk.tally
    count[BOXES] -= 1
    n, b = count[BOXES], heap[count[BOXES]]
    desk.free[n] = heap[at]
    if at == n:
        return
    at = _rise(desk, at, b)
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _before(desk, heap[child + 1], heap[child]):
            child += 1
        if not _before(desk, heap[child], b):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = b


# ---- the whole --------------------------------------------------------------------------------------


@program(Grove, Ground, int, Desk, int)
def search(grove: Grove, room: Ground, p: int, desk: Desk, writes: int) -> None:
    """Look at boxes until nothing cheaper can be left for a person, or the time or the boxes are over.

    What was found is left on the desk; with `writes` also how boxes were cut: of every box the slot, the level
    that its point has, which of its halves lie beyond and here, and whether the first lies above; and the edge. A
    desk that is SHORT of leaves is to be made larger before the search begins anew; one that is FULL of boxes
    before it goes on.

    Bounds are narrow where only little may be spent. So a person's limit is what a dive has found; where it has
    found nothing, little at first, from what a recourse costs at least, and then raised.
    """
    if not desk.tally[FULL]:
        _find(grove, room, p, desk)
    desk.tally[FULL] = 0
    if desk.number[LEAST] < np.inf:
        _prove(grove, room, p, desk, writes)
