"""Cells of a CSV file become values: by the schema where there is one, else by what they look like."""

from typing import Any

import numpy as np
import pandas as pd

from holdtrue._types import JsonObject
from holdtrue.schema import Feature, Level, Schema

MISSING = frozenset(
    ("", "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)
"""Texts that mean "no value", unless the schema has a level of that name."""
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


def typed(frame: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """Return the table of texts with every column converted.

    Parameters
    ----------
    frame : DataFrame
        Every cell as it stands in the file.
    schema : Schema or None
        Its columns are read as it says, whatever a part of the file looks like; others are guessed.
    """
    known = {} if schema is None else {f.name: f for f in schema}
    columns = {name: _column(_cells(frame[name]), known.get(str(name))) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index)


def _cells(series: Any) -> np.ndarray:
    cells = series.to_numpy(dtype=object, na_value="")
    return np.asarray(cells, object)


def _column(cells: np.ndarray, feature: Feature | None) -> Any:
    if feature is not None and feature.has_levels and feature.levels is not None:
        return _levels(cells, feature.levels)
    if feature is not None and not feature.has_levels:
        return _numbers(cells)
    return _guess(cells)


def _levels(cells: np.ndarray, levels: tuple[Level, ...]) -> Any:
    by_text = {str(level): level for level in levels}
    by_number = {float(v): v for v in levels if isinstance(v, (int, float)) and not isinstance(v, bool)}
    meaning: JsonObject = {}
    for text in set(cells):
        if text in by_text:
            meaning[text] = by_text[text]
        elif text in MISSING:
            meaning[text] = None
        elif text in TRUTH and TRUTH[text] in levels:
            meaning[text] = TRUTH[text]
        else:
            number = _number(text) if by_number else None
            # What is no level stays as it was written, for the check to name.
            meaning[text] = by_number.get(number, text) if number is not None else text
    values = np.empty(len(cells), object)
    values[:] = [meaning[text] for text in cells]
    return values


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _numbers(cells: np.ndarray) -> Any:
    absent = np.fromiter((c in MISSING for c in cells), bool, len(cells))
    texts = pd.Series([None if a else c for a, c in zip(absent, cells, strict=True)], dtype=object)
    values = np.asarray(pd.to_numeric(texts, errors="coerce"))
    wrong = pd.isna(values) & ~absent
    if wrong.any():
        mixed = values.astype(object)
        mixed[absent] = None
        mixed[wrong] = cells[wrong]
        return mixed
    return values


def _guess(cells: np.ndarray) -> Any:
    distinct = {c for c in set(cells) if c not in MISSING}
    if distinct and distinct <= set(TRUTH):
        values = np.empty(len(cells), object)
        values[:] = [TRUTH.get(c) for c in cells]
        return values.astype(bool) if all(c in TRUTH for c in set(cells)) else values
    if distinct and all(_number(c) is not None for c in distinct):
        return _numbers(cells)
    values = np.empty(len(cells), object)
    values[:] = [None if c in MISSING else c for c in cells]
    return values
