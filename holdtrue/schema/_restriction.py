"""What one person, unlike the schema, may not change."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from holdtrue._types import Cell, Json, JsonObject
from holdtrue.errors import SchemaError
from holdtrue.schema._checks import did_you_mean, is_list, plain, shown
from holdtrue.schema._feature import Feature, Level
from holdtrue.schema._schema import Schema

Restriction = Mapping[str, Json]
"""Feature name to ``"fixed"``, or to a mapping with any of `direction`, `bounds` and `levels`."""
RestrictionsLike: TypeAlias = (
    Mapping[int, Restriction] | Mapping[str, Restriction] | Sequence[Restriction | None] | pd.Series | None
)
"""What single people may not change, as a user gives it: by row position, by index label, or one for every row."""


@dataclass(frozen=True, eq=False)  # a mapping: equal to any other with the same restrictions
class Restrictions(Mapping[int, dict[str, JsonObject]]):
    """What single people of one table may not change, checked against its schema.

    `normalise_restrictions` makes it, at the edge; whoever is given one inside need not check it again.

    Attributes
    ----------
    by_row : dict
        Row position to feature to any of `direction`, `bounds` and `levels`.
    schema : Schema or None
        What they were checked against; None only where nobody has any.
    n_rows : int
        Rows of the table that they speak of.
    """

    by_row: dict[int, dict[str, JsonObject]] = field(default_factory=dict)
    schema: Schema | None = field(default=None, repr=False)
    n_rows: int = 0

    def __getitem__(self, row: int) -> dict[str, JsonObject]:
        return self.by_row[row]

    def __iter__(self) -> Iterator[int]:
        return iter(self.by_row)

    def __len__(self) -> int:
        return len(self.by_row)

    def take(self, rows: Sequence[int] | np.ndarray | range) -> "Restrictions":
        """Return those of some rows, by their positions among these."""
        places = enumerate(np.asarray(rows).tolist()) if self.by_row else ()
        own = {i: self.by_row[row] for i, row in places if row in self.by_row}
        return Restrictions(own, self.schema, len(rows))

    @staticmethod
    def join(parts: "Iterable[tuple[Restrictions, int]]") -> "Restrictions":
        """Return those of several tables, one below the other; each part with its table's number of rows."""
        own, schema, start = {}, None, 0
        for part, n in parts:
            own |= {start + row: restriction for row, restriction in part.items()}
            schema, start = part.schema or schema, start + n
        return Restrictions(own, schema, start)


def normalise_restrictions(
    restrictions: RestrictionsLike, schema: Schema, n_rows: int, labels: Sequence[object] | None = None
) -> Restrictions:
    """Check individual restrictions and index them by row position; what was checked before is returned as it is.

    Parameters
    ----------
    restrictions : None, mapping, or sequence
        A mapping from row position to a restriction, or one restriction (or None) per row. A pandas Series, and a
        mapping whose keys are texts, go by the table's index labels.
    schema : Schema
        Restrictions narrow it; they never loosen it.
    n_rows : int
        Rows of the table they speak of.
    labels : sequence, optional
        The table's index, where it has one.
    """
    if restrictions is None:
        return Restrictions({}, schema, n_rows)
    if isinstance(restrictions, Restrictions) and (
        not restrictions or (restrictions.schema is schema and restrictions.n_rows == n_rows)
    ):
        return restrictions
    if isinstance(restrictions, pd.Series):
        pairs = _by_label(restrictions.items(), labels)
    elif isinstance(restrictions, Mapping):
        named = [pair for pair in restrictions.items() if isinstance(pair[0], str)]
        pairs = [
            (plain(row), restriction) for row, restriction in restrictions.items() if not isinstance(row, str)
        ]
        pairs += _by_label(named, labels) if named else []
    elif is_list(restrictions):
        if len(restrictions) != n_rows:
            raise SchemaError(
                f"recourse: `restrictions` must have one entry per row; got {len(restrictions)} for {n_rows} "
                "rows. Use None for a person without one, or map row positions to restrictions."
            )
        pairs = list(enumerate(restrictions))
    else:
        raise SchemaError(
            f"recourse: `restrictions` must be a mapping or a list; got {shown(restrictions)}. Write for example "
            "{0: {'education': 'fixed'}}."
        )
    out = {}
    for row, restriction in pairs:
        if restriction is None:
            continue
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < n_rows:
            by_label = labels is not None and row in set(labels)
            hint = f" For the label {row!r} of the index give a pandas Series." if by_label else ""
            raise SchemaError(
                f"recourse: `restrictions` name a row that is not there; got {shown(row)} of {n_rows}. Count rows "
                f"from 0.{hint}"
            )
        if not isinstance(restriction, Mapping):
            raise SchemaError(
                f"recourse: a restriction must map features to limits; got {shown(restriction)}. Write for "
                "example {'education': 'fixed'}."
            )
        out[row] = {name: _limits(schema[name], limit) for name, limit in restriction.items()}
    return Restrictions(out, schema, n_rows)


def _by_label(pairs: Iterable[tuple[object, object]], labels: Sequence[object] | None) -> list[tuple[int, Cell]]:
    """Restrictions by row position, from those by index label; a label of several rows is for all of them."""
    places: dict[Cell, list[int]] = {}
    for row, label in enumerate(() if labels is None else labels):
        places.setdefault(plain(label), []).append(row)
    out = []
    for label, restriction in pairs:
        if plain(label) not in places:
            known = "the table has no index" if labels is None else did_you_mean(label, [str(p) for p in places])
            raise SchemaError(
                f"recourse: `restrictions` name a label that the index does not have; got {shown(label)}. {known}"
            )
        out += [(row, restriction) for row in places[plain(label)]]
    return out


def _limits(feature: Feature, limit: object) -> JsonObject:
    if isinstance(limit, str):
        limit = {"direction": limit}
    if not isinstance(limit, Mapping):
        raise SchemaError(
            f"recourse: a restriction of {feature.name!r} must be a direction or a mapping; got {shown(limit)}. "
            "Write for example 'fixed'."
        )
    known = ("direction", "bounds", "levels")
    out: JsonObject = {}
    for key, value in limit.items():
        if key not in known:
            raise SchemaError(
                f"recourse: unknown limit of {feature.name!r} in a restriction; got {shown(key)}. "
                f"{did_you_mean(key, known)}"
            )
        if key == "levels":
            out[key] = _some_levels(feature, value)
        elif value is None:
            raise SchemaError(
                f"recourse: `{key}` of {feature.name!r} in a restriction must be given; got None. Leave it out."
            )
        else:
            out[key] = getattr(feature.replace(**{key: value}), key)  # raises in the template
    return out


def _some_levels(feature: Feature, levels: Any) -> tuple[Level, ...]:
    if not feature.has_levels:
        raise SchemaError(
            f"recourse: `levels` in a restriction of {feature.name!r} need a feature with levels; got "
            f"kind {feature.kind!r}. Use `bounds`."
        )
    if not is_list(levels) or not levels:
        raise SchemaError(
            f"recourse: `levels` in a restriction of {feature.name!r} must be a list; got {shown(levels)}. To "
            "forbid any change write 'fixed'."
        )
    known = feature.levels or ()
    out = tuple(plain(level) for level in levels)
    for level in out:
        if level not in known:
            raise SchemaError(
                f"recourse: a restriction names an unknown level of {feature.name!r}; got {shown(level)}. Levels "
                f"are {shown(list(known))}."
            )
    codes = sorted({known.index(level) for level in out})
    if feature.kind == "ordinal" and codes != list(range(codes[0], codes[0] + len(codes))):
        raise SchemaError(
            f"recourse: `levels` of ordinal {feature.name!r} in a restriction must be neighbours; got "
            f"{shown(list(out))}. Fill the gap."
        )
    return out
