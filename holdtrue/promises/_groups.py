"""For whom promises break: one column's values, or numbers cut into bins."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from holdtrue._types import Cell, JsonObject
from holdtrue.errors import DataError
from holdtrue.promises._report import Group, rate
from holdtrue.schema import did_you_mean, plain

MOST = 50
MISSING = "(missing)"


class Grouping:
    """Counts by group.

    Parameters
    ----------
    group : str, mapping or None
        A column of the records; or what people's keys are mapped to, as by a pandas Series. None counts nothing.
    bins : sequence of float, optional
        Ascending; a value that equals one belongs above it.
    where : str
        Begins every error.
    """

    def __init__(self, group: object, bins: Sequence[float] | None = None, *, where: str = "gate") -> None:
        self.where = where
        self.column = group if isinstance(group, str) else None
        self.people: JsonObject | None = None
        if group is not None and self.column is None:
            pairs = getattr(group, "items", None)
            if pairs is None:
                raise DataError(f"{where}: `group` must be a column or a mapping; got {type(group).__name__}.")
            self.people = {str(key): plain(value) for key, value in pairs()}
        name = self.column if self.people is None else getattr(group, "name", None) or "group"
        self.name = None if name is None else str(name)
        self.edges = None if bins is None else [float(edge) for edge in bins]
        self.counts: dict[str, list[int]] = {}
        edges = self.edges
        if edges is not None and (not edges or any(a >= b for a, b in pairwise(edges))):
            raise DataError(f"{where}: `bins` must be ascending numbers; got {list(bins or ())!r}.")
        if edges is not None:
            if group is None:
                raise DataError(f"{where}: `bins` cut the values of a group's column; got no `group`.")
            self._names = [f"below {edges[0]:g}"]
            self._names += [f"{a:g} to below {b:g}" for a, b in pairwise(edges)]
            self._names.append(f"{edges[-1]:g} or more")
            self.counts = {name: [0, 0] for name in self._names}

    def check(self, known: Sequence[str], of: str = "the records") -> None:
        """Refuse a column that neither a record nor the model has."""
        if self.column is not None and self.column not in known:
            raise DataError(
                f"{self.where}: `group` is not a column of {of}; got {self.column!r}. "
                f"{did_you_mean(self.column, known)}"
            )

    def count(self, values: np.ndarray | None, broken: np.ndarray) -> list[str] | None:
        """Count a batch; return each promise's group."""
        if values is None:
            return None
        given = values.tolist()
        if self.people is not None:  # they are the people's keys
            given = [self.people.get(key) for key in given]
        known: dict[Cell, str] = {}
        labels = []
        for value, fails in zip(given, broken.tolist(), strict=True):
            key = (type(value), value)
            label = known.get(key)
            if label is None:
                label = known[key] = self._label(value)
            labels.append(label)
            counts = self.counts.setdefault(label, [0, 0])
            counts[0] += 1
            counts[1] += fails
        if len(self.counts) > MOST:
            raise DataError(
                f"{self.where}: `group` has more than {MOST} values; got {self.name!r}. Give `bins` for a "
                "number, or another column."
            )
        return labels

    def _label(self, value: Any) -> str:
        if value is None or value != value:
            return MISSING
        if self.edges is None:
            return f"{value:g}" if isinstance(value, float) else str(value)[:80]
        try:
            number = float(value)  # also of a text: a CSV file has no other
        except ValueError as error:
            raise DataError(
                f"{self.where}: `bins` need a column of numbers; got {value!r} in {self.name!r}."
            ) from error
        return MISSING if number != number else self._names[bisect_right(self.edges, number)]

    def rates(self, confidence: float) -> list[Group]:
        """How many break in each group: bins in order, values by their text."""
        names = [*self._names, MISSING] if self.edges is not None else sorted(self.counts)
        out = []
        for name in names:
            n, broken = self.counts.get(name, (0, 0))
            if n:
                out.append(Group(name, n, broken, *rate(broken, n, confidence)))
        return out
