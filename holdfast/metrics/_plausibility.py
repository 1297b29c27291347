"""How near a recourse is to people there are."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors

from holdfast.errors import DataError

METRICS = {"l1": "manhattan", "l2": "euclidean"}


def neighbour_distance(
    points: ArrayLike, rows: ArrayLike, k: int = 5, *, norm: Literal["l1", "l2"] = "l1"
) -> np.ndarray:
    """Mean distance of each point to its `k` nearest rows; less is more plausible.

    Parameters
    ----------
    points : array of shape (people, columns)
        Encoded recourse.
    rows : array of shape (rows, columns)
        Encoded people it is held against: training rows with the wanted label, as a rule. With fewer than `k` of
        them all count.
    k : int, default=5
        Neighbours.
    norm : {"l1", "l2"}, default="l1"
        Distance in encoded columns, all of the same weight: `cost_weight` says what a change is to the person, not
        how rare a combination is. Another category counts 2 in l1.

    Examples
    --------
    >>> neighbour_distance([[0.0], [1.0]], [[0.0], [0.5], [3.0]], k=2)
    array([0.25, 0.75])
    """
    points, rows = np.asarray(points, np.float64), np.asarray(rows, np.float64)
    if points.ndim != 2 or rows.ndim != 2 or points.shape[1] != rows.shape[1] or len(rows) == 0:
        raise DataError(
            "neighbour_distance: `points` and `rows` must have the same columns, and a row at least; got shapes "
            f"{points.shape} and {rows.shape}."
        )
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise DataError(f"neighbour_distance: `k` must be a positive whole number; got {k!r}.")
    if norm not in METRICS:
        raise DataError(f"neighbour_distance: `norm` is not known; got {norm!r}. Known are {list(METRICS)!r}.")
    if len(points) == 0:
        return np.zeros(0)
    # Brute force in blocks of bounded memory; trees gain nothing in this many columns.
    index = NearestNeighbors(n_neighbors=min(int(k), len(rows)), metric=METRICS[norm], algorithm="brute").fit(rows)
    distances, _ = index.kneighbors(points)
    return np.asarray(distances).mean(axis=1)
