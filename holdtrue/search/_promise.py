"""Few changes, the most promising first: for models of which every row costs time.

A person's search is a generator that hands out rows and is given what the model makes of them, so that the rows of
many people go to the model together, and a person's answer still depends on their own rows alone.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from holdtrue.search._climb import climbed
from holdtrue.search._person import Lists, Person, Rows, Said, Search
from holdtrue.search._problem import Problems, Solutions, Status
from holdtrue.search._solver import CLEARANCE

ACTIVE = 64  # people whose rows are asked about together
FIRST_ROWS = 256  # the round of pairs that tells what changes do together
MORE_ROWS = 96  # a round after it
N_ROUNDS = 6
POOL = 4096  # pairs that rounds choose from
EVERY = 4  # of a feature's moves in one direction that do no more than cheaper ones, every so-manieth is kept
RIDGE = 0.2  # of what two directions do together: seen once, it is believed to five sixths
SWEEP_ROWS = 512  # a round where sets are gone through one after the other
N_SWEPT = 8_192  # sets gone through, where none that was promising is accepted and more changes are permitted
WORTH = 0.004  # share of the best cost; where no set is expected to spare more, what was found is kept
MOST_LOG_ODDS = 10.0  # a probability of 0 says nothing of how far it is from a yes
MORE_BASES = 8  # times as many sets are extended where nothing has been found

Ask: TypeAlias = Callable[[Int[np.ndarray, " m"], Rows], Said]
"""Margins of rows, each of a person by place, and whether they keep the limits across features."""


def cheapest_by_promise(
    ask: Ask,
    problems: Problems,
    lists: Lists,
    out: Solutions,
    people: Int[np.ndarray, " n"],
    *,
    late: Callable[[], bool],
    on_rows: Callable[[int], None] | None = None,
) -> None:
    """Write the answers of some `people` into `out`, as they are known; stop where it is `late`.

    Changes of one feature are all asked. What a set of changes does is then guessed from what its parts do, sets
    are asked in the order of what they are expected to spare, and how wrong the guesses were says how sure the
    next ones are. With one or two changes permitted all sets that could be cheaper are asked in the end, which
    proves the answer. Where three are not enough, changes are added one after the other if more are permitted.
    """
    stuck = problems.feasible.stuck()[people]
    out.status[people[stuck]] = int(Status.INFEASIBLE)
    waiting = list(people[~stuck][::-1])
    if on_rows is not None and stuck.any():
        on_rows(int(stuck.sum()))
    running: list[tuple[Person, Search, Rows]] = []
    while True:
        while waiting and len(running) < ACTIVE:
            person = Person(problems, int(waiting.pop()), lists)
            _go_on(person, _searched(person), None, running, out, on_rows)
        if not running or late():
            break
        sizes = [len(rows) for *_, rows in running]
        whose = np.repeat([person.place for person, *_ in running], sizes)
        margins, allowed = ask(whose, np.concatenate([rows for *_, rows in running]))
        ends = np.cumsum(sizes)[:-1]
        parts = zip(np.split(margins, ends), np.split(allowed, ends), strict=True)
        before, running = running, []
        for (person, search, _), said in zip(before, parts, strict=True):
            _go_on(person, search, said, running, out, on_rows)
    for person, *_ in running:  # of whom the deadline came first, what was found
        if np.isfinite(person.price):
            _write(out, person, Status.FOUND)


def _go_on(
    person: Person,
    search: Search,
    said: Said | None,
    running: list[tuple[Person, Search, Rows]],
    out: Solutions,
    on_rows: Callable[[int], None] | None,
) -> None:
    try:
        rows = next(search) if said is None else search.send(said)
    except StopIteration:
        _write(out, person, person.status)
        if on_rows is not None:
            on_rows(1)
        return
    person.n_rounds += 1
    running.append((person, search, rows))


def _write(out: Solutions, person: Person, status: Status) -> None:
    at = person.place
    out.x[at], out.status[at] = person.best, int(status)
    out.cost[at], out.n_steps[at] = person.price, person.n_rounds


def _searched(person: Person) -> Search:
    """Single changes, sets by their promise, what is left of them, and the way back."""
    n, most = len(person.moves.cost), person.lists.max_changes
    single = np.arange(-1, n)[:, None]
    rows = person.rows(single)
    said = yield rows
    own = _bounded(said[0])
    person.offer(rows[1:], (said[0][1:], said[1][1:]))
    if most > 1 and len(np.unique(person.moves.slot)) > 1:
        guess = _Guess(person, own[0], own[1:] - own[0])
        yield from guess.rounds()
        if most == 2:
            yield from guess.every_pair()
        elif not np.isfinite(person.price):
            yield from guess.until_found()
            if person.lists.as_many and not np.isfinite(person.price) and len(guess.asked):
                yield from climbed(person, person.rows(guess.asked), guess.margins)
    if np.isfinite(person.price):
        yield from person.back()


class _Guess:
    """What sets of changes will be told, guessed from what single changes and some pairs were.

    The guess is a sum over the changes of a set, and over its pairs of a product: how far each goes, times what
    the two directions do together. The latter is learned from the pairs that were asked.
    """

    def __init__(self, person: Person, base: float, effect: Float[np.ndarray, " e"]) -> None:
        self.person, self.base, self.effect = person, base, effect
        moves = person.moves
        self.cost, self.slot = moves.cost.astype(np.float64), moves.slot
        self.most = min(person.lists.max_changes, len(np.unique(self.slot)))
        # A number's two directions are told apart; so are not the levels of a category.
        number = moves.slot < person.lists.values.shape[0]
        self.way = 2 * self.slot + (number & (moves.up > person.x[moves.to]))
        self.reach, self.usual = self._reaches(np.where(number, np.abs(moves.up - person.x[moves.to]), 1.0))
        # With what -1, no move, is and does at the end.
        self.price_of, self.effect_of, self.reach_of = (
            np.append(part, 0.0) for part in (self.cost, self.effect, self.reach)
        )
        n = int(self.way.max()) + 1
        self.along, self.size = np.zeros((n, n)), np.full((n, n), RIDGE)
        self.asked = np.zeros((0, self.most), np.int64)
        self.margins = np.zeros(0)  # of the sets asked
        self.misses: list[np.ndarray] = []

    def _reaches(self, far: Float[np.ndarray, " e"]) -> tuple[np.ndarray, np.ndarray]:
        """How far each move goes, as a multiple of the usual one of its direction; and those usual ones."""
        reach, usual = np.ones(len(far)), []
        for way in np.unique(self.way):
            own = np.flatnonzero(self.way == way)
            middle = own[len(own) // 2] if far[own].min() < far[own].max() else own[np.argmax(self.effect[own])]
            usual.append(middle)
            reach[own] = np.minimum(far[own] / far[middle], 2.0)
        return reach, np.sort(usual)

    # ---- rounds -------------------------------------------------------------------------------------

    def rounds(self) -> Search:
        """Ask sets in the order of what they are expected to spare."""
        pairs = self._pairs(self.usual)
        if len(pairs):
            promise, _ = self._promise(pairs)
            yield from self._ask(pairs[_largest(promise, FIRST_ROWS)])
        self.misses = self.misses[:0]
        some = self._some()
        for moves in (some, np.arange(len(self.cost))):
            pairs = self._new(self._pairs(moves))
            if len(pairs):
                pairs = pairs[_largest(self._promise(pairs)[0], POOL)]
            for _ in range(N_ROUNDS):
                sets = np.concatenate([pairs, self._extended(some)])
                if not len(sets):
                    break
                promise, bound = self._promise(sets)
                least = WORTH * bound if np.isfinite(self.person.bound) else 0.0
                size = min(MORE_ROWS, int((promise > least).sum()))
                if size == 0:
                    break
                taken = _largest(promise, size)
                yield from self._ask(sets[taken])
                pairs = np.delete(pairs, taken[taken < len(pairs)], axis=0)

    def every_pair(self) -> Search:
        """Ask all pairs that are left and could be cheaper, cheapest first: a proof."""
        pairs = self._new(self._pairs(np.arange(len(self.cost))))
        total = self._totals(pairs)
        order = np.argsort(total, kind="stable")
        pairs, total = pairs[order], total[order]
        while len(pairs):
            open_ = total < self.person.bound
            pairs, total = pairs[open_], total[open_]
            some, pairs, total = pairs[:SWEEP_ROWS], pairs[SWEEP_ROWS:], total[SWEEP_ROWS:]
            if len(some):
                yield from self._ask(some)

    def until_found(self) -> Search:
        """Ask pairs, and then what the best sets are extended to, the likeliest first."""
        every = np.arange(len(self.cost))
        for sets in (lambda: self._new(self._pairs(every)), lambda: self._extended(every, MORE_BASES)):
            left = sets()
            left = left[np.argsort(-self._guesses(left), kind="stable")[:N_SWEPT]]
            while len(left):
                yield from self._ask(left[:SWEEP_ROWS])
                if np.isfinite(self.person.price):
                    return
                left = left[SWEEP_ROWS:]

    # ---- sets ---------------------------------------------------------------------------------------

    def _some(self) -> Int[np.ndarray, " u"]:
        """Moves that do more than every cheaper one of the same feature, and some of the others."""
        order = np.lexsort((self.cost, self.slot))
        stairs = self.effect[order] + 10 * MOST_LOG_ODDS * self.slot[order]
        before = np.concatenate([[-np.inf], np.maximum.accumulate(stairs)[:-1]])
        kept = stairs > before + 1e-9
        order, keep = np.lexsort((self.cost, self.way)), order[kept]
        place = np.arange(len(order)) - np.searchsorted(self.way[order], self.way[order])
        return np.unique(np.concatenate([keep, order[place % EVERY == EVERY - 1], self.usual]))

    def _pairs(self, moves: Int[np.ndarray, " u"]) -> Int[np.ndarray, "m k"]:
        i, j = np.triu_indices(len(moves), 1)
        i, j = moves[i], moves[j]
        total = self.person.joined(self.cost[i], self.cost[j])
        open_ = (self.slot[i] != self.slot[j]) & (total < self.person.bound)
        sets = np.full((int(open_.sum()), self.most), -1, np.int64)
        sets[:, 0], sets[:, 1] = i[open_], j[open_]
        return sets

    def _extended(self, moves: Int[np.ndarray, " u"], times: int = 1) -> Int[np.ndarray, "m k"]:
        """The sets nearest to a yes, each with a further move."""
        sizes = (self.asked >= 0).sum(axis=1)
        open_ = (sizes < self.most) & (self.margins < CLEARANCE) & (self._totals(self.asked) < self.person.bound)
        bases = np.flatnonzero(open_)
        bases = bases[np.argsort(-self.margins[bases], kind="stable")[: times * self.person.lists.width]]
        if not len(bases):
            return np.zeros((0, self.most), np.int64)
        sets = np.repeat(self.asked[bases], len(moves), axis=0)
        more, size = np.tile(moves, len(bases)), np.repeat(sizes[bases], len(moves))
        new, slot = np.ones(len(sets), bool), self.slot[more]
        for taken in sets.T:
            new &= (taken < 0) | (self.slot[taken] != slot)
        sets[np.arange(len(sets)), size] = more
        sets = _sorted(sets[new])
        sets = sets[self._totals(sets) < self.person.bound]
        names, first = np.unique(_names(sets), return_index=True)
        known = np.sort(_names(self.asked))  # looked up in order, which is faster than another sort of all
        asked = known[np.minimum(np.searchsorted(known, names), len(known) - 1)] == names
        return sets[first[~asked]]

    def _new(self, sets: Int[np.ndarray, "m k"]) -> Int[np.ndarray, "m k"]:
        return sets[~np.isin(_names(sets), _names(self.asked))]

    def _totals(self, sets: Int[np.ndarray, "m k"]) -> Float[np.ndarray, " m"]:
        costs = self.price_of[sets]  # column by column: rows are short
        total = costs[:, 0].copy()
        for column in range(1, costs.shape[1]):
            if self.person.lists.norm == "linf":
                np.maximum(total, costs[:, column], out=total)
            else:
                total += costs[:, column]
        return total

    # ---- guesses ------------------------------------------------------------------------------------

    def _guesses(self, sets: Int[np.ndarray, "m k"]) -> Float[np.ndarray, " m"]:
        columns, together = sets.T, self.along / self.size  # column by column: rows are short
        out = self.effect_of[columns[0]]
        for taken in columns[1:]:
            out = out + self.effect_of[taken]
        out = self.base + out
        reach, way = [self.reach_of[taken] for taken in columns], [self.way[taken] for taken in columns]
        for i in range(len(columns)):
            for j in range(i):
                out += together[way[i], way[j]] * reach[i] * reach[j]
        return out

    def _promise(self, sets: Int[np.ndarray, "m k"]) -> tuple[Float[np.ndarray, " m"], float]:
        """What each set is expected to spare, and what it may cost at most."""
        wrong = np.concatenate(self.misses) if self.misses else np.zeros(0)
        shift, spread = (wrong.mean(), max(wrong.std(), 0.2)) if len(wrong) else (0.0, 1.0)
        total = self._totals(sets)
        bound = min(self.person.bound, 1.01 * total.max() + 1e-9)
        return expit(1.7 * (self._guesses(sets) + shift) / spread) * (bound - total), bound

    def _ask(self, sets: Int[np.ndarray, "m k"]) -> Search:
        rows = self.person.rows(sets)
        said = yield rows
        self.person.offer(rows, said)
        margins = _bounded(said[0])
        miss = margins - self._guesses(sets)
        self.misses.append(miss)
        pair = (sets[:, 2:] < 0).all(axis=1)
        i, j = sets[pair, 0], sets[pair, 1]
        both = self.reach[i] * self.reach[j]
        alone = margins[pair] - self.base - self.effect[i] - self.effect[j]
        for a, b in ((i, j), (j, i)):
            np.add.at(self.along, (self.way[a], self.way[b]), alone * both)
            np.add.at(self.size, (self.way[a], self.way[b]), both**2)
        self.asked = np.concatenate([self.asked, sets])
        self.margins = np.concatenate([self.margins, margins])


def _bounded(margins: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    return np.clip(margins.astype(np.float64), -MOST_LOG_ODDS, MOST_LOG_ODDS)


def _largest(promise: Float[np.ndarray, " m"], size: int) -> Int[np.ndarray, " k"]:
    size = min(size, len(promise))
    return np.argpartition(-promise, size - 1)[:size]


def _sorted(sets: Int[np.ndarray, "m k"]) -> Int[np.ndarray, "m k"]:
    """Each set in the order of its moves, what is not used last."""
    last = np.iinfo(np.int64).max
    out = np.sort(np.where(sets < 0, last, sets), axis=1)
    return np.where(out == last, -1, out)


def _names(sets: Int[np.ndarray, "m k"]) -> Int[np.ndarray, " m"]:
    """A number for each set."""
    out = np.zeros(len(sets), np.uint64)
    for taken in sets.T:
        out = out * np.uint64(1_000_003) + (taken + 1).astype(np.uint64)
    return out
