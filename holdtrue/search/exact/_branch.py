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
from holdtrue.search.exact._across import cut_by_limits
from holdtrue.search.exact._cuts import Cuts
from holdtrue.search.exact._look import Cut, Look, Sight
from holdtrue.search.exact._needs import Needs
from holdtrue.search.exact._reach import TINY, Leaves
from holdtrue.search.exact._room import Box, Corner, Room
from holdtrue.search.exact._rows import first_of_each, place, under

AT_ONCE = 64  # boxes of one person, at most, where many people are looked at
BATCH = 2048  # boxes of all people
CLOSE = 1e-6  # by which share the best may be dearer than the cheapest
SHARES = (1.0, 0.5, 0.25, 0.125)  # of what is lacking, that a change of a dive must bring: strides long and short
LEAD = 0.5  # the same, of dives that begin with a given feature
DEEPEST = 12  # changes of a dive
BEAM = 12  # dives of one person that go on
IMPROVED = 4  # rounds in which a point's changes are put in question
WITHIN = 3.0  # limit of the first dive, in what a recourse costs at least
FIRST, FURTHER = 1.5, 2.0  # a person's first limit, in what recourse costs at least, and every further one
LAST = 500  # boxes of a last dive
JOIN = 2  # needs that take part from a point on that they refuse, at most


class Pool(NamedTuple):
    """Boxes still to be looked at, with the cost of their cheapest points, how far each may be from a yes, and its
    place in the proof."""

    box: Box
    cost: np.ndarray
    hope: np.ndarray
    node: np.ndarray

    def take(self, rows: np.ndarray) -> "Pool":
        """Some of them."""
        return Pool(self.box.take(rows), self.cost[rows], self.hope[rows], self.node[rows])


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
    cuts : Cuts, optional
        Where every cut is written down.
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
        cuts: Cuts | None = None,
    ) -> None:
        self.boxes, self.needs, self.room, self.sums = boxes, needs, room, sums
        self.max_changes, self.n_boxes, self.accepts, self.cuts = max_changes, n_boxes, accepts, cuts
        n = room.n_people
        self.best = np.full(n, np.inf)  # costs of what was found, or the limit
        self.found = np.zeros(n, bool)
        self.at_most = np.full(n, np.inf)  # cost within which leaves are listed
        self.value, self.level = room.own.copy(), room.level.copy()
        self.looked = np.zeros(n, int)
        self.left = np.full(n, np.inf)  # the cheapest box that was not looked at
        self.least, self.reach = np.zeros(n), np.zeros(n)  # what a recourse costs at least, a leaf at most
        self.rounds = np.zeros(n, int)
        self.last = np.zeros(n, bool)  # who is on a last dive
        self.leaves = Leaves(boxes, needs, room)
        self.sight = Sight(boxes, needs, room, self.leaves)

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
        roots = np.zeros(len(person), int) if self.cuts is None else self.cuts.begun(person)
        return self._pooled(self.room.whole().take(person), np.zeros(len(person)), roots)

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
        node = np.concatenate([pool.node for pool in pools])
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
        return Pool(Box(person[kept], low[kept], high[kept], levels[kept]), cost[kept], hope[kept], node[kept])

    def _ceiling(self) -> np.ndarray:
        """What a box must cost less than to matter."""
        return np.where(np.isfinite(self.best), self.best * (1 - CLOSE), np.inf)

    def _pooled(self, box: Box, hope: np.ndarray, node: np.ndarray) -> Pool:
        """New boxes, narrowed by the linear constraints; those that hold nothing are left out."""
        box, alive = self.room.narrowed(box)
        corner = self.room.corner(box)
        alive = alive & np.isfinite(corner.cost) & (corner.n_changed <= self.max_changes)
        kept = np.flatnonzero(alive & (corner.cost < self._ceiling()[box.person]))
        return Pool(box.take(kept), corner.cost[kept], hope[kept], node[kept])

    def _chosen(self, pool: Pool) -> np.ndarray:
        """The cheapest boxes of each person, more from round to round, and the one that may be nearest to a yes.

        The first prove what the best costs at least, the others find it.
        """
        person = pool.box.person
        people = np.unique(person)
        most = max(AT_ONCE, BATCH // len(people))
        self.rounds[people] += 1
        quota = np.where(self.last, 0, np.minimum(2 ** np.minimum(self.rounds, 12), most))
        by_hope = np.lexsort((pool.cost, pool.hope, person))
        nearest = by_hope[np.diff(person[by_hope], prepend=-1) != 0]
        chosen = np.union1d(np.flatnonzero(place(person, pool.cost) < quota[person]), nearest)
        return chosen[:BATCH] if len(chosen) > BATCH else chosen

    # ---- one round ----------------------------------------------------------------------------------

    def _round(self, pool: Pool) -> Pool:
        """Look at some boxes, keep the points that are accepted, and cut what may hold cheaper ones."""
        # By person: their leaves lie together.
        pool = pool.take(np.argsort(pool.box.person, kind="stable"))
        box, person = pool.box, pool.box.person
        np.add.at(self.looked, person, 1)
        corner = self.room.corner(box)
        look = self.sight.look(box, corner, self.best)
        idle = ~self.leaves.active[person]
        yes = self.needs.met(np.where(idle, 0.0, look.now))
        could = self.needs.met(np.where(idle, 0.0, look.most))
        cut = look.cut
        again = np.zeros(len(person), bool)
        if yes.any():
            again, cut = self._offered(box, corner, np.flatnonzero(yes), cut)
        going = np.flatnonzero(could & ~again & (cut.slot >= 0) & (corner.cost < self._ceiling()[person]))
        return self._open(pool.take(np.flatnonzero(again)), self._cut(pool, corner, look, cut, idle, going))

    def _offered(self, box: Box, corner: Corner, rows: np.ndarray, cut: Cut) -> tuple[np.ndarray, Cut]:
        """Keep the cheapest points that all needs accept and no limit forbids.

        Returns the boxes to be looked at again, now that a guide has refused their points, and the cuts, of those
        whose points break a limit between its features.
        """
        needs, leaves = self.needs, self.leaves
        person = box.person[rows]
        points = corner.take(rows)
        again = np.zeros(len(box.person), bool)
        ok = np.ones(len(rows), bool)
        if self.room.limited:
            broken = self.room.broken(person, points)
            ok &= ~np.concatenate(broken, axis=1).any(axis=1)
            if not ok.all():
                cut = cut_by_limits(self.room, box, corner, rows[~ok], (broken[0][~ok], broken[1][~ok]), cut)
                self._mended(person[~ok], points.take(~ok), broken[0][~ok])
        if self.accepts is not None:
            ok &= self.accepts(person, points)
        if (~leaves.active[person[ok]]).any():
            at = np.flatnonzero(ok)
            sums = self.sums(person[at], points.take(at))
            refused = ~needs.met(sums)
            if refused.any():
                lack = np.where(leaves.active[person[at]], np.inf, sums)[refused]
                neediest = np.argsort(lack, axis=1)[:, :JOIN]
                who, need = np.repeat(person[at[refused]], neediest.shape[1]), neediest.ravel()
                short = np.take_along_axis(lack, neediest, axis=1).ravel() < 0
                pairs = np.unique(np.stack([who[short], need[short]]), axis=1)
                leaves.add(pairs[0], pairs[1], self.at_most)
                joined = np.isin(person[at[refused]], pairs[0])
                again[rows[at[refused]]] = joined
                ok[at[refused]] = False
                # Refused though every need that takes part is met, by a hair: nothing is proved of such a box.
                lost = at[refused][~joined]
                np.minimum.at(self.left, person[lost], points.cost[lost])
        self._keep(person[ok], points.take(ok))
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

    def _cut(self, pool: Pool, corner: Corner, look: Look, cut: Cut, idle: np.ndarray, rows: np.ndarray) -> Pool:
        """The two halves of each box."""
        box, made = pool.box, (np.zeros(len(rows), int), np.zeros(len(rows), int))
        if self.cuts is not None:
            made = self.cuts.cut(pool.node[rows], cut.take(rows), corner.level[rows], self.room)
        lack = np.where(idle[rows], 0.0, np.maximum(-look.now[rows], 0.0) / np.maximum(-self.needs.base, TINY))
        lack = lack.sum(axis=1)
        beyond, here = self._halves(box.take(rows), corner.level[rows], cut.take(rows))
        return self._open(
            self._pooled(beyond, lack * (1.0 - np.minimum(cut.gain[rows], 1.0)), made[0]),
            self._pooled(here, lack, made[1]),
        )

    def _halves(self, box: Box, level: np.ndarray, cut: Cut) -> tuple[Box, Box]:
        """What lies beyond the cut, and what lies where the cheapest point does.

        Of levels, the cheapest point's own is one half; where a dive names another, that is the half beyond.
        """
        n, at = self.room.own.shape[1], np.arange(len(box.person))
        beyond, here = (Box(box.person, box.low.copy(), box.high.copy(), box.levels.copy()) for _ in range(2))
        number = cut.slot < n
        column, edge = np.where(number, cut.slot, 0), cut.edge.astype(np.float32)
        for part, above in ((beyond, cut.rises), (here, ~cut.rises)) if n else ():
            up, down = number & above, number & ~above
            part.low[at[up], column[up]] = edge[up]
            part.high[at[down], column[down]] = edge[down]
            # A dive may turn back: then the other end gives way.
            back = at[up & (box.high[at, column] <= edge)]
            part.high[back, column[back]] = np.inf
            back = at[down & (box.low[at, column] >= edge)]
            part.low[back, column[back]] = -np.inf
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
        leads = np.append(np.full(len(SHARES), -1), np.arange(n_features))
        shares = np.append(SHARES, np.full(n_features, LEAD))
        self._descend(self.room.whole().take(person), shares, DEEPEST, leads)
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
        if column < len(numbers):
            j = numbers[column]
            changed = (self.value[person, j] != room.own[person, j]) & ~room.missing[person, j]
        else:
            j = leaves.levels[column - len(numbers)]
            changed = self.level[person, j] != room.level[person, j]
        person = person[changed]
        box = room.whole().take(person)
        own, value = room.own[person], self.value[person]
        up, down = value > own, value < own
        box.low[up], box.high[down] = under(value)[up], value[down]
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

    def _descend(self, box: Box, shares: np.ndarray, depth: int, leads: np.ndarray | None = None) -> None:
        """Go on from the cheapest point of each box, a change at a time, to points that are accepted.

        `leads` are the features, by their place, that change first, a dive from every box for each; any feature
        where one is below 0. `shares` are then those of the leads, and otherwise of the boxes.
        """
        left = np.ones(len(box.person))  # of what was lacking at first
        for _ in range(depth + self.needs.n):
            box, alive = self.room.narrowed(box)
            corner = self.room.corner(box)
            alive &= (corner.cost < self._ceiling()[box.person]) & (corner.n_changed <= self.max_changes)
            rows = np.flatnonzero(alive)
            if leads is None:  # dives meet, and those that promise least are given up
                rows = rows[first_of_each(box.person[rows], corner.value[rows], corner.level[rows])]
                hope = corner.cost[rows] / np.maximum(1.0 - left[rows], 1e-3)
                rows = rows[place(box.person[rows], hope) < BEAM]
                shares = shares[rows]
            rows = rows[order := np.argsort(box.person[rows], kind="stable")]
            if not len(rows):
                return
            box, corner, left = box.take(rows), corner.take(rows), left[rows]
            if leads is None:
                shares, of, only = shares[order], np.arange(len(rows)), np.full(len(rows), -1)
            else:
                of, only = np.repeat(np.arange(len(rows)), len(leads)), np.tile(leads, len(rows))
                shares = np.tile(shares, len(rows))
            np.add.at(self.looked, box.person, 1)
            now, cut = self._strides(box, corner, of, shares, only)
            idle = ~self.leaves.active[box.person]
            yes = self.needs.met(np.where(idle, 0.0, now))
            again = np.zeros(len(yes), bool)
            if yes.any():
                again, _ = self._offered(box, corner, np.flatnonzero(yes), self._nowhere(len(yes)))
            leads = None
            going = np.flatnonzero(again[of] | (~yes[of] & (cut.slot >= 0)))
            if not len(going):
                return
            of, stays = of[going], again[of[going]]
            beyond = self._halves(box.take(of), corner.level[of], cut.take(going))[0]
            box = Box(
                box.person[of],
                *(np.where(stays[:, None], old[of], new) for old, new in zip(box[1:], beyond[1:], strict=True)),
            )
            shares = shares[going]
            left = left[of] * np.where(stays, 1.0, 1.0 - np.clip(cut.gain[going], 0.0, 1.0))

    def _strides(
        self, box: Box, corner: Corner, of: np.ndarray, shares: np.ndarray, only: np.ndarray
    ) -> tuple[np.ndarray, Cut]:
        """What boxes' cheapest points have, and the next step of every dive from them; `of` is in order."""
        now, cuts = [], []
        for some in self.sight.parts(box):
            part, at = box.take(some), corner.take(some)
            seen = self.sight.seen(part, at, self.best)
            dives = slice(*np.searchsorted(of, [some[0], some[-1] + 1]))
            steps = self.sight.steps(part, at, seen, self._ceiling())
            now.append(seen.now)
            cuts.append(self.sight.stride(steps, of[dives] - some[0], shares[dives], only[dives]))
        return np.concatenate(now), Cut(*(np.concatenate(part) for part in zip(*cuts, strict=True)))

    def _nowhere(self, n: int) -> Cut:
        """No cut, of so many boxes."""
        return Cut(np.full(n, -1), np.zeros(n, np.float32), np.zeros(n, bool), np.zeros(n))

    # ---- limits across features ---------------------------------------------------------------------

    def _mended(self, person: np.ndarray, points: Corner, broken: np.ndarray) -> None:
        """Offer points that break one linear constraint, with one number set to where it holds."""
        room = self.room
        rows = np.flatnonzero(broken.any(axis=1))
        if not len(rows) or not room.own.shape[1]:
            return
        person = person[rows]
        value, row = points.value[rows], broken[rows].argmax(axis=1)
        a, right = room.rows_of_numbers[row], room.right[person, row]
        left = (np.nan_to_num(value.astype(np.float64)) * a).sum(axis=1)
        for j in range(room.n_levels):
            left += room.rows_of_levels[row, points.level[rows, j]]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            edge = value - (left - right)[:, None] / a
            to = np.where(a > 0, room.below(person, edge.astype(np.float32)), room.above(person, under(edge)))
        to = np.where((a != 0) & np.isfinite(edge), to, np.nan)
        price = np.where(np.isnan(to), np.inf, room.spent(person, np.where(np.isnan(to), value, to)))
        at = price.argmin(axis=1)
        usable = np.isfinite(price[np.arange(len(rows)), at])
        i = np.flatnonzero(usable)
        moved = value.copy()
        moved[i, at[i]] = to[i, at[i]]
        point = room.point(person, moved, points.level[rows])
        kept = usable & (point.cost < self.best[person]) & (point.n_changed <= self.max_changes)
        kept &= ~np.concatenate(room.broken(person, point), axis=1).any(axis=1)
        if self.accepts is not None:
            kept &= self.accepts(person, point)
        i = np.flatnonzero(kept)
        if len(i):
            some = point.take(i)
            met = self.needs.met(self.sums(person[i], some))
            self._keep(person[i[met]], some.take(met))
