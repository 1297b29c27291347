"""A first schema from a table, with every guess said aloud."""

import re
from typing import Any, NamedTuple

import narwhals.stable.v1 as nw
import numpy as np

from holdtrue._types import Keywords
from holdtrue.errors import DataError
from holdtrue.schema._checks import is_level, shown
from holdtrue.schema._columns import LARGEST, sorted_levels
from holdtrue.schema._feature import MISSING_LEVEL, Feature
from holdtrue.schema._schema import Schema
from holdtrue.schema._table import Table, TableLike, as_table, holds_dates

# Words in a column name that speak of what nobody can be asked to change.
_PROTECTED = re.compile(
    r"(^|[^a-z])(age|sex|gender|male|female|race|ethnic\w*|black|white|hispan\w*|nation\w*|country|birth\w*|"
    r"foreign\w*|religion|disab\w*|marital|married|personal)([^a-z]|$)",
    re.IGNORECASE,
)


class Declared(NamedTuple):
    """What the dataframe itself says of a column of categories."""

    levels: tuple
    ordered: bool


def infer(data: TableLike, target: str | None = None) -> Schema:
    """Guess a schema from a table.

    Texts become categorical, two-valued columns binary, whole numbers integer, other numbers numeric;
    a column whose name speaks of age, sex, race, origin or family is fixed. Read the `notes`, then correct
    what is wrong: nobody but the owner of the data knows what a person can change.

    Parameters
    ----------
    data : dataframe
        pandas, polars or pyarrow; or a mapping of columns.
    target : str, optional
        A column to leave out.
    """
    table = as_table(data, where="Schema.infer")
    if table.n_rows == 0:
        raise DataError("Schema.infer: the table is empty; got 0 rows. Give a table with rows.")
    if target is not None:
        _check_target(table, target)
    notes: list[str] = []
    declared = _declared_categories(table)
    features = [_guess(table, name, declared.get(name), notes) for name in table.names if name != target]
    if not features:
        raise DataError("Schema.infer: the table has no feature column; got only the target.")
    return Schema(features, notes=notes)


def _check_target(table: Table, target: Any) -> None:
    if not isinstance(target, str) or target not in table.columns:
        raise DataError(
            f"Schema.infer: `target` is not a column; got {shown(target)}. Columns are {shown(table.names)}."
        )
    values = table.columns[target][~table.missing(target)]
    if values.dtype == object and not all(is_level(v) for v in values):
        raise DataError(
            f"Schema.infer: target {target!r} must hold text, numbers or booleans; got "
            f"{shown(next(v for v in values if not is_level(v)))}. Turn it into text."
        )
    classes = sorted_levels(values)
    if len(classes) < 2:
        raise DataError(
            f"Schema.infer: target {target!r} has one class; got {shown(list(classes))}. A classifier needs two; "
            "check the table."
        )


def _guess(table: Table, name: str, declared: Declared | None, notes: list[str]) -> Feature:
    absent = table.missing(name)
    values = table.columns[name]
    present = values[~absent]
    if holds_dates(values):
        raise DataError(
            f"Schema.infer: column {name!r} holds dates; got {values.dtype}. Derive a number from it first, "
            "for example days since the application."
        )
    if len(present) == 0:
        raise DataError(f"Schema.infer: column {name!r} has no value at all; got {table.n_rows} missing. Drop it.")
    if values.dtype.kind == "f" and not np.isfinite(present).all():
        count = int((~np.isfinite(present)).sum())
        raise DataError(
            f"Schema.infer: column {name!r} has infinite values; got {count} of {table.n_rows}. Replace them."
        )
    if values.dtype == object and not all(is_level(v) and v != MISSING_LEVEL for v in present):
        odd = next(v for v in present if not is_level(v) or v == MISSING_LEVEL)
        raise DataError(
            f"Schema.infer: column {name!r} must hold text (but {MISSING_LEVEL!r}, which is reserved), finite "
            f"numbers or booleans; got {shown(odd)}. Turn it into text, or drop it."
        )
    levels = sorted_levels(present)
    if len(levels) == 1 and not absent.any():
        raise DataError(f"Schema.infer: column {name!r} is constant; got {levels[0]!r} in every row. Drop it.")
    fields: Keywords = {"name": name}
    if declared is not None and declared.ordered and len(declared.levels) > 1:
        fields |= {"kind": "ordinal", "levels": declared.levels}
        notes.append(f"{name}: ordinal, {len(declared.levels)} levels in the table's own order.")
    elif values.dtype.kind not in "fib" or declared is not None:
        _guess_levels(table, name, levels, bool(absent.any()), fields, notes)
    elif len(levels) == 2 and set(levels) <= {0, 1}:
        fields |= {"kind": "binary", "levels": levels}
        notes.append(f"{name}: binary, {levels[0]!r} or {levels[1]!r}.")
    else:
        _guess_number(name, present.astype(np.float64), fields, notes)
    if absent.any():
        hint = {"categorical": "level", "binary": "most_frequent", "ordinal": "most_frequent"}
        fields["missing"] = hint.get(fields["kind"], "median")
        notes.append(f"{name}: {int(absent.sum())} missing values, handled as missing={fields['missing']!r}.")
    if _PROTECTED.search(name):
        fields["direction"] = "fixed"
        notes.append(f"{name}: fixed, because of its name.")
    return Feature(**fields)


def _guess_levels(
    table: Table, name: str, levels: tuple, has_missing: bool, fields: Keywords, notes: list[str]
) -> None:
    if len(levels) > 50 and len(levels) > 0.5 * table.n_rows:
        raise DataError(
            f"Schema.infer: column {name!r} looks like an identifier; got {len(levels)} distinct texts in "
            f"{table.n_rows} rows. Drop it, or describe it yourself."
        )
    if len(levels) == 2 and not has_missing:
        fields |= {"kind": "binary", "levels": levels}
        notes.append(f"{name}: binary, {levels[0]!r} or {levels[1]!r}.")
        return
    fields |= {"kind": "categorical", "levels": (*levels, MISSING_LEVEL) if has_missing else levels}
    notes.append(f"{name}: categorical, {len(levels)} levels, any may become any other.")


def _guess_number(name: str, present: np.ndarray, fields: Keywords, notes: list[str]) -> None:
    bounds = (float(present.min()), float(present.max()))
    fields["bounds"] = bounds
    span = f"between {bounds[0]:g} and {bounds[1]:g}"
    if np.array_equal(present, np.round(present)) and max(map(abs, bounds)) <= LARGEST:
        fields["kind"] = "integer"
        notes.append(f"{name}: whole number {span}.")
        return
    fields["kind"] = "numeric"
    for decimals in (1, 2):
        with np.errstate(over="ignore"):  # rounding multiplies by ten, beyond the largest float for some
            rounded = np.round(present, decimals)
        if np.isfinite(rounded).all() and np.allclose(present, rounded, rtol=1e-12, atol=1e-12):
            fields["step"] = 10.0**-decimals
            notes.append(f"{name}: number {span} in steps of {fields['step']:g}.")
            return
    notes.append(f"{name}: number {span}.")


def _declared_categories(table: Table) -> dict[str, Declared]:
    """Columns that the dataframe declares as categories; ordered ones in pandas, and Enum in polars."""
    if table.native is None:
        return {}
    frame = nw.from_native(table.native, eager_only=True)
    out = {}
    for name, dtype in frame.schema.items():
        if dtype == nw.Enum:
            out[name] = Declared(tuple(frame[name].cat.get_categories().to_list()), True)
        elif dtype == nw.Categorical and frame.implementation.is_pandas():
            own = table.native[name].dtype
            # Through `as_table`, so that the levels are the same Python values as the cells.
            levels = as_table({name: own.categories.astype(object)}).columns[name].tolist()
            out[name] = Declared(tuple(levels), bool(own.ordered))
        elif dtype == nw.Categorical:
            out[name] = Declared((), False)
    return out
