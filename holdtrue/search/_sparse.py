"""Exhaustive search over few changes: every permitted value of one feature, then of every pair, then a beam."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdtrue.causal import Effects
from holdtrue.encoding import Feasible, Norm
from holdtrue.models import AbstractModel, Decision
from holdtrue.search._additive import addend, as_total
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

POLISH = 3  # rounds of moving every changed number back towards the factual
NONE = -1


class Edits(NamedTuple):
    """Every single change open to one person, cheapest first; costs of those not permitted are infinite.

    An edit adds `up` to column `to` and `down` to column `off`: a number moves by `up` (`down` is 0), a category
    takes level `to` and leaves level `off`.
    """

    to: Int[Array, " e"]
    off: Int[Array, " e"]
    up: Float[Array, " e"]
    down: Float[Array, " e"]
    slot: Int[Array, " e"]
    cost: Float[Array, " e"]


class Walk(NamedTuple):
    """Where the enumeration stands.

    `depth` edits are already taken; `base` says which entry of the current list of bases they are, `chunk` which
    block of further edits comes next. Bases at depth 1 are the edits themselves, beyond that the `beam`. `polish`
    counts the steps at the end that move a number back, and `calm` those since one of them did.
    """

    edits: Edits
    depth: Int[Array, ""]
    base: Int[Array, ""]
    chunk: Int[Array, ""]
    polish: Int[Array, ""]
    calm: Int[Array, ""]
    beam: Int[Array, "w k"]
    beam_merit: Float[Array, " w"]
    next_beam: Int[Array, "w k"]
    next_merit: Float[Array, " w"]


class FirstLayer(NamedTuple):
    """A model's first layer, a row of weights per input: a change of a few inputs reads a few rows."""

    weight: Float[Array, "d h"]
    bias: Float[Array, " h"]

    @staticmethod
    def of(model: AbstractModel) -> "FirstLayer | None":
        """Turned once: in a search's loop it would be turned, and put together for a panel, at every step."""
        if model.first is None:
            return None
        weight, bias = model.first
        return FirstLayer(jnp.asarray(weight).T, jnp.asarray(bias))


class SparseSolver(AbstractSolver):
    """The cheapest recourse that changes at most `max_changes` features, among given values.

    Costs add up over features, so edits are sorted by cost and a pair is asked only if it could beat the best
    found. Up to two changes the enumeration is complete: what it finds is the cheapest among the values searched,
    and finding nothing proves that there is nothing. From three on it extends the `width` most promising sets. At
    the end each changed number is moved back towards the factual as far as the decision allows.

    With `effects`, rows are actions: the model is asked about, and limits across features hold for, the row that
    an action leads to. The cost is the action's own, so the enumeration proves what it proves without them.

    `first` and `first_alone` are the first layers of the model and of the model without its guides, if they have
    one: what a change does is then added to their sums.
    """

    decision: Decision
    values: Float[Array, "n v"]
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    max_changes: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    block: int = eqx.field(static=True)
    effects: Effects | None = None
    first: FirstLayer | None = None
    first_alone: FirstLayer | None = None

    @property
    def n_asked(self) -> int:
        """A block of edits at a time."""
        return self.block

    @property
    def n_lanes(self) -> int | None:
        """One person, whose block is a batch of its own; but a call to Python should bring many rows."""
        return None if self.decision.model.on_host else 1

    # ---- edits --------------------------------------------------------------------------------------

    def start(self, problem: Problem) -> Walk:
        """List and price the person's edits."""
        edits = self._edits(problem)
        nobody = jnp.full((self.width, max(self.max_changes, 1)), NONE)
        low = jnp.full(self.width, -jnp.inf)
        zero = jnp.asarray(0)
        return Walk(edits, zero, zero, zero, zero, zero, nobody, low, nobody, low)

    def _edits(self, problem: Problem) -> Edits:
        feasible, layout = problem.feasible, problem.feasible.layout
        n, v = self.values.shape
        permitted = self._permitted(feasible)
        parts = [
            Edits(
                to=jnp.repeat(jnp.arange(n), v),
                off=jnp.repeat(jnp.arange(n), v),
                up=(self.values - problem.x[:n, None]).reshape(-1),
                down=jnp.zeros(n * v),
                slot=jnp.repeat(jnp.arange(n), v),
                cost=jnp.where(permitted, self._price(problem, self.values), jnp.inf).reshape(-1),
            )
        ]
        for index, group in enumerate(layout.groups):
            part = slice(group.start, group.stop)
            own = problem.x[part] * feasible.scale[part] + feasible.offset[part] > 0.5
            size = 1.0 / feasible.scale[part]
            at = jnp.argmax(own)
            weights = self.cost_weights[part]
            price = addend(self.norm, weights, size) + addend(self.norm, weights[at], size[at])
            levels = jnp.arange(group.start, group.stop)
            parts.append(
                Edits(
                    to=levels,
                    off=jnp.full_like(levels, group.start) + at,
                    up=size,
                    down=jnp.full_like(size, 0.0) - size[at],
                    slot=jnp.full_like(levels, n + index),
                    cost=jnp.where(feasible.movable[part] & ~own, price, jnp.inf),
                )
            )
        every = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
        padding = -every.cost.shape[0] % self.block
        order = jnp.argsort(every.cost)
        every = jax.tree.map(lambda leaf: jnp.pad(leaf[order], (0, padding)), every)
        real = jnp.arange(every.cost.shape[0]) < order.shape[0]
        return every._replace(cost=jnp.where(real, every.cost, jnp.inf))

    def _permitted(self, feasible: Feasible) -> Bool[Array, "n v"]:
        n = self.values.shape[0]
        low, high = feasible.lower[:n, None], feasible.upper[:n, None]
        slack = 1e-6
        inside = (self.values >= low - slack) & (self.values <= high + slack) & feasible.movable[:n, None]
        # Short lists are filled up with their last value, which counts once.
        again = jnp.concatenate([jnp.zeros((n, 1), bool), self.values[:, 1:] == self.values[:, :-1]], axis=1)
        return inside & ~again & (jnp.abs(self.values - feasible.x[:n, None]) > 1e-7)

    def _price(self, problem: Problem, values: Float[Array, "n v"]) -> Float[Array, "n v"]:
        n, measured = values.shape[0], problem.feasible.measured
        if problem.feasible.tails is None:
            return addend(self.norm, self.cost_weights[:n, None], values - problem.x[:n, None])
        rows = jnp.concatenate(
            [values.T, jnp.broadcast_to(problem.x[n:], (values.shape[1], len(problem.x) - n))], 1
        )
        return addend(self.norm, self.cost_weights[:n, None], (measured(rows) - measured(problem.x))[:, :n].T)

    def _total(self, a: Array, b: Array) -> Array:
        return jnp.maximum(a, b) if self.norm == "linf" else a + b

    # ---- one step -----------------------------------------------------------------------------------

    def step(self, problem: Problem, state: State[Walk]) -> State[Walk]:
        """Ask about one block: a base with `block` further edits, or one changed number moved back."""
        walk = state.own
        polishing = walk.polish > 0
        base = self._base(walk)
        extended = (self._apply(problem.x, walk.edits, base), *self._extend(walk, base))
        backed = (state.best, *self._back(problem, state))
        x, moves, allowed = jax.tree.map(lambda a, b: jnp.where(polishing, a, b), backed, extended)
        columns = jnp.arange(x.shape[0])[None, :]
        rows = x[None, :] + moves.up[:, None] * (moves.to[:, None] == columns)
        rows = rows + moves.down[:, None] * (moves.off[:, None] == columns)
        after = rows
        if self.effects is not None:
            after, within = jax.vmap(self.effects.after, in_axes=(None, 0, None))(
                problem.x, rows, problem.feasible
            )
            allowed = allowed & within
        if problem.feasible.layout.clauses or problem.feasible.layout.n_constraints:
            allowed = allowed & jax.vmap(problem.feasible.satisfied)(after)
        cost = jax.vmap(lambda row: self.cost(row, problem))(rows)
        # A set that is refused counts while nothing is found: those nearest to a yes are extended.
        extends = (walk.depth > 0) & ~polishing & ~is_found(state.status) & (self.max_changes > 2)
        margins = self._margins(problem, x, moves, after, allowed & (extends | (cost < state.best_cost)), extends)
        good = allowed & (margins >= CLEARANCE)
        best = jnp.argmin(jnp.where(good, cost, jnp.inf))
        point, margin, ok = self._settled(problem, rows[best], margins[best])
        before = state.best_cost
        state = self.offer(problem, state, point, margin, ok & good[best])
        walk = self._remember(walk, base, margins, allowed & ~polishing)
        walk = walk._replace(calm=jnp.where(polishing & ~(state.best_cost < before), walk.calm + 1, 0))
        return self._next(problem, state, walk)

    def _base(self, walk: Walk) -> Int[Array, " k"]:
        """Indices of the edits already taken."""
        none = jnp.full(walk.beam.shape[1], NONE)
        one = jnp.where(jnp.arange(walk.beam.shape[1]) == 0, walk.base, NONE)
        many = walk.beam[jnp.clip(walk.base, 0, self.width - 1)]
        return jnp.where(walk.depth == 0, none, jnp.where(walk.depth == 1, one, many))

    def _apply(self, x: Float[Array, " d"], edits: Edits, taken: Int[Array, " k"]) -> Float[Array, " d"]:
        used, at = taken >= 0, jnp.maximum(taken, 0)
        columns = jnp.arange(x.shape[0])[None, :]
        up = jnp.where(used, edits.up[at], 0.0)[:, None] * (edits.to[at][:, None] == columns)
        down = jnp.where(used, edits.down[at], 0.0)[:, None] * (edits.off[at][:, None] == columns)
        return x + jnp.sum(up + down, axis=0)

    def _extend(self, walk: Walk, base: Int[Array, " k"]) -> tuple[Edits, Bool[Array, " b"]]:
        """The next block of edits, and which of them may join the base."""
        first = walk.chunk * self.block
        part: Edits = jax.tree.map(lambda leaf: jax.lax.dynamic_slice(leaf, (first,), (self.block,)), walk.edits)
        slots = jnp.where(base >= 0, walk.edits.slot[jnp.maximum(base, 0)], NONE)
        taken = jnp.any(slots[:, None] == part.slot[None, :], axis=0)
        # A pair is asked once: the dearer edit extends the cheaper.
        once = (walk.depth != 1) | (first + jnp.arange(self.block) > walk.base)
        return part, jnp.isfinite(part.cost) & ~taken & once

    def _back(self, problem: Problem, state: State[Walk]) -> tuple[Edits, Bool[Array, " b"]]:
        """Moves of one changed number of the best point towards the factual; numbers take turns, dearest first."""
        n, feasible = self.values.shape[0], problem.feasible
        if n == 0:  # nothing but categories: there is nothing to move back
            nowhere, zero = jnp.zeros(self.block, int), jnp.zeros(self.block)
            return Edits(nowhere, nowhere, zero, zero, nowhere, zero), jnp.zeros(self.block, bool)
        gap = state.best[:n] - problem.x[:n]
        _, order = jax.lax.top_k(self.cost_weights[:n] * jnp.abs(gap), min(self.max_changes, n))
        at = order[(state.own.polish - 1) % jnp.clip(self._n_moved(problem, state.best), 1, order.shape[0])]
        # Finer near the best point: each round, the boundary is closer to it.
        share = 1.0 - ((jnp.arange(self.block) + 1.0) / (self.block + 1.0)) ** 3
        value = problem.x[at] + share * gap[at]
        spacing = jnp.where(feasible.step[at] > 0, feasible.step[at], 1.0)
        on_grid = feasible.lower[at] + spacing * jnp.round((value - feasible.lower[at]) / spacing)
        value = jnp.clip(jnp.where(feasible.step[at] > 0, on_grid, value), feasible.lower[at], feasible.upper[at])
        column = jnp.full(self.block, at)
        zero = jnp.zeros(self.block)
        moves = Edits(column, column, value - state.best[at], zero, column, zero)
        return moves, jnp.full(self.block, jnp.abs(gap[at]) > 1e-7)

    def _n_moved(self, problem: Problem, x: Float[Array, " d"]) -> Int[Array, ""]:
        """How many numbers differ from the factual's."""
        n = self.values.shape[0]
        return jnp.sum(jnp.abs(x[:n] - problem.x[:n]) > 1e-7)

    def _margins(
        self,
        problem: Problem,
        x: Float[Array, " d"],
        moves: Edits,
        rows: Float[Array, "b d"],
        open_: Bool[Array, " b"],
        all_count: Bool[Array, ""],
    ) -> Float[Array, " b"]:
        """Margins of a row with each of the moves.

        Guides are asked only where the model itself accepts one of the `open_` rows, or where refused rows count
        too; else the margins are the model's own, of which none is a yes that matters.
        """
        model = self.decision.model
        if model.alone is model:
            return self._margins_of(model, self.first, problem, x, moves, rows)
        own = self._margins_of(model.alone, self.first_alone, problem, x, moves, rows)
        return jax.lax.cond(
            all_count | jnp.any(open_ & (own >= CLEARANCE)),
            lambda: self._margins_of(model, self.first, problem, x, moves, rows),
            lambda: own,
        )

    def _margins_of(
        self,
        model: AbstractModel,
        first: FirstLayer | None,
        problem: Problem,
        x: Float[Array, " d"],
        moves: Edits,
        rows: Float[Array, "b d"],
    ) -> Float[Array, " b"]:
        """Margins by one model, from the first layer's sums where it is given."""
        if first is None or self.effects is not None:  # effects reach other columns than the moves name
            logits = jax.vmap(model.logits)(rows)
        else:
            weight, bias = first
            moved = weight[moves.to] * moves.up[:, None] + weight[moves.off] * moves.down[:, None]
            logits = jax.vmap(model.rest)((x @ weight + bias)[None, :] + moved)
        return jax.vmap(lambda row: self.decision.margin_of(row, problem.target))(logits)

    def _settled(
        self, problem: Problem, row: Float[Array, " d"], margin: Float[Array, ""]
    ) -> tuple[Float[Array, " d"], Float[Array, ""], Bool[Array, ""]]:
        """The row snapped, with its margin; the limits of an action bind where it leads.

        It keeps limits across features already, so that nothing is left to repair: what repairs them is most of
        `hard`, at every step and when compiled.
        """
        feasible = problem.feasible
        point = feasible.snap(row)
        if self.effects is None:
            return point, margin, feasible.satisfied(point)
        after, ok = self.effects.after(problem.x, point, feasible)
        return point, self.decision.margin(after, problem.target), ok & feasible.satisfied(after)

    # ---- where to go next ---------------------------------------------------------------------------

    def _remember(
        self, walk: Walk, base: Int[Array, " k"], margins: Float[Array, " b"], allowed: Bool[Array, " b"]
    ) -> Walk:
        """Keep the sets nearest to a yes, to be extended further."""
        if self.max_changes < 3:
            return walk
        merit = jnp.concatenate([walk.next_merit, jnp.where(allowed & (walk.depth > 0), margins, -jnp.inf)])
        index = walk.chunk * self.block + jnp.arange(self.block)
        slot = jnp.arange(walk.beam.shape[1]) == walk.depth
        sets = jnp.where(slot[None, :], index[:, None], base[None, :])
        top, at = jax.lax.top_k(merit, self.width)
        return walk._replace(next_merit=top, next_beam=jnp.concatenate([walk.next_beam, sets])[at])

    def _next(self, problem: Problem, state: State[Walk], walk: Walk) -> State[Walk]:
        edits, n_edits = walk.edits, walk.edits.cost.shape[0]
        bound = as_total(self.norm, state.best_cost)
        found = is_found(state.status)
        # The next block of the same base, if its cheapest edit could still beat the best.
        base = self._base(walk)
        base_cost = jnp.where(base >= 0, edits.cost[jnp.maximum(base, 0)], 0.0)
        before = jnp.max(base_cost) if self.norm == "linf" else jnp.sum(base_cost)
        following = jnp.minimum((walk.chunk + 1) * self.block, n_edits - 1)
        more = ((walk.chunk + 1) * self.block < n_edits) & (self._total(before, edits.cost[following]) < bound)
        more = more & jnp.isfinite(edits.cost[following])
        # The next base, if with the cheapest edit that may extend it, it could.
        at = walk.base + 1
        ahead = jnp.minimum(at + 1, n_edits - 1)
        pair = self._total(edits.cost[jnp.minimum(at, n_edits - 1)], edits.cost[ahead])
        base_left = jnp.where(
            walk.depth == 1,
            (ahead > at) & (pair < bound) & jnp.isfinite(pair),
            (walk.depth > 1) & (at < self.width) & jnp.isfinite(walk.beam_merit[jnp.minimum(at, self.width - 1)]),
        )
        same = more | base_left
        # Deeper: pairs always (they may be cheaper than one change), larger sets only while nothing is found.
        deeper_open = (walk.depth + 1 < self.max_changes) & ((walk.depth == 0) | ~found)
        first_pair = self._total(edits.cost[0], edits.cost[1])
        deeper_open = deeper_open & jnp.where(
            walk.depth == 0, first_pair < bound, jnp.isfinite(walk.next_merit[0])
        )
        deeper = ~same & deeper_open & (walk.polish == 0)
        over = ~same & ~deeper_open
        start_chunk = jnp.where(walk.depth == 1, (at + 1) // self.block, 0)
        nobody, low = jnp.full_like(walk.beam, NONE), jnp.full_like(walk.beam_merit, -jnp.inf)
        polish = jnp.where((walk.polish > 0) | over, walk.polish + 1, 0)
        still = walk.polish > 0
        walk = walk._replace(
            depth=jnp.where(deeper, walk.depth + 1, walk.depth),
            base=jnp.where(still | more, walk.base, jnp.where(deeper, 0, at)),
            chunk=jnp.where(still, walk.chunk, jnp.where(more, walk.chunk + 1, jnp.where(deeper, 0, start_chunk))),
            polish=polish,
            beam=jnp.where(deeper, walk.next_beam, walk.beam),
            beam_merit=jnp.where(deeper, walk.next_merit, walk.beam_merit),
            next_beam=jnp.where(deeper, nobody, walk.next_beam),
            next_merit=jnp.where(deeper, low, walk.next_merit),
        )
        # Once every changed number has had its turn in vain, the next turns would ask the same again.
        n_moved = self._n_moved(problem, state.best)
        done = (polish > 0) & (~found | (walk.calm >= n_moved) | (polish > POLISH * n_moved))
        # What a complete enumeration proves: the cheapest of those searched, or that there is none. Three changes
        # may be cheaper than two, so it is complete where no more than two are permitted.
        proof = jnp.where(found, int(Status.OPTIMAL), int(Status.INFEASIBLE))
        proven = over & (walk.depth < 2) & (self.max_changes <= 2)
        status = jnp.where(proven, proof, state.status)
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (walk, done, status))


def value_grid(columns: list[np.ndarray]) -> np.ndarray:
    """Candidate values of the number columns as one array, short lists filled up with their last value."""
    longest = max([len(c) for c in columns] + [1])
    return (
        np.stack([np.pad(c, (0, longest - len(c)), mode="edge") for c in columns]) if columns else np.zeros((0, 1))
    )
