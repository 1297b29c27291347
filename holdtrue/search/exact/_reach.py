"""Which leaves of a tree ensemble are within people's reach, and at what cost."""

import numpy as np

from holdtrue.models import Boxes
from holdtrue.search.exact._needs import Needs
from holdtrue.search.exact._room import Room

PAIRS = 8  # of people and needs, whose leaves are looked through together: as many as a cache holds
TINY = 1e-12


def ranges(start: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The numbers ``start, start + 1, ...``, `count` of them, one range after the other."""
    ends = np.cumsum(count)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(start - ends + count, count)


def above(limit: np.ndarray) -> np.ndarray:
    """A little more than a limit: costs of leaves are added up in another order than those of points."""
    return limit * (1 + 1e-5) + 1e-7


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
            rows = np.flatnonzero(wanted[self.known[0]] & (self.known[3] < above(limit)[self.known[0]]))
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
        kept = np.flatnonzero(self.cost < above(limit)[self.person])
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
        kept = np.flatnonzero(room.total(entry) < above(limit)[who])
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
        paid = room.spent_on(j, who, edge)
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
