"""Sums that are the same to the last bit whoever else is asked about.

A product of matrices adds in another order where there are more rows. What a record keeps of a person must not
depend on how a table was cut up, or the same promise made again would be another one.
"""

from collections.abc import Sequence

import numpy as np


def added(values: np.ndarray, groups: Sequence[Sequence[int]]) -> np.ndarray:
    """Of every row the sum of each group of columns, of shape (rows, groups)."""
    out = np.zeros((len(values), len(groups)))
    for at, group in enumerate(groups):
        for column in group:
            out[:, at] += values[:, column]
    return out


def weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of every row (the last axis) the weighted sum."""
    return np.einsum("...k,k->...", values, weights)
