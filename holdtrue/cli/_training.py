"""A table with labels, as `fit`, `schema` and `audit` read it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from holdtrue.errors import DataError
from holdtrue.runs import DATASET, Source, dataset
from holdtrue.schema import Schema, did_you_mean


@dataclass(frozen=True)
class Labelled:
    """People, what became of them, and what is known of the columns.

    `favourable` is None where the table does not say.
    """

    X: pd.DataFrame
    y: np.ndarray
    schema: Schema
    target: str
    favourable: Any = None
    guessed: bool = False


def read_labelled(
    table: str, target: str | None, schema_file: str | None = None, drop: Sequence[str] = ()
) -> Labelled:
    """Read a table with its label column.

    Parameters
    ----------
    table : str
        A path, ``-`` or ``dataset:NAME``, which brings its own label and schema.
    target : str or None
        The label column.
    schema_file : str or None
        A schema file; guessed from the table when None.
    drop : names of columns
        To be left out of a guessed schema.
    """
    if drop and (schema_file is not None or table.startswith(DATASET)):
        raise DataError(f"--drop: is for a schema that is guessed; got {list(drop)!r}. Take it out of the schema.")
    schema = None if schema_file is None else Schema.load(schema_file)
    if table.startswith(DATASET):
        data = dataset(table)
        if target is not None and target != data.target:
            raise DataError(
                f"--target: a dataset brings its own label, {data.target!r}; got {target!r}. Leave --target out."
            )
        schema = data.schema if schema is None else schema
        if schema is None:
            raise DataError(f"table: the dataset is not a table of features; got {table!r}. Choose another.")
        return Labelled(data.X, np.asarray(data.y), schema, data.target, data.favourable)
    if target is None:
        raise DataError("--target: the label column must be named; got none. Write --target COLUMN.")
    frame = Source(table).whole(schema)
    y = labels_of(frame, target)
    if schema is None:
        guessed = Schema.infer(frame, target, drop=drop)
        return Labelled(frame.drop(columns=target), y, guessed, target, guessed=True)
    if target in schema:
        raise DataError(
            f"--target: the schema describes the label as a feature; got {target!r}. Take it out of the schema."
        )
    return Labelled(frame.drop(columns=target), y, schema, target)


def labels_of(frame: pd.DataFrame, target: str) -> np.ndarray:
    """Return the label column, or say what is wrong with it."""
    if target not in frame.columns:
        raise DataError(
            f"--target: is not a column; got {target!r}. {did_you_mean(target, [str(c) for c in frame.columns])}"
        )
    column: Any = frame[target]
    absent = int(column.isna().sum())
    if absent:
        raise DataError(
            f"--target: labels are missing; got {absent} of {len(column)} in {target!r}. Leave those rows out."
        )
    values = column.to_numpy()
    if values.dtype == object:
        values = np.array([str(v) for v in values]) if not all(isinstance(v, bool) for v in values) else values
    if np.asarray(values).dtype.kind == "f":
        if not np.array_equal(values, np.round(values)):
            shown = float(values[values != np.round(values)][0])
            raise DataError(
                f"--target: labels must be classes, not measurements; got {shown!r} in {target!r}. Cut the column "
                "into classes first."
            )
        values = values.astype(np.int64)
    n_classes = len(np.unique(values))
    if n_classes < 2 or (n_classes > 50 and n_classes > 0.5 * len(values)):
        raise DataError(
            f"--target: must hold a few classes; got {n_classes} distinct values in {len(values)} rows of "
            f"{target!r}. Name another column."
        )
    return np.asarray(values)
