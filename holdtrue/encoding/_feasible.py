"""One person's allowed region, and the ways into it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from holdtrue.encoding._layout import Block, Layout, Slot
from holdtrue.encoding._polytope import into_halfspaces, nearest_in_polytope
from holdtrue.encoding._tails import Tails

# How far a linear constraint (a row of unit length, in encoded units) may be missed: above float32 rounding of
# a row's sum, below what `broken_limits` accepts.
ACCEPT = 2e-6
ROUNDING = 3e-7

AnyArray = Array | np.ndarray
Out = TypeVar("Out")
Part = tuple[tuple[int, tuple[int, ...]], ...]


class Feasible(eqx.Module):
    """Where one person's recourse may lie.

    Attributes
    ----------
    x : the factual; any single coordinate may always stay.
    lower, upper : permitted interval of a number column, ending on grid points where there is a grid; a level's
        encoded 0 and 1.
    step : spacing of the grid, 0 for a continuum.
    movable : whether a number may move at all, or whether a level may be taken.
    b : right-hand sides of ``a @ x <= b``.
    active : which implications bind this person.
    a, scale, offset : shared by all people: constraint rows of unit length, and raw = x * scale + offset.
    tails : what columns are measured by whose cost goes by percentile; None where there is none.
    """

    x: Float[Array, " d"]
    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    step: Float[Array, " d"]
    movable: Bool[Array, " d"]
    b: Float[Array, " c"]
    active: Bool[Array, " m"]
    a: Float[Array, "c d"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    layout: Layout = eqx.field(static=True)
    tails: Tails | None = None

    # What is jitted below runs inside compiled searches, where `jit` changes only how often it is traced: jax
    # batches the body of a loop several times over, and a search hardens at its start, in each step and at its
    # end. All of these share what was traced and batched first.

    def measured(self, x: Float[Array, "*rows d"]) -> Float[Array, "*rows d"]:
        """Rows in what costs are differences of: encoded values, or heights among people."""
        return x if self.tails is None else self.tails.rise(x)

    @property
    def box(self) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """Ends of the box that holds every permitted value and the factual."""
        low = jnp.where(self.movable, jnp.minimum(self.lower, self.x), self.x)
        high = jnp.where(self.movable, jnp.maximum(self.upper, self.x), self.x)
        return low, high

    def clip(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Nearest point of the box that holds every permitted value and the factual."""
        return jnp.clip(x, *self.box)

    def soft(self, x: Float[Array, " d"], temperature: float = 0.1) -> Float[Array, " d"]:
        """Differentiable: numbers clipped, a softmax over the allowed levels, then the polytope.

        For searches that work on relaxed categories. At the factual, a person's own level keeps all but a share of
        about ``levels * exp(-1 / temperature)``.
        """
        return self.relaxed(self.clip(x)[: len(self.layout.numbers)], (x * self.scale + self.offset) / temperature)

    def relaxed(
        self, numbers: Float[Array, " n"], scores: Float[Array, " d"], *, project: bool = True
    ) -> Float[Array, " d"]:
        """Put a relaxed row together: numbers that lie in the box, and shares of the allowed levels.

        The shares are a softmax of the `scores` in the columns of each category. Linear constraints are kept by
        projection, unless whoever asks hardens the row anyway. Differentiable in both.
        """
        parts = [numbers]
        for group in self.layout.groups:
            share = jax.nn.softmax(self._part(scores, group), where=self._takeable(group))
            parts.append((share - self._part(self.offset, group)) / self._part(self.scale, group))
        row = jnp.concatenate([*parts, self._indicators()])
        return self._into_polytope(row) if project else row

    @jax.jit
    def hard(self, x: Float[Array, " d"]) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
        """Exact: a point the person could really be at, and whether there is one near `x`.

        Whole numbers are whole, each category takes one allowed level, fixed features are untouched,
        implications and linear constraints hold. A feasible `x` comes back as it is. Where the flag is
        False the point must not be used.
        """
        real = jnp.all(jnp.isfinite(x))
        x = self.snap(jnp.where(jnp.isfinite(x), x, self.x))
        if not (self.layout.clauses or self.layout.n_constraints):
            return x, real
        ok = self.satisfied(x)

        if not self.layout.levels_bound:
            repaired, mended = self._repair(x)
            return jnp.where(ok, x, repaired), real & (ok | mended)

        # A loop in place of a condition: over a batch, jax computes both sides of a condition, but leaves out a
        # loop that nobody enters.
        def mend(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            point, _, count = carry
            # The categories may be what no number can make up for: then take the levels that help most.
            repaired, mended = self._repair(jnp.where(count > 0, self._help_broken_rows(x, point), point))
            return repaired, mended, count + 1

        x, ok, _ = jax.lax.while_loop(lambda c: ~c[1] & (c[2] < 2), mend, (x, ok, jnp.asarray(0)))
        return x, real & ok

    @jax.jit
    def snap(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Numbers to their grid and interval, one level per category; limits across features aside."""
        numbers = self._snap_numbers(x[: len(self.layout.numbers)])
        groups = [self._snap_group(x, g, self._takeable(g)) for g in self.layout.groups]
        return jnp.concatenate([numbers, *groups, self._indicators()])

    def satisfied(self, x: Float[Array, " d"]) -> Bool[Array, ""]:
        """Whether a snapped point keeps the implications and the linear constraints."""
        ok = jnp.asarray(True)
        if self.layout.n_constraints:
            rounding = ROUNDING * (jnp.abs(self.a) @ jnp.abs(x) + jnp.abs(self.b))
            ok = jnp.all(self.a @ x <= self.b + ACCEPT + rounding)
        for i, clause in enumerate(self.layout.clauses):
            broken = self.holds(clause.when, x) & ~self.holds(clause.then, x)
            ok = ok & ~(self.active[i] & broken)
        return ok

    @jax.jit
    def _repair(self, x: Float[Array, " d"]) -> tuple[Float[Array, " d"], Bool[Array, ""]]:
        if self.layout.clauses:
            x = self._follow_clauses(x)
        if self.layout.blocks:
            x = self._round_inside(x)
        # Snapped again, so that a grid point has the same bits however it was reached.
        x = self.snap(x)
        return x, self.satisfied(x)

    # ---- numbers and groups -------------------------------------------------------------------------

    def _snap_numbers(
        self, x: Float[Array, " n"], rounding: Callable[[Array], Array] = jnp.round
    ) -> Float[Array, " n"]:
        n = x.shape[0]
        lower, upper, step, own = self.lower[:n], self.upper[:n], self.step[:n], self.x[:n]
        inside = jnp.clip(x, lower, upper)
        spacing = jnp.where(step > 0, step, 1.0)
        on_grid = jnp.minimum(lower + spacing * rounding((inside - lower) / spacing), upper)
        moved = jnp.where(step > 0, on_grid, inside)
        # The factual is always permitted: where it is no farther than the nearest permitted value, stay.
        stay = (jnp.abs(x - own) <= jnp.abs(x - moved)) | ~self.movable[:n]
        return jnp.where(stay, own, moved)

    def _snap_group(self, x: Float[Array, " d"], group: Slot, allowed: Bool[Array, " l"]) -> Float[Array, " l"]:
        # Bounded, so that an allowed level is always above a forbidden one.
        unit = jnp.where(allowed, jnp.clip(self._unit(x, group), -1e30, 1e30), -jnp.inf)
        # Of equal levels the first wins. Two plain reductions: inside a search they are many times faster
        # than an argmax.
        order = jnp.arange(group.stop - group.start)
        first = jnp.min(jnp.where(unit >= jnp.max(unit), order, group.stop))
        # The encoder's own values for 1 and 0, to the bit.
        return jnp.where(order == first, self._part(self.upper, group), self._part(self.lower, group))

    def _unit(self, x: Float[Array, " d"], group: Slot) -> Float[Array, " l"]:
        return self._part(x, group) * self._part(self.scale, group) + self._part(self.offset, group)

    def _takeable(self, group: Slot) -> Bool[Array, " l"]:
        """Levels this person may take, their own among them."""
        return self._part(self.movable, group) | (self._unit(self.x, group) > 0.5)

    def _part(self, x: Array, slot: Slot) -> Array:
        return x[slot.start : slot.stop]

    def _indicators(self) -> Float[Array, " i"]:
        return self.x[self.layout.n_columns - len(self.layout.indicators) :]

    # ---- implications -------------------------------------------------------------------------------

    def _positions(self, slot: Slot, positions: tuple[int, ...]) -> Float[Array, " p"]:
        """Encoded values of some levels of an ordinal or binary feature."""
        return (jnp.asarray(positions, jnp.float32) - self.offset[slot.start]) / self.scale[slot.start]

    def holds(self, part: Part, x: Float[Array, " d"]) -> Bool[Array, ""]:
        """Whether `x` takes one of the levels in every feature that a side of an implication names."""
        ok = jnp.asarray(True)
        for index, positions in part:
            slot = self.layout.slots[index]
            if index >= len(self.layout.numbers):
                hit = jnp.any(self._unit(x, slot)[jnp.asarray(positions)] > 0.5)
            else:
                gap = jnp.abs(x[slot.start] - self._positions(slot, positions))
                hit = jnp.any(gap * jnp.abs(self.scale[slot.start]) < 0.25)
            ok = ok & hit
        return ok

    def _follow_clauses(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        for i, clause in enumerate(self.layout.clauses):
            broken = self.active[i] & self.holds(clause.when, x) & ~self.holds(clause.then, x)
            led = x
            for index, positions in clause.then:
                led = self._take_level(led, index, positions)
            # Where the consequence is out of reach, give up the condition instead.
            given_up = x
            for index, _ in clause.when:
                slot = self.layout.slots[index]
                given_up = given_up.at[slot.start : slot.stop].set(self._part(self.x, slot))
            repaired = jnp.where(self.holds(clause.then, led), led, given_up)
            x = jnp.where(broken, repaired, x)
        return x

    def _take_level(self, x: Float[Array, " d"], index: int, positions: tuple[int, ...]) -> Float[Array, " d"]:
        slot = self.layout.slots[index]
        if index >= len(self.layout.numbers):
            wanted = jnp.zeros(slot.stop - slot.start, bool).at[jnp.asarray(positions)].set(True)
            allowed = self._takeable(slot) & wanted
            taken = self._snap_group(x, slot, allowed)
            return x.at[slot.start : slot.stop].set(jnp.where(jnp.any(allowed), taken, self._part(x, slot)))
        at = slot.start
        values = self._positions(slot, positions)
        half = 0.25 / jnp.abs(self.scale[at])
        inside = (values >= self.lower[at] - half) & (values <= self.upper[at] + half) & self.movable[at]
        allowed = inside | (jnp.abs(values - self.x[at]) < half)
        nearest = values[jnp.argmin(jnp.where(allowed, jnp.abs(values - x[at]), jnp.inf))]
        return x.at[at].set(jnp.where(jnp.any(allowed), nearest, x[at]))

    # ---- linear constraints -------------------------------------------------------------------------

    def _room(self, x: Float[Array, " d"], block: Block) -> tuple[Array, Array, Array, Array]:
        """A block's constraints on its columns, categories held, and the box of those columns."""
        n, rows = len(self.layout.numbers), np.array(block.rows)
        left = self.b[rows]
        if self.layout.levels_bound:
            left = left - self.a[rows, n:] @ x[n:]
        own, movable = _columns(self.x, block), _columns(self.movable, block)
        low = jnp.where(movable, _columns(self.lower, block), own)
        high = jnp.where(movable, _columns(self.upper, block), own)
        return self.a[rows][:, np.array(block.columns)], left, low, high

    def _into_polytope(self, x: Float[Array, " d"], *, differentiable: bool = True) -> Float[Array, " d"]:
        for block in self.layout.blocks:
            a, left, low, high = self._room(x, block)
            # A factual outside its interval may stay: the box reaches out to it.
            own = _columns(self.x, block)
            low, high = jnp.minimum(low, own), jnp.maximum(high, own)
            near = nearest_in_polytope(_columns(x, block), a, left, low, high, differentiable=differentiable)
            x = _with_columns(x, block, near)
        return x

    @jax.jit
    def _help_broken_rows(self, x: Float[Array, " d"], broken: Float[Array, " d"]) -> Float[Array, " d"]:
        """`x` with the permitted levels that lower the rows which `broken` breaks."""
        excess = jnp.maximum(self.a @ broken - self.b, 0.0)
        wish = -(jnp.where(excess > ACCEPT, 1.0, 0.0) @ self.a)
        parts = [x[: len(self.layout.numbers)]]
        for group in self.layout.groups:
            own_wish = self._part(wish, group) / self._part(self.scale, group)
            # Rows that are indifferent leave the level as it is.
            unit = self._unit(x, group) + 1e3 * own_wish
            encoded = (unit - self._part(self.offset, group)) / self._part(self.scale, group)
            parts.append(encoded)
        return self.snap(jnp.concatenate([*parts, self._indicators()]))

    def _round_inside(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Project, round, and move whole steps along the roomiest columns until the rows hold."""
        n = len(self.layout.numbers)
        near = self._into_polytope(x, differentiable=False)
        near = jnp.concatenate([self._snap_numbers(near[:n]), x[n:]])
        for block in self.layout.blocks:
            step, movable = _columns(self.step, block), _columns(self.movable, block)
            moved = into_halfspaces(_columns(near, block), *self._room(x, block), step, movable)
            near = _with_columns(near, block, moved)
        return near


class FeasibleSets(eqx.Module):
    """Where each of many people's recourse may lie: `Feasible` with a leading axis over people, as numpy arrays.

    What all people share has no such axis.
    """

    x: Float[np.ndarray, "n d"]
    lower: Float[np.ndarray, "n d"]
    upper: Float[np.ndarray, "n d"]
    step: Float[np.ndarray, "n d"]
    movable: Bool[np.ndarray, "n d"]
    b: Float[np.ndarray, "n c"]
    active: Bool[np.ndarray, "n m"]
    a: Float[Array, "c d"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    layout: Layout = eqx.field(static=True)
    tails: Tails | None = None

    @property
    def own(self) -> tuple[AnyArray, ...]:
        """What each person has of their own, in the order of `Feasible`."""
        return self.x, self.lower, self.upper, self.step, self.movable, self.b, self.active

    def join(self, own: Sequence[Array]) -> Feasible:
        """One person's set, from what they have of their own."""
        x, lower, upper, step, movable, b, active = own
        return Feasible(
            x, lower, upper, step, movable, b, active, self.a, self.scale, self.offset, layout=self.layout,
            tails=self.tails,
        )  # fmt: skip

    def stuck(self) -> Bool[np.ndarray, " n"]:
        """Who could be nowhere but where they are: no search of any kind finds anything for them."""
        in_group = np.asarray(self.layout.members[len(self.layout.numbers) :].any(axis=0))
        own_level = in_group & (self.x * np.asarray(self.scale) + np.asarray(self.offset) > 0.5)
        elsewhere = (self.lower < self.upper) | (self.x < self.lower) | (self.x > self.upper)
        return np.asarray(~(self.movable & elsewhere & ~own_level).any(axis=1))

    def one(self, row: int) -> Feasible:
        """One person's set."""
        return self.join([jnp.asarray(part[row]) for part in self.own])

    def take(self, rows: np.ndarray) -> "FeasibleSets":
        """Some people's sets."""
        return replace(
            self,
            x=self.x[rows],
            lower=self.lower[rows],
            upper=self.upper[rows],
            step=self.step[rows],
            movable=self.movable[rows],
            b=self.b[rows],
            active=self.active[rows],
        )

    def each(self, function: Callable[..., Out], *others: AnyArray) -> Out:
        """`jax.vmap` of a function of one person's set, and of that person's rows of other arrays."""
        return jax.vmap(lambda own, *rows: function(self.join(own), *rows))(self.own, *others)


# Slices and masks in place of indices: over a batch, inside a search, these are many times faster.


def _columns(x: Array, block: Block) -> Array:
    return jnp.stack([x[column] for column in block.columns])


def _with_columns(x: Float[Array, " d"], block: Block, values: Float[Array, " c"]) -> Float[Array, " d"]:
    order = jnp.arange(x.shape[0])
    for i, column in enumerate(block.columns):
        x = jnp.where(order == column, values[i], x)
    return x
