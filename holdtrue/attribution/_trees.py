"""Exact shares of a tree ensemble's score, over a fixed set of reference rows (interventional TreeSHAP).

A leaf is reached by a row that takes some players' values from the person and the others' from a reference row if
it takes from the person what the reference row lacks, and from the reference row what the person lacks. So a
leaf's game depends on two sets only: the players on its path whose conditions the person does not meet, and those
that the reference row does not. If these sets have a player in common the leaf is never reached. Otherwise, with
`u` players unmet by the person and `w` by the reference row, each of the `w` gets (w-1)! u! / (w+u)! of the leaf's
value, and each of the `u` loses w! (u-1)! / (w+u)!.

Reference rows of equal sets count together. For a leaf with few players on its path, what every set of the
person's gives is worked out once, for all reference rows at a time: then a person costs one look into a table per
leaf and player, however many reference rows there are. For longer paths the sets are compared pair by pair.
"""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from holdtrue.attribution._players import Players
from holdtrue.attribution._sums import weighted
from holdtrue.errors import CapabilityError
from holdtrue.models import AbstractTrees, Boxes, Flat, boxes_of, n_cores, sums_at

MOST_BITS = 8  # players on a path, up to which all their sets are tabulated
MOST_ENTRIES = 2**24  # numbers in all tables
AT_ONCE = 512  # people whose sets are looked up together
PAIRS_AT_ONCE = 2**22  # pairs of sets that are compared together


@dataclass(frozen=True)
class Seen:
    """Encoded rows as trees see them: numbers (NaN where missing) and codes of levels."""

    numbers: np.ndarray
    codes: np.ndarray


def seen(flat: Flat, x: np.ndarray) -> Seen:
    """What `Slots` gives for one row, for many; in numpy, with nothing to compile."""
    slots = flat.slots
    x = np.asarray(x, np.float32)
    raw = x * np.asarray(slots.scale) + np.asarray(slots.offset)
    numbers = np.zeros((len(x), len(slots.numbers)), np.float32)
    for j, (at, flag) in enumerate(slots.numbers):
        numbers[:, j] = x[:, at] if flag == at else np.where(raw[:, flag] > 0.5, np.nan, x[:, at])
    codes = []
    for at, flag, n_levels in slots.positions:
        code = np.clip(np.round(raw[:, at]).astype(int), 0, n_levels - 1)
        codes.append(code if flag == at else np.where(raw[:, flag] > 0.5, n_levels, code))
    codes += [np.argmax(raw[:, a:b], axis=1) for a, b in slots.groups]
    return Seen(numbers, np.stack(codes, axis=1) if codes else np.zeros((len(x), 0), int))


class Paths:
    """The leaves of an ensemble, and which players' conditions stand on the path to each.

    Parameters
    ----------
    trees : AbstractTrees
    players : Players
    """

    def __init__(self, trees: AbstractTrees, players: Players) -> None:
        self.flat: Flat = trees.flat()
        self.boxes: Boxes = boxes_of(trees)
        self.n_players = len(players.names)
        owner = players.owner
        slots = self.flat.slots
        columns = [at for at, _ in slots.numbers] + [at for at, _, _ in slots.positions]
        self.player_of_slot = owner[np.array([*columns, *(a for a, _ in slots.groups)], int)]
        asks = self._asks()
        on_path = np.zeros((self.n_players, asks.shape[1]), bool)
        for slot, leaves in enumerate(asks):
            on_path[self.player_of_slot[slot]] |= leaves
        self.n_on_path = on_path.sum(axis=0)
        if self.n_on_path.max(initial=0) > 63:
            raise CapabilityError("reasons: a tree asks about more than 63 features on one path.")
        # Place of each player among those on a leaf's path: its bit.
        self.bit = np.where(on_path, np.cumsum(on_path, axis=0) - 1, -1)
        self.on_path = on_path
        self.asked = [np.flatnonzero(leaves) for leaves in asks]

    def _asks(self) -> np.ndarray:
        """Boolean per slot and leaf: whether some value of the slot's feature does not lead there."""
        boxes = self.boxes
        parts = [np.isfinite(boxes.low) | np.isfinite(boxes.high) | ~boxes.absent]
        for members, sets in zip(boxes.members, boxes.sets, strict=True):
            every = np.asarray(members.all(axis=1))
            parts.append(~every[sets][None])
        return np.concatenate(parts)

    def unmet(self, rows: Seen, leaves: np.ndarray, dtype: type) -> np.ndarray:
        """The set of players whose conditions each row does not meet, as bits, of shape (leaves, rows)."""
        place = np.full(len(self.n_on_path), -1)
        place[leaves] = np.arange(len(leaves))
        out = np.zeros((len(leaves), len(rows.numbers)), dtype)
        boxes, n = self.boxes, self.boxes.n_numbers
        for slot, player in enumerate(self.player_of_slot):
            at = self.asked[slot][place[self.asked[slot]] >= 0]
            if not len(at):
                continue
            if slot < n:
                value = rows.numbers[:, slot][None, :]
                met = (value > boxes.low[slot, at, None]) & (value <= boxes.high[slot, at, None])
                missing = np.isnan(rows.numbers[:, slot])
                if missing.any():
                    met[:, missing] = boxes.absent[slot, at, None]
            else:
                members = boxes.members[slot - n][boxes.sets[slot - n, at]]
                met = members[:, rows.codes[:, slot - n]]
            bits = np.left_shift(dtype(1), self.bit[player, at].astype(dtype))
            out[place[at]] |= np.where(met, dtype(0), bits[:, None])
        return out

    def margins(self, rows: Seen, contrast: np.ndarray) -> np.ndarray:
        """Sums over the trees, as a contrast of the outputs, by walking down: not by the leaves' boxes."""
        numbers, codes = rows.numbers, rows.codes
        if len(numbers) == 1:  # see `Shares.of`
            numbers, codes = np.repeat(numbers, 2, axis=0), np.repeat(codes, 2, axis=0)
        return weighted(sums_at(self.flat, numbers, codes), contrast)[: len(rows.numbers)]

    def values(self, contrast: np.ndarray) -> np.ndarray:
        """What each leaf adds to a contrast of the outputs."""
        boxes = self.boxes
        first = boxes.output[boxes.tree]
        columns = [boxes.value[:, c] * contrast[first + c] for c in range(boxes.value.shape[1])]
        return np.sum(columns, axis=0)


class Shares:
    """Shares of a contrast of an ensemble's outputs, against weighted reference rows.

    Parameters
    ----------
    paths : Paths
    contrast : array
        Weight of each output in the score.
    reference : array
        Encoded rows.
    weights : array
        Of the reference rows; their sum is 1.
    """

    def __init__(self, paths: Paths, contrast: np.ndarray, reference: np.ndarray, weights: np.ndarray) -> None:
        self.paths, self.weights = paths, np.asarray(weights, np.float64)
        self.values = paths.values(contrast)
        self._reference = seen(paths.flat, reference)
        bits = paths.n_on_path
        self.tabled = (bits > 0) & (bits <= MOST_BITS)
        order = np.argsort(bits, kind="stable")
        sizes = np.where(self.tabled, bits * 2.0**bits, 0.0)
        self.tabled[order[np.cumsum(sizes[order]) > MOST_ENTRIES]] = False
        self.table, self.start = self._tables()

    def _tables(self) -> tuple[np.ndarray, np.ndarray]:
        """Share of each player on a leaf's path, for every set that a person may leave unmet.

        Returns all numbers in a row, and where those of a leaf's first player begin.
        """
        paths = self.paths
        bits = paths.n_on_path
        start = np.zeros(len(bits), int)
        parts, begin = [], 0
        for m in range(1, MOST_BITS + 1):
            leaves = np.flatnonzero(self.tabled & (bits == m))
            if not len(leaves):
                continue
            size = m * 2**m
            start[leaves] = begin + size * np.arange(len(leaves))
            begin += size * len(leaves)
            found = paths.unmet(self._reference, leaves, np.uint8)
            # How much of the reference leaves each set unmet.
            cell = (np.arange(len(leaves))[:, None] * 2**m + found).ravel()
            weight = np.broadcast_to(self.weights, found.shape).ravel()
            counts = np.bincount(cell, weight, minlength=len(leaves) * 2**m).reshape(-1, 2**m)
            parts.append(((counts * self.values[leaves, None]) @ _shares_of_sets(m)).ravel())
        return np.concatenate(parts) if parts else np.zeros(0), start

    @cached_property
    def _entries(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each player the tabled leaves on whose path it stands, and where its numbers begin."""
        paths, kept = self.paths, np.flatnonzero(self.tabled)
        place = np.full(len(self.tabled), -1)
        place[kept] = np.arange(len(kept))
        out = []
        for player in range(paths.n_players):
            leaves = np.flatnonzero(paths.on_path[player] & self.tabled)
            begin = self.start[leaves] + paths.bit[player, leaves] * 2 ** paths.n_on_path[leaves]
            out.append((place[leaves], begin))
        return out

    def of(self, x: np.ndarray) -> np.ndarray:
        """Each player's part, for encoded rows, of the score less the reference's; of shape (rows, players)."""
        if not len(x):
            return np.zeros((0, self.paths.n_players))
        if len(x) % AT_ONCE == 1:  # numpy adds a single column in another order than one of several
            return self.of(np.concatenate([x, x[-1:]]))[:-1]
        rows = seen(self.paths.flat, x)
        chunks = [slice(i, i + AT_ONCE) for i in range(0, len(x), AT_ONCE)]
        parts = [Seen(rows.numbers[c], rows.codes[c]) for c in chunks]
        self._entries  # noqa: B018 - made once, before threads ask for it
        if len(parts) == 1:
            return self._of(parts[0])
        with ThreadPoolExecutor(n_cores()) as pool:
            return np.concatenate(list(pool.map(self._of, parts)))

    def _of(self, rows: Seen) -> np.ndarray:
        out = np.zeros((self.paths.n_players, len(rows.numbers)))
        leaves = np.flatnonzero(self.tabled)
        if len(leaves):
            unmet = self.paths.unmet(rows, leaves, np.uint8)
            for player, (at, begin) in enumerate(self._entries):
                if len(at):
                    out[player] += self.table[begin[:, None] + unmet[at]].sum(axis=0)
        deep = np.flatnonzero(~self.tabled & (self.paths.n_on_path > 0))
        if len(deep):
            out += self._pairs(rows, deep)
        return out.T

    def _pairs(self, rows: Seen, leaves: np.ndarray) -> np.ndarray:
        """The same for leaves whose paths are too long for a table."""
        n, r = len(rows.numbers), len(self.weights)
        out = np.zeros(self.paths.n_players * n)
        step = max(1, PAIRS_AT_ONCE // (AT_ONCE * max(r, 1)))  # however many people: sums are added in one order
        person = np.arange(n)
        player_of = np.full((len(self.tabled), 64), -1)
        for player in range(self.paths.n_players):
            on = np.flatnonzero(self.paths.on_path[player])
            player_of[on, self.paths.bit[player, on]] = player
        for begin in range(0, len(leaves), step):
            some = leaves[begin : begin + step]
            u = self.paths.unmet(rows, some, np.uint64)
            w = self.paths.unmet(self._reference, some, np.uint64)
            leaf, whose, of = np.nonzero((u[:, :, None] & w[:, None, :]) == 0)
            u, w = u[leaf, whose], w[leaf, of]
            value = self.values[some[leaf]] * self.weights[of]
            n_u, n_w = _count(u), _count(w)
            gains, loses = value * _GAIN[n_w, n_u], value * _LOSE[n_w, n_u]
            for bit in range(int(self.paths.n_on_path[some].max())):
                one = np.uint64(1 << bit)
                for chosen, part in (((w & one) > 0, gains), ((u & one) > 0, -loses)):
                    cell = player_of[some[leaf[chosen]], bit] * n + person[whose[chosen]]
                    out += np.bincount(cell, part[chosen], minlength=len(out))
        return out.reshape(-1, n)


def _count(sets: np.ndarray) -> np.ndarray:
    """How many are in each set."""
    return np.unpackbits(sets[:, None].view(np.uint8), axis=1).sum(axis=1)


def _weight(w: int, u: int) -> float:
    """Chance that in a random order of `w` and `u` things all but one of the `w` come first, then that one."""
    return 1.0 / (w * math.comb(w + u, w)) if w else 0.0


_GAIN = np.array([[_weight(w, u) for u in range(65)] for w in range(65)])
_LOSE = np.array([[_weight(u, w) for u in range(65)] for w in range(65)])


@cache
def _shares_of_sets(m: int) -> np.ndarray:
    """Share of each of `m` players when the reference leaves one set unmet and the person another.

    Of shape (reference's sets, players x person's sets).
    """
    out = np.zeros((2**m, m, 2**m))
    for w, u in itertools.product(range(2**m), repeat=2):
        if w & u:
            continue
        n_w, n_u = w.bit_count(), u.bit_count()
        for i in range(m):
            if w >> i & 1:
                out[w, i, u] = _GAIN[n_w, n_u]
            elif u >> i & 1:
                out[w, i, u] = -_LOSE[n_w, n_u]
    return out.reshape(2**m, -1)
