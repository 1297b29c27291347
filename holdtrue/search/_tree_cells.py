"""Search among the cells of a tree ensemble: dives towards a yes, then the best point improved."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Feasible, Norm
from holdtrue.models import AbstractTrees, Boxes, Decision
from holdtrue.search._additive import addend, as_total
from holdtrue.search._problem import Problem, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

# Which share of what is missing to a yes a change must bring, or else the most that any brings: the first dive
# takes long strides, the last short ones that fit better.
SHARES = (1.0, 0.5, 0.25, 0.125)
DEEPEST = 12  # changes that a dive takes
LEAST = 1e-6
PAST = 2e-6  # how far beyond a threshold a number without a grid is put, in encoded units
ASKED = 16  # accepted rows asked about at once
EXACT = 1e-4  # by how much sums over boxes and the model's own may differ, in logits


class Open(NamedTuple):
    """What is open to one person: the value that every cell means for them, and what it costs, in the units that
    add up over features; infinite where it is not permitted. `own` and `missing` say where they are."""

    value: Float[Array, " e"]
    price: Float[Array, " e"]
    own: Int[Array, " s"]
    missing: Bool[Array, " s"]


class Dive(NamedTuple):
    """Where the search stands.

    `at` are the cells it is in, as ranks; `number` says which dive this is, or else from which feature's `lead`
    (the cell that helps most by itself) it looks, and beyond those that the `best` point is improved. `depth`
    counts the changes of a dive, `turn` the looks at the best point since it last became better.
    """

    open: Open
    at: Int[Array, " s"]
    number: Int[Array, ""]
    depth: Int[Array, ""]
    lead: Int[Array, " s"]
    best: Int[Array, " s"]
    turn: Int[Array, ""]


class DiveSolver(AbstractSolver):
    """The cheapest recourse found by changing one feature of a tree ensemble's input after another.

    Every step looks once at all leaves (`Boxes`), which tells the decision for the current point with any one
    feature changed to any value: exactly, and over all thresholds. The cheapest accepted one of them is asked of
    the model and kept. Dives start at the factual and take, among the changes that bring at least a share of what
    is missing, the one that brings most for its cost. Where no dive arrives, the search starts from the cheapest
    of some `accepted` rows. A look from the most helpful value of each feature finds pairs that no dive comes by.
    Then the best point is improved: one change made cheaper, or one taken back and another put in its place, until
    nothing helps.
    """

    decision: Decision
    boxes: Boxes
    accepted: Float[Array, "r d"]
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    max_changes: int = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """One row, and a look at all leaves."""
        return 1 + self.boxes.n_rows

    @property
    def n_lanes(self) -> int:
        """One person: the leaves are many, and searches differ in length."""
        return 1

    @property
    def trees(self) -> AbstractTrees:
        """The ensemble that `boxes` are the leaves of."""
        assert isinstance(self.decision.model, AbstractTrees)
        return self.decision.model

    # ---- a person's cells ---------------------------------------------------------------------------

    def start(self, problem: Problem) -> Dive:
        """Price every cell."""
        opened = self._open(problem)
        zero = jnp.asarray(0)
        return Dive(opened, opened.own, zero, zero, opened.own, opened.own, zero)

    def _open(self, problem: Problem) -> Open:
        cells, feasible = self.boxes.cells, problem.feasible
        model = self.trees
        numbers, codes = model.slots(problem.x)
        n, weights = cells.n_numbers, self.weights(problem)
        own = cells.ranks(numbers, codes)
        missing = (jnp.arange(cells.n_slots) < n) & jnp.isnan(numbers)
        here = cells.rank == own[cells.slot]
        parts = [self._of_numbers(feasible, weights, model, here, own)]
        for index, (column, _, n_levels) in enumerate(model.slots.positions):
            part = slice(*self._span(n + index))
            parts.append(self._of_positions(feasible, weights, column, n_levels, here[part]))
        for index, (first, last) in enumerate(model.slots.groups):
            part = slice(*self._span(n + len(model.slots.positions) + index))
            parts.append(self._of_group(feasible, weights, slice(first, last), here[part]))
        value, price = (jnp.concatenate(part) for part in zip(*parts, strict=True))
        price = jnp.where(here, 0.0, jnp.where(missing[cells.slot], jnp.inf, price))
        return Open(value, price, own, missing)

    def _span(self, slot: int) -> tuple[int, int]:
        model = self.trees
        sizes = [k + 1 for _, _, k in model.slots.positions] + [b - a for a, b in model.slots.groups]
        first = self.boxes.cells.n_number_cells + sum(sizes[: slot - self.boxes.cells.n_numbers])
        return first, first + sizes[slot - self.boxes.cells.n_numbers]

    def _of_numbers(
        self, feasible: Feasible, weights: Array, model: AbstractTrees, here: Array, own: Array
    ) -> tuple[Array, Array]:
        """The value of each number's cell that is nearest to the person's own."""
        cells = self.boxes.cells
        part = slice(0, cells.n_number_cells)
        slot, low, high = cells.slot[part], cells.low[part], cells.high[part]
        column = jnp.asarray([c for c, _ in model.slots.numbers], jnp.int32)[slot]
        x, step, bottom = feasible.x[column], feasible.step[column], feasible.lower[column]
        rises = cells.rank[part] > own[slot]
        edge = jnp.where(rises, low, high)
        inset = jnp.minimum(PAST * jnp.maximum(1.0, jnp.abs(edge)), (high - low) / 2)
        beyond = edge + jnp.where(rises, inset, -inset)
        count = (edge - bottom) / jnp.where(step > 0, step, 1.0)
        near = 1e-3  # of a step: a threshold this near to a grid point lies on it, and goes left
        steps = jnp.where(rises, jnp.floor(count + near) + 1, jnp.floor(count + near))
        value = jnp.where(step > 0, bottom + steps * step, beyond)
        slack = jnp.where(step > 0, near * step, 0.0)
        value = jnp.where(here[part], x, value)
        inside = (value >= bottom - 1e-6) & (value <= feasible.upper[column] + 1e-6) & feasible.movable[column]
        inside = inside & (value > low - slack) & (value <= high + slack)
        value = jnp.where(here[part] | ~inside, x, jnp.clip(value, bottom, feasible.upper[column]))
        return value, jnp.where(inside, addend(self.norm, weights[column], value - x), jnp.inf)

    def _of_positions(
        self, feasible: Feasible, weights: Array, column: int, n_levels: int, here: Array
    ) -> tuple[Array, Array]:
        value = (jnp.arange(n_levels + 1) - feasible.offset[column]) / feasible.scale[column]
        half = 0.25 / feasible.scale[column]
        inside = (value >= feasible.lower[column] - half) & (value <= feasible.upper[column] + half)
        inside = inside & feasible.movable[column] & (jnp.arange(n_levels + 1) < n_levels)
        value = jnp.where(here, feasible.x[column], value)
        return value, jnp.where(inside, addend(self.norm, weights[column], value - feasible.x[column]), jnp.inf)

    def _of_group(self, feasible: Feasible, weights: Array, part: slice, here: Array) -> tuple[Array, Array]:
        size = addend(self.norm, weights[part], 1.0 / feasible.scale[part])
        price = size + jnp.sum(jnp.where(here, size, 0.0))
        if self.norm == "linf":
            price = jnp.maximum(size, jnp.max(jnp.where(here, size, 0.0)))
        return jnp.zeros_like(size), jnp.where(feasible.movable[part], price, jnp.inf)

    # ---- one step -----------------------------------------------------------------------------------

    def step(self, problem: Problem, state: State[Dive]) -> State[Dive]:
        """Look at all leaves from one point, keep the cheapest accepted change, and go on."""
        walk, cells = state.own, self.boxes.cells
        total, moved = self.boxes.sums(walk.at, walk.open.missing)
        margin = self.decision.margin_of(self.trees.logits_of(total), problem.target)
        margins = jax.vmap(self.decision.margin_of, in_axes=(1, None))(self.trees.logits_of(moved), problem.target)
        cost = self._costs(walk)
        # A missing number is nowhere among its cells, so none of them says what would become of it.
        allowed = jnp.isfinite(cost) & ~walk.open.missing[cells.slot]
        allowed = allowed & (self._n_changed(walk) <= self.max_changes)
        if problem.feasible.layout.clauses or problem.feasible.layout.n_constraints:
            allowed = allowed & self._satisfied(problem, walk)

        good = allowed & (margins >= CLEARANCE + EXACT)
        cheapest = jnp.argmin(jnp.where(good, cost, jnp.inf))
        target = walk.at.at[cells.slot[cheapest]].set(cells.rank[cheapest])
        point, ok = problem.feasible.hard(self._row(problem, walk.open, target))
        before = state.best_cost
        state, _ = self._offer(problem, state, point, ok & jnp.any(good))
        improved = state.best_cost < before * (1 - 1e-6)
        first = (walk.number == 0) & (walk.depth == 0)
        walk = walk._replace(
            lead=jax.lax.cond(first, lambda: self._leads(walk, margins, cost, allowed), lambda: walk.lead),
            best=jnp.where(improved, target, walk.best),
            turn=jnp.where(improved, 0, walk.turn + 1),
        )
        bound = as_total(self.norm, state.best_cost)
        gain = jnp.where(allowed & ~good & (cost < bound), margins - margin, 0.0)
        extra = cost - jnp.sum(walk.open.price[cells.first + walk.at])
        chosen, deeper = self._stride(walk, margin, gain, extra)
        return self._next(problem, state, walk, chosen, deeper)

    def _stride(
        self, walk: Dive, margin: Float[Array, ""], gain: Float[Array, " e"], extra: Float[Array, " e"]
    ) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """The change that a dive takes next: most gain for its cost among those that gain enough."""
        most = jnp.max(gain)
        share = jnp.asarray(SHARES)[jnp.minimum(walk.number, len(SHARES) - 1)]
        enough = (gain > LEAST) & (gain >= jnp.minimum(share * -margin, most))
        worth = jnp.where(enough, gain / jnp.maximum(extra, LEAST), -jnp.inf)
        return jnp.argmax(worth), (most > LEAST) & (walk.depth < DEEPEST)

    def _leads(
        self, walk: Dive, margins: Float[Array, " e"], cost: Float[Array, " e"], allowed: Bool[Array, " e"]
    ) -> Int[Array, " s"]:
        """The cell of each feature that helps most by itself, the cheapest of several; its own where none may."""
        cells = self.boxes.cells
        usable = jnp.where(allowed, margins, -jnp.inf)
        most = jnp.full(cells.n_slots, -jnp.inf).at[cells.slot].max(usable)
        as_good = allowed & (usable >= most[cells.slot] - EXACT)
        least = jnp.full(cells.n_slots, jnp.inf).at[cells.slot].min(jnp.where(as_good, cost, jnp.inf))
        rank = jnp.where(as_good & (cost <= least[cells.slot]), cells.rank, cells.rank.shape[0])
        lead = jnp.full(cells.n_slots, cells.rank.shape[0]).at[cells.slot].min(rank)
        return jnp.where(lead < cells.rank.shape[0], lead, walk.open.own)

    def _costs(self, walk: Dive) -> Float[Array, " e"]:
        """Total cost of the current point with each cell taken."""
        cells, price = self.boxes.cells, walk.open.price
        taken = price[cells.first + walk.at]
        if self.norm == "linf":
            others = jnp.where(jnp.arange(cells.n_slots)[None] == cells.slot[:, None], 0.0, taken[None])
            return jnp.maximum(jnp.max(others, axis=1), price)
        return jnp.sum(taken) - taken[cells.slot] + price

    def _n_changed(self, walk: Dive) -> Int[Array, " e"]:
        cells = self.boxes.cells
        changed = walk.at != walk.open.own
        return jnp.sum(changed) - changed[cells.slot] + (cells.rank != walk.open.own[cells.slot])

    def _satisfied(self, problem: Problem, walk: Dive) -> Bool[Array, " e"]:
        """Whether the limits across features hold for the current point with each cell taken."""
        cells = self.boxes.cells

        def one(slot: Array, rank: Array) -> Array:
            return problem.feasible.satisfied(self._row(problem, walk.open, walk.at.at[slot].set(rank)))

        return jax.vmap(one)(cells.slot, cells.rank)

    def _row(self, problem: Problem, opened: Open, at: Int[Array, " s"]) -> Float[Array, " d"]:
        """The encoded row that lies in the given cells."""
        model, feasible = self.trees, problem.feasible
        columns = [c for c, _ in model.slots.numbers] + [c for c, _, _ in model.slots.positions]
        value = opened.value[self.boxes.cells.first + at]
        row = problem.x
        if columns:
            row = row.at[jnp.asarray(columns)].set(value[: len(columns)])
        for index, (first, last) in enumerate(model.slots.groups):
            rank = at[len(columns) + index]
            level = (jnp.arange(last - first) == rank) - feasible.offset[first:last]
            changed = rank != jnp.argmax(
                problem.x[first:last] * feasible.scale[first:last] + feasible.offset[first:last]
            )
            row = row.at[first:last].set(jnp.where(changed, level / feasible.scale[first:last], row[first:last]))
        return row

    # ---- where to go next ---------------------------------------------------------------------------

    def _next(
        self,
        problem: Problem,
        state: State[Dive],
        walk: Dive,
        chosen: Int[Array, ""],
        deeper: Bool[Array, ""],
    ) -> State[Dive]:
        """Down a dive, or to the next; then one look from every lead; then the best point is improved."""
        cells, opened, n_dives = self.boxes.cells, walk.open, len(SHARES)
        slots = jnp.arange(cells.n_slots)
        down = walk.at.at[cells.slot[chosen]].set(cells.rank[chosen])
        deeper = deeper & (walk.number < n_dives)
        number = jnp.where(deeper, walk.number, walk.number + 1)
        point, ok, cells_there = self._from_accepted(problem, state, walk, ~deeper & (number == n_dives))
        state, kept = self._offer(problem, state, point, ok)
        walk = walk._replace(best=jnp.where(kept, cells_there, walk.best))

        # The next lead that could still be part of something cheaper.
        bound = as_total(self.norm, state.best_cost)
        price = opened.price[cells.first + walk.lead]
        ahead = (walk.lead != opened.own) & (price < bound) & (slots >= number - n_dives)
        following = jnp.where(jnp.any(ahead), jnp.argmax(ahead), cells.n_slots)
        number = jnp.where(number < n_dives, number, jnp.maximum(number, n_dives + following))
        leading = jnp.where(slots == number - n_dives, walk.lead, opened.own)

        # Looks at the best point: at itself, then without each of its changes, where there are several.
        improving = number >= n_dives + cells.n_slots
        turn = jnp.where(improving, walk.turn, 0)
        n_changed = jnp.sum(walk.best != opened.own)
        paid = jnp.where(walk.best != opened.own, opened.price[cells.first + walk.best], -1.0)
        left_out = jnp.argsort(-paid)[jnp.clip(turn - 1, 0, cells.n_slots - 1)]
        without = jnp.where((slots == left_out) & (turn > 0), opened.own, walk.best)
        over = ~is_found(state.status) | (turn > jnp.where(n_changed > 1, n_changed, 0))

        at = jnp.where(deeper, down, jnp.where(improving, without, leading))
        own = walk._replace(at=at, number=number, depth=jnp.where(deeper, walk.depth + 1, 0), turn=turn)
        return eqx.tree_at(lambda s: (s.own, s.done), state, (own, improving & over))

    def _offer(
        self, problem: Problem, state: State[Dive], point: Float[Array, " d"], ok: Bool[Array, ""]
    ) -> tuple[State[Dive], Bool[Array, ""]]:
        """Offer a point, and say whether it was taken; the model is asked only where it could be."""
        wanted = ok & (self.cost(point, problem) < state.best_value)

        def ask(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            n_asked, _ = carry
            # Tied to the round, or else it would be computed before the loop, for everybody.
            row, n_asked = jax.lax.optimization_barrier((point, n_asked))
            return n_asked + 1, self.decision.margin(row, problem.target)

        # A loop of at most one round in place of a condition, of which a batch would compute both sides.
        begun = (jnp.where(wanted, 0, 1), jnp.asarray(-jnp.inf, point.dtype))
        _, margin = jax.lax.while_loop(lambda c: c[0] < 1, ask, begun)
        before = state.best_value
        state = self.offer(problem, state, point, margin, ok)
        return state, state.best_value < before

    def _from_accepted(
        self, problem: Problem, state: State[Dive], walk: Dive, asked: Bool[Array, ""]
    ) -> tuple[Float[Array, " d"], Bool[Array, ""], Int[Array, " s"]]:
        """Where no dive arrived: the cheapest of the accepted rows, as far as this person may go there.

        Also whether there is one, and the cells it is in.
        """

        n = self.accepted.shape[0]

        def ask(carry: tuple) -> tuple:
            i, row, least = carry
            rows, ok = jax.vmap(problem.feasible.hard)(self.accepted[(i + jnp.arange(ASKED)) % n])
            margins = jax.vmap(lambda row: self.decision.margin(row, problem.target))(rows)
            costs = jax.vmap(lambda row: self.cost(row, problem))(rows)
            costs = jnp.where(ok & (margins >= CLEARANCE), costs, jnp.inf)
            at = jnp.argmin(costs)
            return i + ASKED, jnp.where(costs[at] < least, rows[at], row), jnp.minimum(costs[at], least)

        # No round at all for most. Some rows at a time: what is the same in every round of a loop is computed
        # before it, for everybody.
        needed = asked & ~is_found(state.status)
        _, row, least = jax.lax.while_loop(
            lambda c: c[0] < n, ask, (jnp.where(needed, 0, n), problem.x, jnp.asarray(jnp.inf))
        )
        cells = self._cells_of(walk.open, row)
        point, fits = problem.feasible.hard(self._row(problem, walk.open, cells))
        few = jnp.sum(cells != walk.open.own) <= self.max_changes
        return point, fits & few & jnp.isfinite(least), cells

    def _cells_of(self, opened: Open, row: Float[Array, " d"]) -> Int[Array, " s"]:
        """Cells a row lies in; where the person may not be in one, their own."""
        cells = self.boxes.cells
        ranks = cells.ranks(*self.trees.slots(row))
        return jnp.where(jnp.isfinite(opened.price[cells.first + ranks]), ranks, opened.own)
