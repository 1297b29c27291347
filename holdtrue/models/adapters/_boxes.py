"""The leaves of a tree ensemble as boxes: what one changed feature does to the whole sum, in one look."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdtrue.models.adapters._trees import AbstractTrees, Flat

INSIDE = "promise_in_bounds"  # of every index here: no checks
NONE, SEVERAL = -1, -2  # conditions of a leaf that are not met
BLOCK = 16  # cells that are summed by one product with a triangle of ones


class Cells(eqx.Module):
    """The values of each feature that matter: between two neighbouring thresholds nothing changes.

    Cells of all features lie in one array: those of numbers, each ``(low, high]`` in encoded units, then the
    levels of the others. A number's are followed by one that nobody can be in.

    Attributes
    ----------
    slot, rank : feature of each cell, and its place among the feature's own.
    low, high : edges of a number's cell.
    first : cell of rank 0 of each feature.
    n_numbers, n_number_cells : how many features, and how many cells, are numbers'; they come first.
    """

    slot: Int[Array, " e"]
    rank: Int[Array, " e"]
    low: Float[Array, " e"]
    high: Float[Array, " e"]
    first: Int[Array, " s"]
    n_numbers: int = eqx.field(static=True)
    n_number_cells: int = eqx.field(static=True)

    @property
    def n_slots(self) -> int:
        """Number of features."""
        return self.first.shape[0]

    def ranks(self, numbers: Float[Array, " s"], codes: Int[Array, " s"]) -> Int[Array, " s"]:
        """Rank of the cell that each feature is in, from what `Slots` reads of a row; 0 for a missing number."""
        passed = (self.slot < self.n_numbers) & (self.high < numbers[self.slot])
        counted = jnp.zeros(self.n_slots, jnp.int32).at[self.slot].add(passed)
        return jnp.where(jnp.arange(self.n_slots) < self.n_numbers, counted, codes)


class Boxes(eqx.Module):
    """Every leaf as a box: for each feature its path asks about, the cells that lead there.

    A row outside a leaf's box in one feature only would fall into it by changing that feature. So what becomes of
    the sums when any one feature takes any value follows from one look at all leaves; asking about each of those
    rows would visit `depth` nodes of every tree for each.

    Attributes
    ----------
    slot : feature of each condition, or one past the last feature where a leaf has fewer.
    low, high : first and last rank that a number may have.
    absent : whether a missing number may pass.
    levels : of a condition on levels, its row in `members`.
    begin, end : where a change that holds while a condition is met is added, and where taken away, if that is the
        one not met: among all cells of numbers, then the sets of levels, of the leaf's first output.
    members : which level cells each distinct set holds.
    tree, value : tree of a leaf, and what it adds.
    output : first output that each tree adds to; a panel has outputs for every member.
    base : what is added once.
    n_rows : about how many rows could be asked about for the price of one look, by nodes visited.
    may_miss : whether a number of this table can be missing.
    """

    cells: Cells
    slot: Int[Array, "c l"]
    low: Int[Array, "c l"]
    high: Int[Array, "c l"]
    absent: Bool[Array, "c l"]
    levels: Int[Array, "c l"]
    begin: Int[Array, "c l"]
    end: Int[Array, "c l"]
    members: Bool[Array, "u m"]
    tree: Int[Array, " l"]
    value: Float[Array, "l v"]
    output: Int[Array, " t"]
    base: Float[Array, " o"]
    n_trees: int = eqx.field(static=True)
    n_rows: int = eqx.field(static=True)
    may_miss: bool = eqx.field(static=True)

    def sums(
        self, ranks: Int[Array, " s"], missing: Bool[Array, " s"]
    ) -> tuple[Float[Array, " o"], Float[Array, "o e"]]:
        """Sums of a row, given by the rank of each feature, and of that row moved to every single cell."""
        # Computed once: XLA would rather do so again for everyone who reads it.
        unmet = jax.lax.optimization_barrier(self._unmet(jnp.append(ranks, 0), jnp.append(missing, False)))
        columns = jnp.arange(self.value.shape[1])
        own = jnp.where((unmet == NONE)[:, None], self.value, 0.0)
        per_tree = jnp.zeros((self.n_trees, own.shape[1])).at[self.tree].add(own, mode=INSIDE)
        total = self.base.at[self.output[:, None] + columns].add(per_tree, mode=INSIDE)

        # A leaf's change holds from its first cell to its last; the unused cells keep features apart.
        change = jnp.where((unmet >= 0)[:, None], self.value - per_tree.at[self.tree].get(mode=INSIDE), 0.0)
        begin, end = self.begin[0], self.end[0]
        for c in range(1, self.slot.shape[0]):
            begin, end = (jnp.where(unmet == c, a[c], b) for a, b in ((self.begin, begin), (self.end, end)))
        n_outputs, width = self.base.shape[0], _width(self.cells.n_number_cells, self.members.shape[0])
        steps = jnp.zeros(n_outputs * width)
        for column in range(self.value.shape[1]):
            steps = steps.at[begin + column * width].add(change[:, column], mode=INSIDE)
            steps = steps.at[end + column * width].add(-change[:, column], mode=INSIDE)
        steps = steps.reshape(n_outputs, width)
        cut = self.cells.n_number_cells
        by_number, by_set = steps[:, :cut], steps[:, cut + 1 :]
        moved = running_sums(by_number)
        if self.members.shape[1]:
            moved = jnp.concatenate([moved, by_set @ self.members.astype(by_set.dtype)], axis=1)
        return total, total[:, None] + moved

    def _unmet(self, ranks: Int[Array, " s"], missing: Bool[Array, " s"]) -> Int[Array, " l"]:
        """Which condition of each leaf is the only one not met; `NONE` or `SEVERAL` where it is not one."""
        unmet = jnp.full(self.tree.shape, NONE)
        # Condition by condition: one pass over the leaves, nothing in between is written down.
        for c, (slot, low, high, absent, levels) in enumerate(
            zip(self.slot, self.low, self.high, self.absent, self.levels, strict=True)
        ):
            rank = ranks.at[slot].get(mode=INSIDE)
            outside = (low > rank) | (rank > high)
            if self.may_miss:
                outside = jnp.where(missing.at[slot].get(mode=INSIDE), ~absent, outside)
            if self.members.shape[1]:
                of_level = (slot >= self.cells.n_numbers) & (slot < self.cells.n_slots)
                cell = jnp.append(self.cells.first, 0)[slot] + rank - self.cells.n_number_cells
                outside = jnp.where(of_level, ~self.members[levels, jnp.where(of_level, cell, 0)], outside)
            unmet = jnp.where(outside, jnp.where(unmet == NONE, c, SEVERAL), unmet)
        return unmet


def running_sums(x: Float[Array, "o e"]) -> Float[Array, "o e"]:
    """Cumulative sums along rows, block by block: several times as fast as `jnp.cumsum` on a CPU."""
    n = x.shape[1]
    if n <= BLOCK:
        return _sums_up_to(x)
    blocks = jnp.pad(x, ((0, 0), (0, -n % BLOCK))).reshape(x.shape[0], -1, BLOCK)
    within = _sums_up_to(blocks.reshape(-1, BLOCK)).reshape(blocks.shape)
    before = jnp.pad(running_sums(within[:, :-1, -1]), ((0, 0), (1, 0)))
    return (within + before[:, :, None]).reshape(x.shape[0], -1)[:, :n]


def _sums_up_to(x: Float[Array, "r b"]) -> Float[Array, "r b"]:
    ones = jnp.asarray(np.triu(np.ones((x.shape[1], x.shape[1]), np.float32)))
    return jnp.matmul(x, ones, precision=jax.lax.Precision.HIGHEST)


def _width(n_number_cells: int, n_sets: int) -> int:
    """Of an output's part of the steps: cells of numbers, one for what ends nowhere, sets of levels."""
    return n_number_cells + 1 + n_sets


def boxes_of(model: AbstractTrees) -> Boxes:
    """Every leaf of an ensemble that some row can reach, as a box."""
    flat = model.flat()
    nodes, roots = flat.nodes, flat.roots
    thresholds = nodes[:, 1].astype(np.int32).view(np.float32)
    cells, cuts = _cells(flat, nodes, thresholds)
    n, first = cells.n_numbers, np.asarray(cells.first)
    n_levels = len(cells.slot) - cells.n_number_cells
    last = np.array([len(c) for c in cuts], int)

    at, tree = roots, np.arange(len(roots))
    low, high = np.zeros((len(at), n), int), np.tile(last, (len(at), 1))
    absent, listed = np.ones((len(at), n), bool), np.ones((len(at), n_levels), bool)
    found = []
    while len(at):
        leaf = nodes[at, 2] == at
        found.append([part[leaf] for part in (at, tree, low, high, absent, listed)])
        at, tree, low, high, absent, listed = (part[~leaf] for part in (at, tree, low, high, absent, listed))
        slot, words = nodes[at, 0], nodes[at, 4:].astype(np.int64)
        sides = []
        for goes_left in (True, False):
            down, up, gone, sets = low.copy(), high.copy(), absent.copy(), listed.copy()
            for j in range(n):
                rows = slot == j
                place = _place(cuts[j], thresholds[at[rows]])
                if goes_left:
                    up[rows, j] = np.minimum(up[rows, j], place)
                else:
                    down[rows, j] = np.maximum(down[rows, j], place + 1)
                gone[rows, j] &= ((words[rows, 0] & 1) == 1) == goes_left
            for j in range(n, cells.n_slots):
                rows = slot == j
                own = np.flatnonzero(np.asarray(cells.slot) == j) - cells.n_number_cells
                code = own + cells.n_number_cells - first[j]
                bits = (words[rows][:, code // 32] >> (code % 32)) & 1 == 1
                sets[np.ix_(rows, own)] &= bits == goes_left
            sides.append((nodes[at, 2 if goes_left else 3], tree, down, up, gone, sets))
        at, tree, low, high, absent, listed = (np.concatenate(part) for part in zip(*sides, strict=True))
    at, tree, low, high, absent, listed = (np.concatenate(part) for part in zip(*found, strict=True))
    return _assembled(flat, cells, last, at, tree, low, high, absent, listed)


def _cells(model: Flat, nodes: np.ndarray, thresholds: np.ndarray) -> tuple[Cells, list[np.ndarray]]:
    inner = nodes[:, 2] != np.arange(len(nodes))
    n = len(model.slots.numbers)
    asked = [np.unique(thresholds[inner & (nodes[:, 0] == j)]) for j in range(n)]
    cuts = [values[np.isfinite(values)] for values in asked]
    low = [np.concatenate([[-np.inf], c, [np.inf]]) for c in cuts]
    high = [np.concatenate([c, [np.inf, np.inf]]) for c in cuts]
    counts = [k + 1 for _, _, k in model.slots.positions] + [b - a for a, b in model.slots.groups]
    sizes = [len(part) for part in low] + counts
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int)
    flat = np.full(sum(counts), np.nan)
    return Cells(
        slot=jnp.asarray(np.repeat(np.arange(len(sizes)), sizes)),
        rank=jnp.asarray(np.concatenate([np.arange(size) for size in sizes])),
        low=jnp.asarray(np.concatenate([*low, flat]), jnp.float32),
        high=jnp.asarray(np.concatenate([*high, flat]), jnp.float32),
        first=jnp.asarray(first),
        n_numbers=n,
        n_number_cells=int(sum(sizes[:n])),
    ), cuts


def _place(cuts: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Rank of the last cell that goes left; -1 where none does."""
    return np.where(thresholds == -np.inf, -1, np.searchsorted(cuts, thresholds))


def _assembled(
    flat: Flat,
    cells: Cells,
    last: np.ndarray,
    at: np.ndarray,
    tree: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    absent: np.ndarray,
    listed: np.ndarray,
) -> Boxes:
    """Keep of every leaf the conditions that exclude something."""
    n, n_leaves = cells.n_numbers, len(at)
    slot_of = np.asarray(cells.slot)[cells.n_number_cells :]
    binds = np.zeros((n_leaves, cells.n_slots), bool)
    binds[:, :n] = (low > 0) | (high < last) | ~absent
    sets = np.zeros((n_leaves, cells.n_slots), int)
    members = [np.zeros(len(slot_of), bool)]
    for j in range(n, cells.n_slots):
        mine = slot_of == j
        binds[:, j] = ~listed[:, mine].all(axis=1)
        distinct, which = np.unique(listed[:, mine], axis=0, return_inverse=True)
        sets[:, j] = len(members) + which.ravel()
        for row in distinct:
            members.append(np.zeros(len(slot_of), bool))
            members[-1][mine] = row
    width = max(int(binds.sum(axis=1).max()), 1)
    order = np.argsort(~binds, axis=1, kind="stable")[:, :width]
    kept = np.take_along_axis(binds, order, axis=1)
    place = np.minimum(order, max(n - 1, 0))

    def numbers(part: np.ndarray, otherwise: int | bool) -> np.ndarray:
        if not n:
            return np.full(order.shape, otherwise)
        return np.where(kept & (order < n), np.take_along_axis(part, place, axis=1), otherwise)

    first, end = np.asarray(cells.first)[np.minimum(order, cells.n_slots - 1)], cells.n_number_cells
    lows, highs = numbers(low, 0), numbers(high, 0)
    levels = np.where(kept & (order >= n), np.take_along_axis(sets, order, axis=1), 0)
    of_number = kept & (order < n)
    leads = flat.output[tree][:, None] * _width(end, len(members))
    visits = len(flat.roots) * max(flat.depth, 1)
    by_condition = [np.where(kept, order, cells.n_slots), lows, highs, numbers(absent, True), levels]
    by_condition.append(leads + np.where(of_number, first + lows, end + 1 + levels))
    by_condition.append(leads + np.where(of_number, first + highs + 1, end))
    return Boxes(
        cells,
        *(jnp.asarray(np.ascontiguousarray(part.T)) for part in by_condition),
        members=jnp.asarray(np.stack(members)),
        tree=jnp.asarray(tree),
        value=jnp.asarray(flat.values[at], jnp.float32),
        output=jnp.asarray(flat.output),
        base=jnp.asarray(flat.base, jnp.float32),
        n_trees=len(flat.roots),
        n_rows=-(-len(flat.nodes) // visits),
        may_miss=any(flag != at for at, flag in flat.slots.numbers),
    )
