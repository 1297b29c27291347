"""Rows and labels as they come, and training rows in one order, so that the order they came in does not matter."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdtrue._types import Cell, JsonObject
from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema, Table, TableLike, as_table, plain


def canonical(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Drop rows of weight 0, merge identical rows into one of their summed weight, and sort.

    Returns rows, labels, weights and how many rows each stands for. A table in another order, or a weight of 2
    in place of a repeated row, then gives the same model to the last bit.
    """
    keep = weight > 0
    x, y, weight = x[keep], y[keep], weight[keep]
    table = np.column_stack([x, y.astype(x.dtype)]) + 0.0  # -0.0 and 0.0 are one value
    rows = np.ascontiguousarray(table).view([("", table.dtype)] * table.shape[1]).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    inverse = inverse.ravel()
    merged = np.bincount(inverse, weights=weight)
    copies = np.bincount(inverse)
    return x[first], y[first], merged, copies.astype(np.float64)


def is_frame(X: TableLike) -> bool:
    """Whether the columns have names; a dataframe whose names are numbers is as good as an array."""
    if hasattr(X, "toarray"):
        return False
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return isinstance(X, (dict, Table)) or (names is not None and all(isinstance(n, str) for n in names))


def labels_of(y: Any) -> Any:
    """Labels as numpy has them, whatever table they come from."""
    return y.to_numpy() if hasattr(y, "to_numpy") else y


def plain_number(name: str, values: np.ndarray) -> Feature:
    """A column of a bare array: a number anywhere in the range seen. A constant one stays as it is."""
    low, high = float(values.min()), float(values.max())
    return Feature(name=name, kind="numeric", bounds=(low, high), direction="fixed" if low == high else "free")


def table_of(rows: Sequence[Mapping[str, Cell]], schema: Schema, *, where: str) -> Table:
    """A table of rows as JSON has them: column to number, text, boolean or None."""
    for row in rows:
        if row.keys() != set(schema.names):
            odd = sorted(row.keys() ^ set(schema.names))
            raise DataError(f"{where}: the columns are not the model's; got {odd[:5]!r} in one of them only.")
    columns = {}
    for feature in schema:
        values = [row[feature.name] for row in rows]
        if feature.has_levels:
            columns[feature.name] = np.empty(len(rows), object)
            columns[feature.name][:] = values
        else:
            columns[feature.name] = np.array([math.nan if v is None else v for v in values], np.float64)
    return as_table(columns, where=where)


def rows_of(table: Table, schema: Schema) -> list[JsonObject]:
    """Every row as JSON has it; None for what is missing."""
    columns = [[_told(value) for value in table.columns[name].tolist()] for name in schema.names]
    return [dict(zip(schema.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _told(value: object) -> Cell:
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def some_rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of a dataframe or an array."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
