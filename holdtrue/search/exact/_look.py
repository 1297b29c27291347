"""What boxes hold: the most that their leaves can add, what their cheapest points have, and where to go on."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdtrue.models import Boxes
from holdtrue.search.exact._needs import Needs
from holdtrue.search.exact._reach import TINY, Leaves, above, ranges
from holdtrue.search.exact._room import Box, Corner, Room

ELEMENTS = 2_000_000  # leaves of boxes held in memory at a time
UNNAMED = -1.0


class Cut(NamedTuple):
    """Where boxes are cut: the feature, the edge of a number and whether what helps lies above it, and how much.

    A dive that takes a level names it in place of the edge; `UNNAMED` is any but the cheapest.
    """

    slot: np.ndarray
    edge: np.ndarray
    rises: np.ndarray
    gain: np.ndarray

    def take(self, rows: np.ndarray) -> "Cut":
        """Some of them."""
        return Cut(*(part[rows] for part in self))


class Seen(NamedTuple):
    """Leaves in reach of boxes, one box after the other: of which box, leaf and tree, and what each adds.

    `off` counts the features that keep the box's cheapest point from a leaf, and `which` names it where it is one.
    For every tree of every box: its need (`key`, by box and need), the most it can add and what it adds now; and
    these added up for every box and need.
    """

    node: np.ndarray
    leaf: np.ndarray
    tree: np.ndarray
    value: np.ndarray
    off: np.ndarray
    which: np.ndarray
    key: np.ndarray
    tree_most: np.ndarray
    tree_now: np.ndarray
    most: np.ndarray
    now: np.ndarray


class Steps(NamedTuple):
    """Single changes of boxes' points: of which box and feature, beyond which edge, at what further cost.

    `share` is how much of what is lacking the change brings.
    """

    at: np.ndarray
    which: np.ndarray
    edge: np.ndarray
    rises: np.ndarray
    extra: np.ndarray
    share: np.ndarray

    def take(self, rows: np.ndarray) -> "Steps":
        """Some of them."""
        return Steps(*(part[rows] for part in self))


class Look(NamedTuple):
    """What boxes hold: the most, and what their cheapest points have, of every need; and where to cut them."""

    most: np.ndarray
    now: np.ndarray
    cut: Cut


@dataclass(frozen=True)
class Sight:
    """The leaves of the trees, what they must add up to, what is open to people, and what is in their reach."""

    boxes: Boxes
    needs: Needs
    room: Room
    leaves: Leaves

    def parts(self, box: Box) -> list[np.ndarray]:
        """Rows of boxes, so many at a time as fit into memory."""
        counts = np.diff(self.leaves.of_person)[box.person]
        parts, start = [], 0
        while start < len(counts):
            stop = start + max(1, int(np.searchsorted(np.cumsum(counts[start:]), ELEMENTS)))
            parts.append(np.arange(start, min(stop, len(counts))))
            start = stop
        return parts

    def look(self, box: Box, corner: Corner, best: np.ndarray) -> Look:
        """In parts that fit into memory."""
        parts = [self._look_at(box.take(rows), corner.take(rows), best) for rows in self.parts(box)]
        if len(parts) == 1:
            return parts[0]
        cut = Cut(*(np.concatenate(part) for part in zip(*(p.cut for p in parts), strict=True)))
        return Look(np.concatenate([p.most for p in parts]), np.concatenate([p.now for p in parts]), cut)

    def _look_at(self, box: Box, corner: Corner, best: np.ndarray) -> Look:
        seen = self.seen(box, corner, best)
        n = len(box.person)
        # What each tree could add to what is lacking, as a share of it.
        share = np.where(seen.now < 0, 1.0 / np.maximum(-seen.now, TINY), 0.0)
        gain = np.where(np.isfinite(seen.tree_most), seen.tree_most - seen.tree_now, 0.0) * share.ravel()[seen.key]
        return Look(seen.most, seen.now, self._where(corner, seen, gain, n))

    def seen(self, box: Box, corner: Corner, best: np.ndarray) -> Seen:
        """Every leaf in reach of each box."""
        leaves, boxes, person, room = self.leaves, self.boxes, box.person, self.room
        n, n_needs = len(person), self.needs.n
        count = np.diff(leaves.of_person)[person]
        begin = np.cumsum(count) - count
        at = ranges(leaves.of_person[person], count)
        fits = np.ones(len(at), bool)
        cost, off, which = leaves.cost[at], leaves.off[at], leaves.which[at]

        def settle(rows: np.ndarray, column: int, spent: np.ndarray) -> np.ndarray:
            """Elements of the boxes that have been cut here, with what the box costs there counted."""
            i = ranges(begin[rows], count[rows])
            entry = leaves.entry[at[i], column]
            paid = np.repeat(spent, count[rows])
            off[i] -= entry > 0
            which[i] -= column * (entry > 0).astype(np.int16)
            cost[i] = np.maximum(cost[i], paid) if room.norm == "linf" else cost[i] + np.maximum(paid - entry, 0.0)
            return i

        # Where a box has not been cut, its cheapest point is the person's own value, and every leaf fits.
        spent = room.spent(person, corner.value)
        for column, j in enumerate(leaves.numbers):
            rows = np.flatnonzero((box.low[:, j] > -np.inf) | (box.high[:, j] < np.inf))
            if len(rows):
                i = settle(rows, column, spent[rows, j])
                leaf = leaves.box[at[i]]
                low, high = boxes.low[j][leaf], boxes.high[j][leaf]
                own, lower, upper = (
                    np.repeat(part[rows, j], count[rows]) for part in (corner.value, box.low, box.high)
                )
                fits[i] &= (low < upper) & (lower < high)
                outside = (own <= low) | (own > high)
                off[i] += outside
                which[i] += column * outside.astype(np.int16)
        whole = np.isfinite(room.price)
        for column, j in enumerate(leaves.levels, start=len(leaves.numbers)):
            part = slice(room.spans[j], room.spans[j + 1])
            rows = np.flatnonzero((box.levels[:, part] != whole[person][:, part]).any(axis=1))
            if len(rows):
                level = corner.level[rows, j]
                i = settle(rows, column, room.price[person[rows], level])
                sets = boxes.sets[j][leaves.box[at[i]]]
                hit = box.levels[rows, part].astype(np.float32) @ boxes.members[j].T.astype(np.float32) > 0
                fits[i] &= hit[np.repeat(np.arange(len(rows)), count[rows]), sets]
                outside = ~boxes.members[j][sets, np.repeat(level - room.spans[j], count[rows])]
                off[i] += outside
                which[i] += column * outside.astype(np.int16)
        # A leaf that costs as much as the best, from where the box begins, is of no use.
        node = np.repeat(np.arange(n), count)
        kept = np.flatnonzero(fits & (cost < above(best)[person][node]))
        at, node, off, which = at[kept], node[kept], off[kept], which[kept]
        leaf, value = leaves.box[at], leaves.value[at]
        # Trees of each box, one after the other.
        n_trees = np.diff(leaves.trees_of_person)[person]
        shift = np.cumsum(n_trees) - n_trees - leaves.trees_of_person[person]
        tree = leaves.tree_of[at] + shift[node]
        total = int(n_trees.sum())
        most = np.full(total, -np.inf)
        if len(tree):
            begins = np.flatnonzero(np.diff(tree, prepend=-1))
            most[tree[begins]] = np.maximum.reduceat(value, begins)
        now = np.zeros(total)
        inside = off == 0
        now[tree[inside]] = value[inside]
        of_tree = np.repeat(np.arange(n), n_trees)
        need = leaves.tree_need[ranges(leaves.trees_of_person[person], n_trees)]
        key = of_tree * n_needs + need
        sums_most = leaves.base[person] + np.bincount(key, most, n * n_needs).reshape(n, n_needs)
        sums_now = leaves.base[person] + np.bincount(key, now, n * n_needs).reshape(n, n_needs)
        return Seen(node, leaf, tree, value, off, which, key, most, now, sums_most, sums_now)

    def _where(self, corner: Corner, seen: Seen, gain: np.ndarray, n: int) -> Cut:
        """The edge that keeps the cheapest point from most of what trees could add."""
        boxes, leaves, n_numbers = self.boxes, self.leaves, self.room.own.shape[1]
        best = np.flatnonzero((gain[seen.tree] > TINY) & (seen.value >= seen.tree_most[seen.tree]))
        best = best[np.diff(seen.tree[best], prepend=-1) != 0]
        at, leaf, weight = seen.node[best], seen.leaf[best], gain[seen.tree[best]]
        n_kinds = 2 * n_numbers + self.room.n_levels
        keys, edges, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)], [np.zeros(0)]
        for j in leaves.numbers:
            own, low, high = corner.value[at, j], boxes.low[j][leaf], boxes.high[j][leaf]
            for kind, rows, edge in ((2 * j, own <= low, low), (2 * j + 1, own > high, high)):
                keys.append(at[rows] * n_kinds + kind)
                edges.append(edge[rows])
                weights.append(weight[rows])
        for j in leaves.levels:
            rows = ~boxes.members[j][boxes.sets[j][leaf], corner.level[at, j] - self.room.spans[j]]
            keys.append(at[rows] * n_kinds + 2 * n_numbers + j)
            edges.append(np.full(int(rows.sum()), UNNAMED, np.float32))
            weights.append(weight[rows])
        key, edge, weight = np.concatenate(keys), np.concatenate(edges), np.concatenate(weights)
        order = np.lexsort((edge, key))
        key, edge, weight = key[order], edge[order], weight[order]
        new = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (edge[1:] != edge[:-1]))[: len(key)])
        slot, at_edge, rises, most_gain = np.full(n, -1), np.zeros(n, np.float32), np.zeros(n, bool), np.zeros(n)
        if len(new):
            together, key, edge = np.add.reduceat(weight, new), key[new], edge[new]
            who, kind = key // n_kinds, key % n_kinds
            top = np.lexsort((-together, who))
            top = top[np.diff(who[top], prepend=-1) != 0]
            kind = kind[top]
            number = kind < 2 * n_numbers
            slot[who[top]] = np.where(number, kind // 2, kind - n_numbers)
            rises[who[top]] = number & (kind % 2 == 0)
            at_edge[who[top]], most_gain[who[top]] = edge[top], together[top]
        return Cut(slot, at_edge, rises, most_gain)

    def steps(self, box: Box, corner: Corner, seen: Seen, ceiling: np.ndarray) -> Steps:
        """Every single change of each box's point that brings something and does not cost too much."""
        idle = ~self.leaves.active[box.person]
        now = np.where(idle, np.inf, seen.now)
        lacks = np.maximum(-now.min(axis=1), TINY)
        moves = self._moves(box, corner, seen)
        if moves is None:
            return Steps(*(np.zeros(0, kind) for kind in (int, int, np.float32, bool, float, float)))
        at, which, edge, rises, extra, gains = moves
        share = 1.0 + (now[at] + gains).min(axis=1) / lacks[at]  # of what is lacking, that the change brings
        usable = np.isfinite(extra) & (share > 1e-6)
        usable &= corner.cost[at] + extra < ceiling[box.person[at]]
        return Steps(*(part[usable] for part in (at, which, edge, rises, extra, share)))

    def stride(self, steps: Steps, of: np.ndarray, shares: np.ndarray, only: np.ndarray) -> Cut:
        """One step of each dive: the cheapest that is accepted, or else one that brings most for its cost.

        A change that does not bring enough of what is lacking, or of the most that any brings, is left out.

        Parameters
        ----------
        steps : Steps
        of : int array
            At which of the boxes each dive is.
        shares : float array
            What a change must bring, of what is lacking.
        only : int array
            The one feature that may change, by its place; any where it is below 0.
        """
        n, n_numbers = len(of), self.room.own.shape[1]
        names = np.array([*self.leaves.numbers, *(n_numbers + j for j in self.leaves.levels), -1])
        # The steps of each dive: those of its box, or of one feature there.
        place = np.full(n_numbers + self.room.n_levels + 1, -1)
        place[names[:-1]] = np.arange(len(names) - 1)
        width = len(names)
        key = steps.at * width + place[steps.which]
        order = np.argsort(key, kind="stable")
        key = key[order]
        lead = only >= 0
        begins = np.searchsorted(key, of * width + np.where(lead, only, 0))
        ends = np.searchsorted(key, of * width + np.where(lead, only + 1, width))
        dive = np.repeat(np.arange(n), ends - begins)
        _, which, edge, rises, extra, share = steps.take(order[ranges(begins, ends - begins)])
        slot, edges, up, most = np.full(n, -1), np.zeros(n), np.zeros(n, bool), np.zeros(n)
        if len(dive):
            top = np.zeros(n)
            np.maximum.at(top, dive, share)
            done = share >= 1.0
            finishing = np.zeros(n, bool)
            finishing[dive[done]] = True
            enough = share >= np.minimum(shares[dive], top[dive]) - 1e-9
            worth = np.where(enough, share / np.maximum(extra, 1e-6), -np.inf)
            worth = np.where(finishing[dive], np.where(done, -extra, -np.inf), worth)
            best = np.lexsort((-worth, dive))
            best = best[np.diff(dive[best], prepend=-1) != 0]
            rows = dive[best]
            slot[rows], edges[rows], up[rows], most[rows] = which[best], edge[best], rises[best], share[best]
        return Cut(slot, edges, up, most)

    def _moves(self, box: Box, corner: Corner, seen: Seen) -> tuple[np.ndarray, ...] | None:
        """Every single change that lies at an edge.

        A leaf that one feature keeps the point from is where the point gets by changing it. So what becomes of
        every need when any one feature takes any value follows from the leaves in reach, all at once. Returns of
        every change its box and feature, beyond which edge it lies (or which level it takes) and on which side,
        what it costs more, and what every need gains.
        """
        leaves, boxes, room, needs = self.leaves, self.boxes, self.room, self.needs
        n, n_numbers = len(box.person), room.own.shape[1]
        one = np.flatnonzero(seen.off == 1)
        node, leaf, which = seen.node[one], seen.leaf[one], seen.which[one]
        tree = seen.tree[one]
        gain, need = seen.value[one] - seen.tree_now[tree], seen.key[tree] % needs.n
        spent = room.spent(box.person, corner.value)
        found: list[tuple[np.ndarray, ...]] = []
        for column, j in enumerate(leaves.numbers):
            rows = np.flatnonzero(which == column)
            if not len(rows):
                continue
            low, high = boxes.low[j][leaf[rows]], boxes.high[j][leaf[rows]]
            edge, at = np.concatenate([low, high]), np.tile(node[rows], 2)
            step, of_need = np.concatenate([gain[rows], -gain[rows]]), np.tile(need[rows], 2)
            order = np.lexsort((edge, at))
            edge, at, step, of_need = edge[order], at[order], step[order], of_need[order]
            new = np.append(True, (at[1:] != at[:-1]) | (edge[1:] != edge[:-1]))
            place = np.cumsum(new) - 1
            edge, at = edge[new], at[new]
            added = np.bincount(place * needs.n + of_need, step, len(edge) * needs.n).reshape(-1, needs.n)
            above = np.cumsum(added, axis=0)  # just above each edge
            begins = np.flatnonzero(np.diff(at, prepend=-1))
            before = np.concatenate([np.zeros((1, needs.n)), above])[begins]
            above -= np.repeat(before, np.diff(np.append(begins, len(at))), axis=0)
            below = above - added  # at each edge
            mine, who = corner.value[at, j], box.person[at]
            price = room.spent_on(j, who, edge)
            for rises, sums in ((True, above), (False, below)):
                if rises:
                    usable = (edge >= mine) & (edge < room.upper[who, j] + 1e-6)
                else:
                    usable = (edge < mine) & (edge >= room.lower[who, j] - 1e-6)
                i = np.flatnonzero(usable & np.isfinite(edge) & room.free[who, j])
                side = np.full(len(i), rises)
                found.append((at[i], np.full(len(i), j), edge[i], side, price[i] - spent[at[i], j], sums[i]))
        for column, j in enumerate(leaves.levels, start=len(leaves.numbers)):
            rows = np.flatnonzero(which == column)
            if not len(rows):
                continue
            n_sets = len(boxes.members[j])
            key = (node[rows] * needs.n + need[rows]) * n_sets + boxes.sets[j][leaf[rows]]
            sums = np.bincount(key, gain[rows], n * needs.n * n_sets).reshape(-1, n_sets) @ boxes.members[j]
            sums = sums.reshape(n, needs.n, -1)
            part = slice(room.spans[j], room.spans[j + 1])
            extra = room.price[box.person, part] - room.price[box.person, corner.level[:, j]][:, None]
            at, level = np.nonzero(np.isfinite(extra) & (sums != 0).any(axis=1))
            side = np.zeros(len(at), bool)
            slot = np.full(len(at), n_numbers + j)
            found.append((at, slot, level + room.spans[j], side, extra[at, level], sums[at, :, level]))
        if not found:
            return None
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))
