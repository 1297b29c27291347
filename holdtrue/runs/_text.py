"""Cells of a CSV file become values: by the schema where there is one, else by what they look like."""

import math
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdtrue.schema import Feature, Level, Schema, as_table

MISSING = frozenset(
    ("", "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)
"""Texts that mean "no value", unless the schema has a level of that name."""
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


def typed(cells: pa.Table, schema: Schema | None) -> dict[str, np.ndarray]:
    """Return every column of a table of texts as values, as `holdtrue.schema.Table` has them.

    Parameters
    ----------
    cells : pyarrow.Table
        Every cell as it stands in the file.
    schema : Schema or None
        Its columns are read as it says, whatever a part of the file looks like; others are guessed.
    """
    known = {} if schema is None else {f.name: f for f in schema}
    return {name: _Cells.of(cells.column(name)).values(known.get(name)) for name in cells.column_names}


class _Cells:
    """A column of texts: the different ones, each read once, and which stands where."""

    def __init__(self, texts: list[str], where: np.ndarray) -> None:
        self.texts, self.where = texts, where

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "_Cells":
        # A row that is too short has no cell there: the same as an empty one.
        coded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
        coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
        return cls(coded.dictionary.to_pylist(), coded.indices.to_numpy())

    def values(self, feature: Feature | None) -> np.ndarray:
        if feature is None or (feature.has_levels and feature.levels is None):
            return self._meaning(self._guess())
        if feature.levels is not None and feature.has_levels:
            return self._meaning(_levels(self.texts, feature.levels))
        return self._meaning(_numbers(self.texts))

    def _meaning(self, values: list[Any]) -> np.ndarray:
        """Whole numbers, numbers, booleans or objects, as the values allow."""
        distinct = np.empty(len(values), object)
        distinct[:] = values
        if all(isinstance(value, float) for value in values):  # a column without any value is one of numbers
            distinct = distinct.astype(np.float64)
        return as_table({"": distinct}).columns[""][self.where]

    def _guess(self) -> list[Any]:
        distinct = {text for text in self.texts if text not in MISSING}
        if distinct and distinct <= set(TRUTH):
            return [TRUTH.get(text) for text in self.texts]
        if distinct and all(_number(text) is not None for text in distinct):
            return _numbers(self.texts)
        return [None if text in MISSING else text for text in self.texts]


def _levels(texts: list[str], levels: tuple[Level, ...]) -> list[Any]:
    by_text = {str(level): level for level in levels}
    by_value = {level: level for level in levels if isinstance(level, (bool, int, float))}
    by_number = {float(v): v for v in levels if isinstance(v, (int, float)) and not isinstance(v, bool)}
    out: list[Any] = []
    for text in texts:
        if text in by_text:
            out.append(by_text[text])
        elif text in MISSING:
            out.append(None)
        elif text in TRUTH and TRUTH[text] in by_value:
            out.append(by_value[TRUTH[text]])  # the level itself: 1 where the schema says 1
        else:
            number = _number(text) if by_number else None
            # What is no level stays as it was written, for the check to name.
            out.append(by_number.get(number, text) if number is not None else text)
    return out


def _numbers(texts: list[str]) -> list[Any]:
    """Numbers, NaN for what is absent; beside what is no number, which stays as it was written, None for that."""
    values = [None if text in MISSING else _number(text) for text in texts]
    if any(value is None and text not in MISSING for value, text in zip(values, texts, strict=True)):
        return [t if v is None and t not in MISSING else v for v, t in zip(values, texts, strict=True)]
    if None in values:
        return [math.nan if value is None else value for value in values]
    return [int(text) for text in texts] if all(map(_WHOLE.fullmatch, texts)) else values


def _number(text: str) -> float | None:
    """The number that a text is; Python would also read 1_000, digits of every script, and NaN in any spelling."""
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number
