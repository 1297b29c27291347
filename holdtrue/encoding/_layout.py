"""Where each feature lives in the encoded row. Hashable, so that jit can key on it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdtrue.schema import Feature, Schema


@dataclass(frozen=True)
class Slot:
    """Columns ``start:stop`` of the encoded row that hold one feature."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True)
class Clause:
    """One implication in encoded terms: per feature, the positions of the levels that count."""

    when: tuple[tuple[int, tuple[int, ...]], ...]
    then: tuple[tuple[int, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Block:
    """Linear constraints that share number columns, one by one or through others, and all of those columns.

    What one block asks of its columns is nothing to any other, so that each is kept by itself.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """The encoded row: number columns first, then one one-hot group per categorical, then indicators.

    Numbers are numeric and integer features and, by the position of their level, ordinal and binary ones.
    Indicators say that a number was missing; they are fixed.
    """

    numbers: tuple[Slot, ...]
    groups: tuple[Slot, ...]
    indicators: tuple[Slot, ...]
    clauses: tuple[Clause, ...]
    n_constraints: int
    levels_bound: bool  # whether a linear constraint names a level of a category
    blocks: tuple[Block, ...] = ()

    @property
    def n_columns(self) -> int:
        """Width of the encoded row."""
        return len(self.numbers) + sum(g.stop - g.start for g in self.groups) + len(self.indicators)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """Every feature's own columns, indicators left out."""
        return self.numbers + self.groups

    @property
    def members(self) -> np.ndarray:
        """Boolean per slot and encoded column: whether the column is one of the feature's."""
        starts, stops = np.asarray([(s.start, s.stop) for s in self.slots], int).reshape(-1, 2).T
        at = np.arange(self.n_columns)
        return (starts[:, None] <= at) & (at < stops[:, None])

    def slot(self, name: str) -> Slot:
        """Columns of one feature."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Slot]:
        return {slot.name: slot for slot in self.slots}

    def column_names(self, schema: Schema) -> list[str]:
        """A name per encoded column: ``income``, ``housing=own``, ``income is missing``."""
        names = [s.name for s in self.numbers]
        for group in self.groups:
            names += [f"{group.name}={level}" for level in schema[group.name].levels or ()]
        return names + [f"{s.name} is missing" for s in self.indicators]


def level_columns(schema: Schema, layout: Layout) -> np.ndarray:
    """Boolean per encoded column: whether it holds a level (one-hot, or its position) and no measured number.

    From one level to another is not a distance, so a largest change does not apply to them.
    """
    levels = np.zeros(layout.n_columns, bool)
    for slot in layout.slots:
        levels[slot.start : slot.stop] = schema[slot.name].has_levels
    return levels


def make_layout(schema: Schema) -> Layout:
    """Lay out a resolved schema."""
    is_group = {f.name: f.kind == "categorical" for f in schema}
    at = 0
    numbers, groups, indicators = [], [], []
    for feature in schema:
        if not is_group[feature.name]:
            numbers.append(Slot(feature.name, at, at + 1))
            at += 1
    for feature in schema:
        if is_group[feature.name]:
            width = len(feature.levels or ())
            groups.append(Slot(feature.name, at, at + width))
            at += width
    for feature in schema:
        if feature.missing is not None and not is_group[feature.name]:
            indicators.append(Slot(feature.name, at, at + 1))
            at += 1
    slots = [s.name for s in (*numbers, *groups)]

    def part(sets: dict) -> tuple[tuple[int, tuple[int, ...]], ...]:
        return tuple((slots.index(n), level_positions(schema[n], levels)) for n, levels in sets.items())

    clauses = tuple(Clause(part(dict(i.when)), part(dict(i.then))) for i in schema.implications)
    terms = [[schema.term(key) for key in c.coefficients] for c in schema.constraints]
    at_column = {slot.name: slot.start for slot in numbers}
    return Layout(
        tuple(numbers),
        tuple(groups),
        tuple(indicators),
        clauses,
        n_constraints=len(schema.constraints),
        levels_bound=any(level is not None for row in terms for _, level in row),
        blocks=_blocks([{at_column[f.name] for f, level in row if level is None} for row in terms]),
    )


def _blocks(touched: list[set[int]]) -> tuple[Block, ...]:
    """Put constraints together that share columns; those without a number have no block."""
    blocks: list[tuple[set[int], set[int]]] = []
    for row, columns in enumerate(touched):
        if not columns:
            continue
        rows, columns = {row}, set(columns)
        for other in [block for block in blocks if block[1] & columns]:
            blocks.remove(other)
            rows, columns = rows | other[0], columns | other[1]
        blocks.append((rows, columns))
    return tuple(Block(tuple(sorted(rows)), tuple(sorted(columns))) for rows, columns in blocks)


def level_positions(feature: Feature, levels: tuple) -> tuple[int, ...]:
    """Positions of some levels among the feature's levels."""
    known = feature.levels or ()
    return tuple(known.index(level) for level in levels if level in known)
