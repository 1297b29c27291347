"""Columns of tables, and shares with their intervals, as every figure counts them."""

from typing import Any

import numpy as np
import pyarrow as pa

from holdtrue._types import JsonObject
from holdtrue.metrics import clopper_pearson


def column(table: pa.Table, name: str) -> np.ndarray:
    """A column: numbers with NaN where there is none, booleans with False, texts with None."""
    values = table.column(name)
    if pa.types.is_boolean(values.type):
        values = values.fill_null(False)
    return values.to_numpy()


def share(k: Any, n: Any, confidence: float) -> JsonObject:
    """`k` of `n`, with the exact (Clopper and Pearson) interval."""
    k, n = int(k), int(n)
    lower, upper = clopper_pearson(k, n, confidence, "both")
    return {"k": k, "n": n, "share": k / n if n else None, "lower": float(lower), "upper": float(upper)}
