"""Branch and bound over the boxes of a tree ensemble: the cheapest recourse, or a proof that there is none.

A box is a part of what is open to a person. Its cheapest point costs no more than anything else in it; the best
leaf that each tree still has in it adds no less. So a box whose cheapest point is accepted holds nothing cheaper,
and a box whose best leaves together are refused holds nothing at all. Any other is cut in two where most of the
trees would gain. The cheapest box is looked at first: the first point accepted there is the cheapest of all.

People are looked at together, some boxes of each at a time, in arrays that hold of everybody's leaves only those
within reach, at less than the best that was found. Dives find a good point first, so that little is in reach. A
panel is asked member by member: a guide takes part from the first point on that all members so far accept and it
refuses.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdtrue.models import Boxes
from holdtrue.search._additive import addend
from holdtrue.search.exact._needs import Needs
from holdtrue.search.exact._room import Box, Corner, Room

AT_ONCE = 64  # boxes of one person, at most, where many people are looked at
BATCH = 2048  # boxes of all people
ELEMENTS = 2_000_000  # leaves of boxes held in memory at a time
PAIRS = 8  # of people and needs, whose leaves are looked through together: as many as a cache holds
CLOSE = 1e-6  # by which share the best may be dearer than the cheapest
TINY = 1e-12
UNNAMED = -1.0
SHARES = (
    1.0,
    0.5,
    0.25,
    0.125,
)  # of what is lacking, that a change of a dive must bring: long strides, then short
LEAD = 0.5  # the same, of dives that begin with a given feature
DEEPEST = 12  # changes of a dive
IMPROVED = 4  # rounds in which a point's changes are put in question
WITHIN = 8.0  # limit of the first dive, in what a recourse costs at least
FIRST, FURTHER = 1.5, 2.0  # a person's first limit, in what recourse costs at least, and every further one
LAST = 500  # boxes of a last dive
JOIN = 2  # needs that take part from a point on that they refuse, at most


class Pool(NamedTuple):
    """Boxes still to be looked at, with the cost of their cheapest points, and how far each may be from a yes."""

    box: Box
    cost: np.ndarray
    hope: np.ndarray

    def take(self, rows: np.ndarray) -> "Pool":
        """Some of them."""
        return Pool(self.box.take(rows), self.cost[rows], self.hope[rows])


class Cut(NamedTuple):
    """Where boxes are cut: the feature, the edge of a number and whether what helps lies above it, and how much.

    A dive that takes a level names it in place of the edge; `UNNAMED` is any but the cheapest.
    """

    slot: np.ndarray
    edge: np.ndarray
    rises: np.ndarray
    gain: np.ndarray


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


class Look(NamedTuple):
    """What boxes hold: the most, and what their cheapest points have, of every need; and where to cut them."""

    most: np.ndarray
    now: np.ndarray
    cut: Cut


@dataclass
class Answers:
    """What was found for each person, and what it proves.

    Attributes
    ----------
    cost : of the best point, in units that add up; infinite where there is none.
    value, level : the best point.
    bound : nothing costs less; infinite where nothing is left at all.
    n_boxes : how many were looked at.
    """

    cost: np.ndarray
    value: np.ndarray
    level: np.ndarray
    bound: np.ndarray
    n_boxes: np.ndarray


def ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers ``start, start + 1, ...``, `count` of them, one range after the other."""
    ends = np.cumsum(count)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + count, count)


class Leaves:
    """Of every person, the leaves within reach, tree by tree: for the needs that take part.

    Attributes
    ----------
    active : which needs take part, for each person.
    base : what a person has of each need in every box: before any tree, and from trees with one leaf in reach.
    entry : what each feature that can be changed costs at least in a leaf.
    cost, off, which : these added up, how many features a person must change to be there, and their places added
        up.
    """

    def __init__(self, boxes: Boxes, needs: Needs, room: Room) -> None:
        self.boxes, self.needs, self.room = boxes, needs, room
        n = room.n_people
        self.base = np.zeros((n, needs.n))
        self.active = np.zeros((n, needs.n), bool)
        # Features that nobody can change, and that no tree asks about, are looked at once or not at all.
        asked = [
            np.isfinite(boxes.low[j]).any() or np.isfinite(boxes.high[j]).any() or not boxes.absent[j].all()
            for j in range(boxes.n_numbers)
        ]
        asked = [j for j, any_ in enumerate(asked) if any_]
        self.asked = sorted(asked, key=lambda j: room.free[:, j].mean())  # first what cannot be changed
        self.numbers = [j for j in asked if room.free[:, j].any()]
        spans = list(zip(room.spans[:-1].tolist(), room.spans[1:].tolist(), strict=True))
        self.levels_asked = [j for j, members in enumerate(boxes.members) if len(members) > 1]
        several = [np.isfinite(room.price[:, a:b]).sum(axis=1).max(initial=0) > 1 for a, b in spans]
        self.levels = [j for j in self.levels_asked if several[j]]
        self.set_price = {
            j: np.where(boxes.members[j][None], room.price[:, None, slice(*spans[j])], np.inf).min(axis=2)
            for j in self.levels_asked
        }
        self.known: tuple[np.ndarray, ...] | None = None
        empty = np.zeros(0, np.int64)
        self._hold(empty, empty, np.zeros((0, len(self.numbers) + len(self.levels)), np.float32))

    def add(self, person: np.ndarray, need: np.ndarray, limit: np.ndarray) -> None:
        """Let needs take part, a pair of person and need each, with what costs less than the person's limit."""
        needs = self.needs
        self.active[person, need] = True
        self.base[person, need] = needs.base[need]
        parts = [(self.person, self.leaf, self.entry)]
        known = self.needs.member[need] == 0 if self.known is not None else np.zeros(len(need), bool)
        if self.known is not None and known.any():
            wanted = np.zeros(self.room.n_people, bool)
            wanted[person[known]] = True
            rows = np.flatnonzero(wanted[self.known[0]] & (self.known[3] < _above(limit)[self.known[0]]))
            parts.append((self.known[0][rows], self.known[1][rows], self.known[2][rows]))
        person, need = person[~known], need[~known]
        for i in range(0, len(person), PAIRS):
            parts.append(self._within_reach(person[i : i + PAIRS], need[i : i + PAIRS], limit))
        if self.known is None:  # of the model itself, asked for again whenever a limit is raised
            own = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
            self.known = (*own, self.room.total(own[2]))
        who, leaf, entry = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.argsort(who * np.int64(len(needs.leaf)) + leaf, kind="stable")
        self._hold(who[order], leaf[order], entry[order])

    def drop(self, person: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forget all leaves of some people; returns the pairs of person and need that took part."""
        gone = np.zeros(self.room.n_people, bool)
        gone[person] = True
        who, need = np.nonzero(self.active & gone[:, None])
        kept = np.flatnonzero(~gone[self.person])
        self._hold(self.person[kept], self.leaf[kept], self.entry[kept])
        return who, need

    def shrink(self, limit: np.ndarray) -> None:
        """Forget the leaves that cost as much as the best that was found."""
        kept = np.flatnonzero(self.cost < _above(limit)[self.person])
        if len(kept) < len(self.person):
            self._hold(self.person[kept], self.leaf[kept], self.entry[kept])

    def enough(self) -> np.ndarray:
        """What a recourse costs at least: the cost from which on the best leaves in reach are enough."""
        out = np.zeros(self.room.n_people)
        # How much more a tree can add from each of its leaves on, from the cheapest to the dearest.
        order = np.lexsort((self.cost, self.tree_of))
        tree, value, cost = self.tree_of[order], self.value[order], self.cost[order]
        person, need = self.person[order], self.tree_need[tree] if len(tree) else tree
        span = 2 * np.abs(value).max(initial=0.0) + 1.0
        most = np.maximum.accumulate(value + span * tree) - span * tree
        first = np.diff(tree, prepend=-1) != 0
        gain = np.where(first, 0.0, most - np.concatenate([[0.0], most[:-1]]))
        base = self.base.copy()
        np.add.at(base, (person[first], need[first]), value[first])  # leaves that cost nothing: people as they are
        for k in np.flatnonzero(self.active.any(axis=0)):
            rows = np.flatnonzero((need == k) & (gain > 0))
            rows = rows[np.lexsort((cost[rows], person[rows]))]
            who = person[rows]
            begins = np.flatnonzero(np.diff(who, prepend=-1))
            total = np.cumsum(gain[rows])
            before = np.concatenate([[0.0], total])[begins]
            total += base[who, k] - np.repeat(before, np.diff(np.append(begins, len(rows))))
            reached = np.flatnonzero(total >= -1e-9)
            least = np.where(base[:, k] >= 0, 0.0, np.inf)
            np.minimum.at(least, who[reached], cost[rows][reached])
            out = np.maximum(out, np.where(self.active[:, k], least, 0.0))
        return out

    def _within_reach(
        self, person: np.ndarray, need: np.ndarray, limit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Leaves of each pair that the person can be in at less than a limit, and what features cost there."""
        needs, boxes, room = self.needs, self.boxes, self.room
        count = needs.first[need + 1] - needs.first[need]
        who, leaf = np.repeat(person, count), ranges(needs.first[need], count)
        at = needs.leaf[leaf]
        for j in self.asked:
            own, free = room.own[who, j], room.free[who, j]
            if free.all():
                continue
            here = (boxes.low[j][at] < own) & (own <= boxes.high[j][at])
            if room.missing[:, j].any():
                here = np.where(room.missing[who, j], boxes.absent[j][at], here)
            kept = np.flatnonzero(here | free)
            if len(kept) < len(who):
                who, leaf, at = who[kept], leaf[kept], at[kept]
        for j in self.levels_asked:
            if j not in self.levels:
                kept = np.flatnonzero(np.isfinite(self.set_price[j][who, boxes.sets[j][at]]))
                who, leaf, at = who[kept], leaf[kept], at[kept]
        prices = [self._entry(j, who, at) for j in self.numbers]
        prices += [self.set_price[j][who, boxes.sets[j][at]] for j in self.levels]
        entry = np.stack(prices, axis=1).astype(np.float32) if prices else np.zeros((len(who), 0), np.float32)
        kept = np.flatnonzero(room.total(entry) < _above(limit)[who])
        return who[kept], leaf[kept], entry[kept]

    def _entry(self, j: int, who: np.ndarray, at: np.ndarray) -> np.ndarray:
        """What a number costs at least in each leaf."""
        room = self.room
        low, high, own = self.boxes.low[j][at], self.boxes.high[j][at], room.own[who, j]
        rises, falls = own <= low, own > high
        price = np.zeros(len(who))
        i = np.flatnonzero(rises | falls)
        edge = np.where(rises[i], low[i], high[i]).astype(np.float64)
        who = who[i]
        out = np.where(rises[i], edge >= room.upper[who, j] + 1e-6, edge < room.lower[who, j] - 1e-6)
        paid = addend(room.norm, room.weight[who, j], edge - own[i])
        price[i] = np.where(out | ~room.free[who, j], np.inf, np.maximum(paid, TINY))
        return price

    def _hold(self, person: np.ndarray, leaf: np.ndarray, entry: np.ndarray) -> None:
        """Where people and trees begin; a tree with one leaf left adds the same to every box."""
        needs, n = self.needs, self.room.n_people
        key = person * np.int64(len(needs.need)) + needs.tree[leaf]
        begins = np.flatnonzero(np.diff(key, prepend=-1))
        counts = np.diff(np.append(begins, len(key)))
        alone = counts == 1
        if alone.any():
            at = begins[alone]
            np.add.at(self.base, (person[at], needs.need[needs.tree[leaf[at]]]), needs.value[leaf[at]])
            kept = np.repeat(~alone, counts)
            person, leaf, entry = person[kept], leaf[kept], entry[kept]
            counts = counts[~alone]
            begins = np.cumsum(counts) - counts
        self.person, self.leaf, self.entry = person, leaf, entry
        self.cost = self.room.total(entry)
        self.off = (entry > 0).sum(axis=1, dtype=np.int16)
        self.which = ((entry > 0) @ np.arange(entry.shape[1], dtype=np.int16)).astype(np.int16)
        self.of_person = np.searchsorted(person, np.arange(n + 1))
        self.tree_need = needs.need[needs.tree[leaf[begins]]] if len(begins) else begins
        self.tree_of = np.repeat(np.arange(len(begins)), counts)
        self.trees_of_person = np.searchsorted(begins, self.of_person)
        self.box = needs.leaf[leaf]
        self.value = needs.value[leaf]


class BranchAndBound:
    """The search for some people at once.

    Parameters
    ----------
    boxes, needs, room
        The leaves, what they must add up to, and what is open to the people.
    sums : callable
        What every need has at points: numbers, and codes of levels.
    max_changes : int
        Features changed at most.
    n_boxes : int
        Boxes looked at for one person, at most.
    accepts : callable, optional
        Of some people's points: which may be given to them, limits and model aside.
    """

    def __init__(
        self,
        boxes: Boxes,
        needs: Needs,
        room: Room,
        sums: Callable[[np.ndarray, Corner], np.ndarray],
        *,
        max_changes: int,
        n_boxes: int,
        accepts: Callable[[np.ndarray, Corner], np.ndarray] | None = None,
    ) -> None:
        self.boxes, self.needs, self.room, self.sums = boxes, needs, room, sums
        self.max_changes, self.n_boxes, self.accepts = max_changes, n_boxes, accepts
        n = room.n_people
        self.best = np.full(n, np.inf)  # costs of what was found, or the limit
        self.found = np.zeros(n, bool)
        self.at_most = np.full(n, np.inf)  # cost within which leaves are listed
        self.value, self.level = room.own.copy(), room.level.copy()
        self.looked = np.zeros(n, int)
        self.left = np.full(n, np.inf)  # the cheapest box that was not looked at
        self.rounds = np.zeros(n, int)
        self.last = np.zeros(n, bool)  # who is on a last dive
        self.leaves = Leaves(boxes, needs, room)

    # ---- the loop -----------------------------------------------------------------------------------

    def run(self, deadline: float | None = None, on_people: Callable[[int], None] | None = None) -> Answers:
        """Look at boxes until nothing cheaper can be left, for everybody, or the time is over.

        Bounds are narrow where only little may be spent. So a person's limit is what a dive has found; where it
        has found nothing, little at first, from what a recourse costs at least, and then raised.
        """
        room, leaves = self.room, self.leaves
        everybody = np.arange(room.n_people)
        own = np.flatnonzero(self.needs.member == 0)
        leaves.add(np.repeat(everybody, len(own)), np.tile(own, len(everybody)), self.best)
        self.least = leaves.enough()
        self.reach = np.zeros(room.n_people)
        np.maximum.at(self.reach, leaves.person, leaves.cost)
        some = np.flatnonzero(np.isfinite(self.least))
        limit = np.maximum(self.least * WITHIN, TINY)
        while len(some) and not (deadline is not None and time.monotonic() >= deadline):
            self._begun(some, limit)
            self._dive(some)
            some = some[~self.found[some] & np.isfinite(self.best[some])]
            limit = limit * WITHIN
        limit = np.where(self.found, self.best, np.maximum(self.least * FIRST, TINY))
        pool = self._begun(np.flatnonzero(np.isfinite(self.least)), limit)
        told = 0
        while True:
            pool = self._open(pool, self._raised(pool))
            if not len(pool.cost):
                break
            if deadline is not None and time.monotonic() >= deadline:
                np.minimum.at(self.left, pool.box.person, pool.cost)
                break
            chosen = self._chosen(pool)
            rest = np.ones(len(pool.cost), bool)
            rest[chosen] = False
            some, pool = pool.take(chosen), pool.take(np.flatnonzero(rest))
            pool = self._open(pool, self._round(some))
            if on_people is not None:
                done = room.n_people - len(np.unique(pool.box.person))
                if done > told:
                    on_people(done - told)
                    told = done
        if on_people is not None and told < room.n_people:
            on_people(room.n_people - told)
        bound = np.minimum(self.left, np.where(self.found, self.best, np.inf))
        return Answers(np.where(self.found, self.best, np.inf), self.value, self.level, bound, self.looked)

    def _begun(self, person: np.ndarray, limit: np.ndarray) -> Pool:
        """All that is open to some people, within a limit each."""
        beyond = (limit >= self.reach) & ~self.found  # every leaf costs less
        self.best[person] = np.where(beyond, np.inf, limit)[person]
        self.at_most[person] = self.best[person]
        self.rounds[person] = 0
        pairs = self.leaves.drop(person)
        self.leaves.add(*pairs, self.at_most)
        return self._pooled(self.room.whole().take(person), np.zeros(len(person)))

    def _raised(self, pool: Pool) -> Pool:
        """A higher limit for whom nothing was found within theirs; who has had enough boxes gets a last dive."""
        done = np.ones(self.room.n_people, bool)
        done[pool.box.person] = False
        again = done & ~self.found & np.isfinite(self.best) & np.isfinite(self.least) & ~self.last
        tired = again & (self.looked >= self.n_boxes)
        self.last |= tired
        limit = np.where(tired, np.inf, self.best * FURTHER)
        rows = np.flatnonzero(again)
        return self._begun(rows, limit) if len(rows) else pool.take(np.zeros(0, int))

    def _open(self, *pools: Pool) -> Pool:
        """What of these could still be cheaper than the best; leaves that cannot are forgotten."""
        person, low, high, levels = (np.concatenate(p) for p in zip(*(pool.box for pool in pools), strict=True))
        cost = np.concatenate([pool.cost for pool in pools])
        hope = np.concatenate([pool.hope for pool in pools])
        enough = cost < self._ceiling()[person]
        tired = self.looked[person] >= self.n_boxes + LAST * self.last[person]
        dropped = enough & tired
        if dropped.any():
            np.minimum.at(self.left, person[dropped], cost[dropped])
        kept = np.flatnonzero(enough & ~tired)
        less = self.best < 0.9 * self.at_most
        if less.any():
            self.at_most = np.where(less, self.best, self.at_most)
            self.leaves.shrink(self.at_most)
        return Pool(Box(person[kept], low[kept], high[kept], levels[kept]), cost[kept], hope[kept])

    def _ceiling(self) -> np.ndarray:
        """What a box must cost less than to matter."""
        return np.where(np.isfinite(self.best), self.best * (1 - CLOSE), np.inf)

    def _pooled(self, box: Box, hope: np.ndarray) -> Pool:
        """New boxes, narrowed by the linear constraints; those that hold nothing are left out."""
        box, alive = self.room.narrowed(box)
        corner = self.room.corner(box)
        alive = alive & np.isfinite(corner.cost) & (corner.n_changed <= self.max_changes)
        kept = np.flatnonzero(alive & (corner.cost < self._ceiling()[box.person]))
        return Pool(box.take(kept), corner.cost[kept], hope[kept])

    def _chosen(self, pool: Pool) -> np.ndarray:
        """The cheapest boxes of each person, more from round to round, and the one that may be nearest to a yes.

        The first prove what the best costs at least, the others find it.
        """
        person = pool.box.person
        order = np.lexsort((pool.cost, person))
        who = person[order]
        first = np.flatnonzero(np.diff(who, prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        most = max(AT_ONCE, BATCH // len(first))
        self.rounds[who[first]] += 1
        quota = np.where(self.last, 0, np.minimum(2 ** np.minimum(self.rounds, 12), most))
        chosen = order[place < quota[who]]
        by_hope = np.lexsort((pool.cost, pool.hope, person))
        chosen = np.union1d(chosen, by_hope[first])
        return chosen[:BATCH] if len(chosen) > BATCH else chosen

    # ---- one round ----------------------------------------------------------------------------------

    def _round(self, pool: Pool) -> Pool:
        """Look at some boxes, keep the points that are accepted, and cut what may hold cheaper ones."""
        # By person: their leaves lie together.
        pool = pool.take(np.argsort(pool.box.person, kind="stable"))
        box, person = pool.box, pool.box.person
        np.add.at(self.looked, person, 1)
        corner = self.room.corner(box)
        look = self._look(box, corner)
        idle = ~self.leaves.active[person]
        yes = self.needs.met(np.where(idle, 0.0, look.now))
        could = self.needs.met(np.where(idle, 0.0, look.most))
        cut = look.cut
        again = np.zeros(len(person), bool)
        if yes.any():
            again, cut = self._offered(box, corner, np.flatnonzero(yes), cut)
        going = np.flatnonzero(could & ~again & (cut.slot >= 0) & (corner.cost < self._ceiling()[person]))
        return self._open(pool.take(np.flatnonzero(again)), self._cut(box, corner, look, cut, idle, going))

    def _offered(self, box: Box, corner: Corner, rows: np.ndarray, cut: Cut) -> tuple[np.ndarray, Cut]:
        """Keep the cheapest points that all needs accept and no limit forbids.

        Returns the boxes to be looked at again, now that a guide has refused their points, and the cuts, of those
        whose points break a limit between its features.
        """
        needs, leaves = self.needs, self.leaves
        person = box.person[rows]
        points = Corner(*(part[rows] for part in corner))
        again = np.zeros(len(box.person), bool)
        ok = np.ones(len(rows), bool)
        if self.room.limited:
            broken = self.room.broken(person, points)
            ok &= ~np.concatenate(broken, axis=1).any(axis=1)
            if not ok.all():
                cut = self._cut_by_limits(box, corner, rows[~ok], (broken[0][~ok], broken[1][~ok]), cut)
                self._mended(person[~ok], Corner(*(part[~ok] for part in points)), broken[0][~ok])
        if self.accepts is not None:
            ok &= self.accepts(person, points)
        if (~leaves.active[person[ok]]).any():
            at = np.flatnonzero(ok)
            sums = self.sums(person[at], Corner(*(part[at] for part in points)))
            refused = ~needs.met(sums)
            if refused.any():
                lack = np.where(leaves.active[person[at]], np.inf, sums)[refused]
                neediest = np.argsort(lack, axis=1)[:, :JOIN]
                who, need = np.repeat(person[at[refused]], neediest.shape[1]), neediest.ravel()
                short = np.take_along_axis(lack, neediest, axis=1).ravel() < 0
                pairs = np.unique(np.stack([who[short], need[short]]), axis=1)
                leaves.add(pairs[0], pairs[1], self.at_most)
                again[rows[at[refused]]] = np.isin(person[at[refused]], pairs[0])
                ok[at[refused]] = False
        self._keep(person[ok], Corner(*(part[ok] for part in points)))
        return again, cut

    def _keep(self, person: np.ndarray, points: Corner) -> None:
        """The cheapest point of each person, if it is cheaper than the best."""
        order = np.lexsort((points.cost, person))
        order = order[np.diff(person[order], prepend=-1) != 0]
        order = order[points.cost[order] < self.best[person[order]]]
        who = person[order]
        self.best[who] = points.cost[order]
        self.found[who] = True
        self.value[who], self.level[who] = points.value[order], points.level[order]

    def _cut(self, box: Box, corner: Corner, look: Look, cut: Cut, idle: np.ndarray, rows: np.ndarray) -> Pool:
        """The two halves of each box."""
        lack = np.where(idle[rows], 0.0, np.maximum(-look.now[rows], 0.0) / np.maximum(-self.needs.base, TINY))
        lack = lack.sum(axis=1)
        beyond, here = self._halves(box.take(rows), corner.level[rows], Cut(*(part[rows] for part in cut)))
        return self._open(
            self._pooled(beyond, lack * (1.0 - np.minimum(cut.gain[rows], 1.0))), self._pooled(here, lack)
        )

    def _halves(self, box: Box, level: np.ndarray, cut: Cut) -> tuple[Box, Box]:
        """What lies beyond the cut, and what lies where the cheapest point does.

        Of levels, the cheapest point's own is one half; where a dive names another, that is the half beyond.
        """
        n, at = self.room.own.shape[1], np.arange(len(box.person))
        beyond, here = (Box(box.person, box.low.copy(), box.high.copy(), box.levels.copy()) for _ in range(2))
        number = cut.slot < n
        column, edge = np.where(number, cut.slot, 0), cut.edge.astype(np.float32)
        for part, above in ((beyond, cut.rises), (here, ~cut.rises)):
            up, down = number & above, number & ~above
            part.low[at[up], column[up]] = edge[up]
            part.high[at[down], column[down]] = edge[down]
            # A dive may turn back: then the other end gives way.
            part.high[at[up], column[up]] = np.where(
                box.high[at[up], column[up]] > edge[up], box.high[at[up], column[up]], np.inf
            )
            part.low[at[down], column[down]] = np.where(
                box.low[at[down], column[down]] < edge[down], box.low[at[down], column[down]], -np.inf
            )
        for i in np.unique(cut.slot[~number]) - n:
            own = np.flatnonzero(cut.slot == n + i)
            part = slice(self.room.spans[i], self.room.spans[i + 1])
            taken, named = level[own, i], cut.edge[own].astype(int)
            here.levels[own, part] = False
            here.levels[own, taken] = True
            beyond.levels[own, taken] = False
            rows, named = own[named >= 0], named[named >= 0]
            beyond.levels[rows, part] = False
            beyond.levels[rows, named] = True
        return beyond, here

    # ---- dives --------------------------------------------------------------------------------------

    def _dive(self, person: np.ndarray) -> None:
        """Find good points for some people: one change after another, that which helps most for its cost.

        Then each change of the best point in turn is taken back, and the cheapest that will do put in its place.
        """
        # Dives of longer and shorter strides, and one that begins with each feature.
        n_features = len(self.leaves.numbers) + len(self.leaves.levels)
        shares = np.repeat(np.append(SHARES, np.full(n_features, LEAD)), len(person))
        begin = np.repeat(np.append(np.full(len(SHARES), -1), np.arange(n_features)), len(person))
        self._descend(self.room.whole().take(np.tile(person, len(SHARES) + n_features)), shares, DEEPEST, begin)
        for _ in range(IMPROVED):
            who = person[self.found[person]]
            before = self.best[who]
            boxes = [self._without(who, column) for column in range(n_features)]
            box = Box(*(np.concatenate(part) for part in zip(*boxes, strict=True)))
            if not len(box.person):
                break
            self._descend(box, np.ones(len(box.person)), 2)
            person = who[self.best[who] < before * (1 - 1e-3)]
            if not len(person):
                break

    def _without(self, person: np.ndarray, column: int) -> Box:
        """Everything beyond the best points of people, as far as one of the features that these change is free."""
        room, leaves = self.room, self.leaves
        numbers = leaves.numbers
        own, value = room.own[person], self.value[person]
        if column < len(numbers):
            changed = value[:, numbers[column]] != own[:, numbers[column]]
        else:
            j = leaves.levels[column - len(numbers)]
            changed = self.level[person, j] != room.level[person, j]
        person = (
            person[changed & ~np.isnan(self.value[person][:, :1]).all(axis=1)] if len(numbers) else person[changed]
        )
        box = room.whole().take(person)
        own, value = room.own[person], self.value[person]
        up, down = value > own, value < own
        box.low[up], box.high[down] = _under(value)[up], value[down]
        for j in range(room.n_levels):
            moved = np.flatnonzero(self.level[person, j] != room.level[person, j])
            box.levels[moved, room.spans[j] : room.spans[j + 1]] = False
            box.levels[moved, self.level[person[moved], j]] = True
        if column < len(numbers):
            box.low[:, numbers[column]], box.high[:, numbers[column]] = -np.inf, np.inf
        else:
            part = slice(room.spans[j := leaves.levels[column - len(numbers)]], room.spans[j + 1])
            box.levels[:, part] = np.isfinite(room.price[person, part])
        return box

    def _descend(self, box: Box, shares: np.ndarray, depth: int, begin: np.ndarray | None = None) -> None:
        """Go on from the cheapest point of each box, a change at a time, to points that are accepted.

        `begin` names the feature that changes first, by its place; any where it is below 0.
        """
        for _ in range(depth + self.needs.n):
            box, alive = self.room.narrowed(box)
            corner = self.room.corner(box)
            alive &= (corner.cost < self._ceiling()[box.person]) & (corner.n_changed <= self.max_changes)
            rows = np.flatnonzero(alive)
            if begin is None:  # dives meet
                rows = rows[_first_of_each(box.person[rows], corner.value[rows], corner.level[rows])]
            rows = rows[np.argsort(box.person[rows], kind="stable")]
            if not len(rows):
                return
            box, shares, corner = box.take(rows), shares[rows], Corner(*(part[rows] for part in corner))
            first = None if begin is None else begin[rows]
            np.add.at(self.looked, box.person, 1)
            parts = []
            for some in self._in_parts(box):
                part, at = box.take(some), Corner(*(part[some] for part in corner))
                seen = self._seen(part, at)
                only = None if first is None else first[some]
                parts.append((seen.now, self._stride(part, at, seen, shares[some], only)))
            begin = None
            now = np.concatenate([part[0] for part in parts])
            cut = Cut(*(np.concatenate(part) for part in zip(*(p[1] for p in parts), strict=True)))
            idle = ~self.leaves.active[box.person]
            yes = self.needs.met(np.where(idle, 0.0, now))
            again = np.zeros(len(yes), bool)
            if yes.any():
                again, _ = self._offered(box, corner, np.flatnonzero(yes), cut)
            going = np.flatnonzero(again | (~yes & (cut.slot >= 0)))
            if not len(going):
                return
            beyond = self._halves(box.take(going), corner.level[going], Cut(*(part[going] for part in cut)))[0]
            stays = again[going]
            box = Box(
                box.person[going],
                *(np.where(stays[:, None], old[going], new) for old, new in zip(box[1:], beyond[1:], strict=True)),
            )
            shares = shares[going]

    def _stride(
        self, box: Box, corner: Corner, seen: Seen, shares: np.ndarray, only: np.ndarray | None = None
    ) -> Cut:
        """One change of each point: the cheapest that is accepted, or else one that brings most for its cost.

        A change that does not bring enough of what is lacking, or of the most that any brings, is left out.
        """
        room, n = self.room, len(box.person)
        idle = ~self.leaves.active[box.person]
        now = np.where(idle, np.inf, seen.now)
        lacks = np.maximum(-now.min(axis=1), TINY)
        moves = self._moves(box, corner, seen)
        slot, edges, up, most = np.full(n, -1), np.zeros(n), np.zeros(n, bool), np.zeros(n)
        if moves is not None:
            at, which, edge, rises, extra, gains = moves
            least = (now[at] + gains).min(axis=1)
            share = 1.0 + least / lacks[at]  # of what is lacking, that the change brings
            usable = np.isfinite(extra) & (share > 1e-6)
            usable &= corner.cost[at] + extra < self._ceiling()[box.person[at]]
            if only is not None:
                n_numbers = room.own.shape[1]
                names = np.array([*self.leaves.numbers, *(n_numbers + j for j in self.leaves.levels), -1])
                usable &= (only[at] < 0) | (which == names[only[at]])
            at, which, edge, rises, extra, share = (p[usable] for p in (at, which, edge, rises, extra, share))
            top = np.zeros(n)
            np.maximum.at(top, at, share)
            done = share >= 1.0
            finishing = np.zeros(n, bool)
            finishing[at[done]] = True
            enough = share >= np.minimum(shares[at], top[at]) - 1e-9
            worth = np.where(enough, share / np.maximum(extra, 1e-6), -np.inf)
            worth = np.where(finishing[at], np.where(done, -extra, -np.inf), worth)
            order = np.lexsort((-worth, at))
            order = order[np.diff(at[order], prepend=-1) != 0]
            rows = at[order]
            slot[rows], edges[rows], up[rows], most[rows] = which[order], edge[order], rises[order], share[order]
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
            price = addend(room.norm, room.weight[who, j], edge.astype(np.float64) - room.own[who, j])
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

    def _in_parts(self, box: Box) -> list[np.ndarray]:
        """Rows of boxes, so many at a time as fit into memory."""
        counts = np.diff(self.leaves.of_person)[box.person]
        parts, start = [], 0
        while start < len(counts):
            stop = start + max(1, int(np.searchsorted(np.cumsum(counts[start:]), ELEMENTS)))
            parts.append(np.arange(start, min(stop, len(counts))))
            start = stop
        return parts

    # ---- looking at boxes ---------------------------------------------------------------------------

    def _look(self, box: Box, corner: Corner) -> Look:
        """In parts that fit into memory."""
        parts = [
            self._look_at(box.take(rows), Corner(*(part[rows] for part in corner))) for rows in self._in_parts(box)
        ]
        if len(parts) == 1:
            return parts[0]
        cut = Cut(*(np.concatenate(part) for part in zip(*(p.cut for p in parts), strict=True)))
        return Look(np.concatenate([p.most for p in parts]), np.concatenate([p.now for p in parts]), cut)

    def _look_at(self, box: Box, corner: Corner) -> Look:
        seen = self._seen(box, corner)
        n = len(box.person)
        # What each tree could add to what is lacking, as a share of it.
        share = np.where(seen.now < 0, 1.0 / np.maximum(-seen.now, TINY), 0.0)
        gain = np.where(np.isfinite(seen.tree_most), seen.tree_most - seen.tree_now, 0.0) * share.ravel()[seen.key]
        return Look(seen.most, seen.now, self._where(corner, seen, gain, n))

    def _seen(self, box: Box, corner: Corner) -> Seen:
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
        kept = np.flatnonzero(fits & (cost < _above(self.best)[person][node]))
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

    # ---- limits across features ---------------------------------------------------------------------

    def _cut_by_limits(
        self, box: Box, corner: Corner, rows: np.ndarray, broken: tuple[np.ndarray, np.ndarray], cut: Cut
    ) -> Cut:
        """Where to cut boxes whose points the model accepts and a limit forbids: between what the limit names."""
        room, n = self.room, self.room.own.shape[1]
        some = box.take(rows)
        open_levels = np.stack(
            [some.levels[:, a:b].sum(axis=1) > 1 for a, b in zip(room.spans[:-1], room.spans[1:], strict=True)]
            + [np.zeros(len(rows), bool)],
            axis=1,
        )
        slot, edge = np.full(len(rows), -1), np.full(len(rows), UNNAMED, np.float32)
        for i, (when, then, _) in enumerate(room.clauses):
            for j in (*then, *when):
                hit = broken[1][:, i] & open_levels[:, j] & (slot < 0)
                slot[hit] = n + j
        if room.right.shape[1]:
            # How much each number of the box could take back of what is exceeded.
            value = corner.value[rows]
            with np.errstate(invalid="ignore", over="ignore"):
                least, most = room.above(some.person, some.low), room.below(some.person, some.high)
            row = broken[0].argmax(axis=1)
            a = room.rows_of_numbers[row]
            end = np.where(a > 0, np.fmin(least, value), np.fmax(most, value))
            relief = np.where(np.isfinite(end), np.abs(a * (value - end)), 0.0)
            at = relief.argmax(axis=1)
            hit = broken[0].any(axis=1) & (slot < 0) & (relief.max(axis=1, initial=0.0) > 1e-7)
            i = np.flatnonzero(hit)
            slot[i] = at[i]
            edge[i] = ((value[i, at[i]] + end[i, at[i]]) / 2).astype(np.float32)
            for j in range(room.n_levels):
                named = (room.rows_of_levels[:, room.spans[j] : room.spans[j + 1]] != 0).any(axis=1)[row]
                hit = broken[0].any(axis=1) & (slot < 0) & named & open_levels[:, j]
                slot[hit] = n + j
        out = Cut(*(part.copy() for part in cut))
        out.slot[rows], out.edge[rows], out.gain[rows] = slot, edge, 0.0
        out.rises[rows] = False
        return out

    def _mended(self, person: np.ndarray, points: Corner, broken: np.ndarray) -> None:
        """Offer points that break one linear constraint, with one number set to where it holds."""
        room = self.room
        rows = np.flatnonzero(broken.any(axis=1))
        if not len(rows):
            return
        person = person[rows]
        value, row = points.value[rows], broken[rows].argmax(axis=1)
        a, right = room.rows_of_numbers[row], room.right[person, row]
        left = (np.nan_to_num(value.astype(np.float64)) * a).sum(axis=1)
        for j in range(room.n_levels):
            left += room.rows_of_levels[row, points.level[rows, j]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            edge = value - (left - right)[:, None] / a
            to = np.where(a > 0, room.below(person, edge.astype(np.float32)), room.above(person, _under(edge)))
        to = np.where((a != 0) & np.isfinite(edge), to, np.nan)
        price = np.where(np.isnan(to), np.inf, room.spent(person, np.where(np.isnan(to), value, to)))
        at = price.argmin(axis=1)
        usable = np.isfinite(price[np.arange(len(rows)), at])
        i = np.flatnonzero(usable)
        moved = value.copy()
        moved[i, at[i]] = to[i, at[i]]
        point = self._priced(person, moved, points.level[rows])
        kept = usable & (point.cost < self.best[person]) & (point.n_changed <= self.max_changes)
        kept &= ~np.concatenate(room.broken(person, point), axis=1).any(axis=1)
        if self.accepts is not None:
            kept &= self.accepts(person, point)
        i = np.flatnonzero(kept)
        if len(i):
            some = Corner(*(part[i] for part in point))
            met = self.needs.met(self.sums(person[i], some))
            self._keep(person[i[met]], Corner(*(part[met] for part in some)))

    def _priced(self, person: np.ndarray, value: np.ndarray, level: np.ndarray) -> Corner:
        room = self.room
        parts = [room.spent(person, value), np.take_along_axis(room.price[person], level, axis=1)]
        known = ~room.missing[person]
        changed = (known & (value != room.own[person])).sum(axis=1) + (level != room.level[person]).sum(axis=1)
        return Corner(value, level, room.total(np.concatenate(parts, axis=1)), changed)


def _first_of_each(person: np.ndarray, value: np.ndarray, level: np.ndarray) -> np.ndarray:
    """The first of every distinct point."""
    parts = [person[:, None].astype(np.int32), np.ascontiguousarray(value).view(np.int32), level.astype(np.int32)]
    rows = np.ascontiguousarray(np.concatenate(parts, axis=1))
    keys = rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()
    return np.sort(np.unique(keys, return_index=True)[1])


def _above(limit: np.ndarray) -> np.ndarray:
    """A little more than a limit: costs of leaves are added up in another order than those of points."""
    return limit * (1 + 1e-5) + 1e-7


def _under(value: np.ndarray) -> np.ndarray:
    return (value - 1e-6 * np.maximum(1.0, np.abs(value))).astype(np.float32)
