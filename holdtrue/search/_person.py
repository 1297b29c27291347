"""One person whose changes are asked about row by row: every single change, what changes cost, the best so far."""

from collections.abc import Generator
from typing import NamedTuple, TypeAlias

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.search._additive import addend
from holdtrue.search._options import by_feature, surcharged
from holdtrue.search._problem import Problems, Status
from holdtrue.search._solver import CLEARANCE

SHARES = 1.0 - (np.arange(1, 17) / 16.0) ** 3
"""How much of a change is left when it is moved back: finer near the whole of it, and last nothing."""

Rows: TypeAlias = Float[np.ndarray, "m d"]
Said: TypeAlias = tuple[Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]
Search: TypeAlias = Generator[Rows, Said, None]


class Moves(NamedTuple):
    """Every single change open to one person, cheapest first.

    A move puts `up` into column `to` and `down` into column `off`: a number has one column only, a category takes
    the level `to` and leaves the level `off`.
    """

    to: Int[np.ndarray, " e"]
    off: Int[np.ndarray, " e"]
    up: Float[np.ndarray, " e"]
    down: Float[np.ndarray, " e"]
    slot: Int[np.ndarray, " e"]
    cost: Float[np.ndarray, " e"]


class Lists(NamedTuple):
    """What all people share: values worth trying of every number, and prices.

    Where `as_many`, more than `max_changes` are made for those for whom these are not enough.
    """

    values: Float[np.ndarray, "n v"]
    weights: Float[np.ndarray, " d"]
    norm: Norm
    max_changes: int
    width: int
    as_many: bool


class Person:
    """One person's moves, what they cost, and the best row that was accepted."""

    def __init__(self, problems: Problems, place: int, lists: Lists) -> None:
        feasible = problems.feasible
        self.place, self.lists, self.layout = place, lists, feasible.layout
        self.x = np.asarray(problems.x[place], np.float32)
        self.lower, self.upper = feasible.lower[place], feasible.upper[place]
        self.grid, self.movable = feasible.step[place], np.asarray(feasible.movable[place], bool)
        self.scale, self.offset = np.asarray(feasible.scale), np.asarray(feasible.offset)
        self.tails = None if feasible.tails is None else jax.tree.map(np.asarray, feasible.tails)
        self.options = None if problems.options is None else problems.options[place]
        self.best, self.price, self.n_rounds = self.x, np.inf, 0
        self.moves = self._moves()

    @property
    def status(self) -> Status:
        """How a search ended that went to its end."""
        found = np.isfinite(self.price)
        if self.lists.max_changes <= 2:
            return Status.OPTIMAL if found else Status.INFEASIBLE
        return Status.FOUND if found else Status.NOT_FOUND

    @property
    def bound(self) -> float:
        """What the costs of a cheaper set add up to at most."""
        return self.price**2 if self.lists.norm == "l2" else self.price

    # ---- moves and their prices ---------------------------------------------------------------------

    def _moves(self) -> Moves:
        values, weights, norm, *_ = self.lists
        n, v = values.shape
        slack = 1e-6
        low, high = self.lower[:n, None], self.upper[:n, None]
        inside = (values >= low - slack) & (values <= high + slack) & self.movable[:n, None]
        taken = self._on_grid(values.T).T
        again = np.zeros((n, v), bool)
        again[:, 1:] = taken[:, 1:] == taken[:, :-1]
        slot, at = np.nonzero(inside & ~again & (np.abs(taken - self.x[:n, None]) > 1e-7))
        up = taken[slot, at]
        change = self._measured(taken.T).T - self._measured(self.x[None, :n]).T
        parts = [Moves(slot, slot, up, up, slot, addend(norm, weights[:n, None], change)[slot, at])]
        for index, group in enumerate(self.layout.groups):
            part = slice(group.start, group.stop)
            own = self.x[part] * self.scale[part] + self.offset[part] > 0.5
            price = addend(norm, weights[part], 1.0 / self.scale[part])
            off = group.start + int(np.argmax(own))
            to = group.start + np.flatnonzero(self.movable[part] & ~own)
            m = len(to)
            parts.append(
                Moves(
                    to,
                    np.full(m, off),
                    self.upper[to],
                    np.full(m, self.lower[off]),
                    np.full(m, n + index),
                    price[to - group.start] + price[off - group.start],
                )
            )
        every = Moves(*(np.concatenate(own) for own in zip(*parts, strict=True)))
        order = np.argsort(every.cost, kind="stable")
        return Moves(*(own[order] for own in every))

    def _on_grid(self, numbers: Float[np.ndarray, "m n"]) -> Float[np.ndarray, "m n"]:
        """Numbers within their intervals, on their grids, as `Feasible.snap` has them."""
        n = numbers.shape[1]
        lower, upper, step = self.lower[:n], self.upper[:n], self.grid[:n]
        inside = np.clip(numbers, lower, upper)
        spacing = np.where(step > 0, step, np.float32(1.0))
        on_grid = np.minimum(lower + spacing * np.round((inside - lower) / spacing), upper)
        return np.where(step > 0, on_grid, inside).astype(np.float32)

    def _measured(self, numbers: Float[np.ndarray, "m n"]) -> Float[np.ndarray, "m n"]:
        if self.tails is None:
            return numbers
        rows = np.repeat(self.x[None], len(numbers), axis=0)
        rows[:, : numbers.shape[1]] = numbers
        return np.asarray(self.tails.rise(rows))[:, : numbers.shape[1]]

    def rows(self, sets: Int[np.ndarray, "m k"]) -> Rows:
        """The person with the moves of each set; -1 is none."""
        rows = np.repeat(self.x[None], len(sets), axis=0)
        for taken in sets.T:
            who = np.flatnonzero(taken >= 0)
            move = taken[who]
            rows[who, self.moves.off[move]] = self.moves.down[move]
            rows[who, self.moves.to[move]] = self.moves.up[move]
        return rows

    def moved(self, rows: Rows, moves: Int[np.ndarray, " m"]) -> Rows:
        """The same rows, each with a move more, which takes the place of another one of the same feature."""
        n = self.lists.values.shape[0]
        for index, group in enumerate(self.layout.groups):
            who = np.flatnonzero(self.moves.slot[moves] == n + index)
            rows[who, group.start : group.stop] = self.x[group.start : group.stop]
        who = np.arange(len(rows))
        rows[who, self.moves.off[moves]] = self.moves.down[moves]
        rows[who, self.moves.to[moves]] = self.moves.up[moves]
        return rows

    def joined(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.maximum(a, b) if self.lists.norm == "linf" else a + b

    def prices(self, rows: Rows) -> Float[np.ndarray, " m"]:
        """What `AbstractPriced.cost` says."""
        change = rows - self.x
        measured = change
        if self.tails is not None:
            measured = np.asarray(self.tails.rise(rows)) - np.asarray(self.tails.rise(self.x[None]))
        each = addend(self.lists.norm, self.lists.weights, np.where(np.abs(measured) > 1e-6, measured, 0.0))
        total = each.max(axis=1) if self.lists.norm == "linf" else each.sum(axis=1)
        cost = np.sqrt(total) if self.lists.norm == "l2" else total
        return cost if self.options is None else surcharged(cost, self.options, by_feature(self.layout, change))

    def offer(self, rows: Rows, said: Said) -> None:
        """Keep the cheapest row that is accepted, if it is cheaper than the best so far."""
        margins, allowed = said
        good = np.flatnonzero(allowed & (margins >= CLEARANCE))
        if len(good):
            prices = self.prices(rows[good])
            at = int(np.argmin(prices))
            if prices[at] < self.price:
                self.best, self.price = rows[good[at]], float(prices[at])

    def back(self) -> Search:
        """Move what was changed back towards the factual, or put it back, as far as the decision allows."""
        n = self.lists.values.shape[0]
        changed = np.abs(self.best - self.x) > 1e-7
        rounds = 3 * int(changed[:n].sum()) + int(changed[n:].any()) + 1
        for _ in range(rounds):
            parts = []
            for column in np.flatnonzero(np.abs(self.best[:n] - self.x[:n]) > 1e-7):
                values = np.repeat(self.best[None, :n], len(SHARES), axis=0)
                values[:, column] = self.x[column] + SHARES * (self.best[column] - self.x[column])
                value = np.unique(np.append(self._on_grid(values)[:-1, column], self.x[column]))
                part = np.repeat(self.best[None], len(value), axis=0)
                part[:, column] = value
                parts.append(part[value != self.best[column]])
            for group in self.layout.groups:
                part = slice(group.start, group.stop)
                if (self.best[part] != self.x[part]).any():
                    row = self.best.copy()
                    row[part] = self.x[part]
                    parts.append(row[None])
            rows = np.concatenate(parts)
            rows = rows[(self.prices(rows) < self.price) & (rows != self.x).any(axis=1)]
            if not len(rows):
                return
            before = self.price
            self.offer(rows, (yield rows))
            if not self.price < before:
                return
