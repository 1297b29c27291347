"""One column of a table against its feature: can it be read, and what does it teach?"""

from collections.abc import Hashable

import numpy as np

from holdtrue.errors import DataError
from holdtrue.schema._checks import is_level, is_number, shown
from holdtrue.schema._feature import MISSING_LEVEL, Feature, Level
from holdtrue.schema._table import Table, as_table, holds_dates

LARGEST = 2**53
"""Up to here every whole number is a float of its own."""


def check_column(feature: Feature, table: Table, where: str, unseen_levels_ok: bool) -> None:
    """Say what is wrong with a column, if anything is."""
    name = feature.name
    values = table.columns[name]
    if holds_dates(values):
        raise DataError(
            f"{where}: column {name!r} holds dates; got {values.dtype}. Derive a number from it first, for "
            "example days since the application."
        )
    absent = table.missing(name)
    if absent.any() and feature.missing is None:
        hint = "missing='level'" if feature.kind == "categorical" else "missing='median'"
        if feature.kind in ("binary", "ordinal"):
            hint = "missing='most_frequent'"
        raise DataError(
            f"{where}: column {name!r} has missing values (NaN); got {int(absent.sum())} of {table.n_rows}. "
            f"Fill them, or set {hint} on the feature."
        )
    if feature.has_levels:
        _check_values_are_levels(feature, values[~absent], where)
        if feature.levels is not None and not (unseen_levels_ok and feature.kind == "categorical"):
            _check_levels_seen(feature, values[~absent], where)
        return
    if absent.all():  # nothing to read: a column of None has no type of its own
        return
    if values.dtype.kind not in "fib":
        odd = next((v for v in values if v is not None and not is_number(v)), None)
        raise DataError(
            f"{where}: {feature.kind} column {name!r} must hold numbers; got {shown(odd)}. Convert it, or "
            "describe it as categorical."
        )
    present = values[~absent].astype(np.float64)
    if not np.isfinite(present).all():
        raise DataError(
            f"{where}: column {name!r} has infinite values; got {int((~np.isfinite(present)).sum())} of "
            f"{table.n_rows}. Replace them with a finite number."
        )
    if feature.kind == "integer" and not np.array_equal(present, np.round(present)):
        odd = float(present[present != np.round(present)][0])
        raise DataError(
            f"{where}: integer column {name!r} has fractions; got {odd!r}. Round it, or describe it as numeric."
        )
    if feature.kind == "integer" and np.abs(present).max() > LARGEST:
        # Beyond 2**53 neighbours are the same float, so that such a number would not come back as it was.
        odd = float(present[np.abs(present).argmax()])
        raise DataError(
            f"{where}: integer column {name!r} has numbers beyond 2**53; got {odd!r}. Describe it as numeric; "
            "if it is an identifier, drop it."
        )


def refused_rows(feature: Feature, table: Table, where: str) -> dict[int, str]:
    """Rows whose value of this feature cannot be used, each with the reason; a value is tried once."""
    values = table.columns[feature.name]
    try:
        check_column(feature, table, where, False)
        return {}
    except DataError as error:
        if values.dtype.kind in "mM":
            return dict.fromkeys(range(len(values)), str(error))
    tried: dict[object, str | None] = {}
    out = {}
    for row, value in enumerate(values.tolist()):
        # Types apart, since 1, 1.0 and True are one key; NaN equals nothing, not even itself.
        key = (type(value), value if isinstance(value, Hashable) and value == value else repr(value))
        if key not in tried:
            tried[key] = _refusal(feature, value, where)
        reason = tried[key]
        if reason is not None:
            out[row] = reason
    return out


def _refusal(feature: Feature, value: object, where: str) -> str | None:
    cell = np.empty(1, object)
    cell[0] = value
    try:
        check_column(feature, as_table({feature.name: cell}, where=where), where, False)
    except DataError as error:
        return str(error)
    return None


def _check_values_are_levels(feature: Feature, values: np.ndarray, where: str) -> None:
    bad = values[~np.isfinite(values)].tolist() if values.dtype.kind == "f" else []
    if values.dtype == object and not set(map(type, values)) <= {str, bool}:
        bad = [v for v in values if not is_level(v)]
    if bad:
        raise DataError(
            f"{where}: column {feature.name!r} must hold text, finite numbers or booleans; got {shown(bad[0])}. "
            "Turn it into text."
        )
    if values.dtype == object and MISSING_LEVEL in set(values):
        raise DataError(
            f"{where}: column {feature.name!r} uses a reserved text; got {MISSING_LEVEL!r}. Leave the cell "
            "empty and set missing='level', or use another text."
        )


def _check_levels_seen(feature: Feature, values: np.ndarray, where: str) -> None:
    unseen = set(_distinct(values)) - set(feature.levels or ())
    if unseen:
        raise DataError(
            f"{where}: column {feature.name!r} has levels unseen at fit; got {sorted(map(str, unseen))[:5]!r}. "
            f"Known levels are {list(feature.levels or ())[:20]!r}; add it to `levels` and fit again, or map it."
        )


def resolve_feature(feature: Feature, table: Table) -> Feature:
    """Fill in the bounds or levels that were left open, from the table."""
    absent = table.missing(feature.name)
    present = table.columns[feature.name][~absent]
    if len(present) == 0:
        raise DataError(
            f"Table: column {feature.name!r} has no value at all; got {table.n_rows} missing. Drop the column."
        )
    if feature.has_levels:
        levels = feature.levels
        if levels is None:
            levels = sorted_levels(present)
            if len(levels) < 2 and not (feature.missing == "level" and absent.any()):
                raise DataError(
                    f"Table: column {feature.name!r} is constant; got {shown(list(levels))} in every row. Drop "
                    "it, or list its `levels`."
                )
            if feature.kind == "binary" and len(levels) != 2:
                raise DataError(
                    f"Table: binary column {feature.name!r} must have two levels; got {list(levels)[:5]!r}. "
                    "Describe it as categorical."
                )
        elif feature.kind == "categorical":
            _check_levels_seen(feature, present, "Table")
        if feature.missing == "level" and MISSING_LEVEL not in levels:
            levels = (*levels, MISSING_LEVEL)
        return feature.replace(levels=tuple(levels))
    if feature.bounds is not None:
        return feature
    low, high = float(np.min(present)), float(np.max(present))
    if low == high:
        raise DataError(
            f"Table: column {feature.name!r} is constant; got {low!r} in every row. Drop it, or give `bounds`."
        )
    return feature.replace(bounds=(low, high))


def sorted_levels(values: np.ndarray) -> tuple[Level, ...]:
    """Distinct values in a stable order: by value within a type, types by name."""
    return tuple(sorted(_distinct(values), key=lambda v: (type(v).__name__, v)))


def _distinct(values: np.ndarray) -> list[Level]:
    return list(dict.fromkeys(values.tolist() if values.dtype == object else np.unique(values).tolist()))
