"""Training rows in one canonical order, so that the order they came in does not matter."""

import numpy as np


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
