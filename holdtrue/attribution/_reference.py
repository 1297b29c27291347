"""Whom a person is compared with: people at the cut-off, so that what is shared out is the gap to it."""

import hashlib
from dataclasses import dataclass

import numpy as np

from holdtrue._types import Cell, JsonObject
from holdtrue.errors import DataError
from holdtrue.schema import Table, plain


@dataclass(frozen=True)
class Reference:
    """Rows next to the cut-off, weighted so that their mean score is the cut-off where both sides are there.

    Attributes
    ----------
    table, x : the rows, and as the model reads them.
    weights : of each row; their sum is 1.
    score : their mean score, relative to the cut-off.
    n_above, n_below : how many have the wanted answer, and how many not.
    source : where the rows are from, in words.
    """

    table: Table
    x: np.ndarray
    weights: np.ndarray
    score: float
    n_above: int
    n_below: int
    source: str

    def __len__(self) -> int:
        return len(self.weights)

    def typical(self, name: str) -> Cell:
        """The middle value of a number over the rows, or the most common level."""
        values, gone = self.table.columns[name], self.table.missing(name)
        if gone.all():
            return None
        values, weights = values[~gone], self.weights[~gone]
        kinds, which = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)
        totals = np.bincount(which, weights)
        if values.dtype == object or values.dtype.kind not in "if":
            return plain(values[np.flatnonzero(which == int(np.argmax(totals)))[0]])
        return plain(kinds[np.searchsorted(np.cumsum(totals), totals.sum() / 2)])

    def digest(self) -> str:
        """SHA-256 of the rows, as the model reads them, and their weights."""
        parts = hashlib.sha256(np.ascontiguousarray(self.x, np.float32).tobytes())
        parts.update(np.ascontiguousarray(self.weights, np.float64).tobytes())
        return parts.hexdigest()

    def to_dict(self) -> JsonObject:
        """What a record says of it."""
        return {
            "rows": len(self), "above": self.n_above, "below": self.n_below, "source": self.source,
            "score": float(self.score), "sha256": self.digest(),
        }  # fmt: skip


def at_cutoff(margins: np.ndarray, pool: Table, x: np.ndarray, n: int, source: str) -> Reference:
    """The rows of a pool that are nearest to the cut-off, half of them on either side as far as there are.

    The two sides are weighted so that the mean score is 0, the cut-off. Where all rows are on one side the score
    of the reference is what it is, and the gap is the one to it.
    """
    if pool.n_rows == 0:
        raise DataError("reasons: the reference is empty; got 0 rows. Give rows that the model knows.")
    order = np.argsort(np.abs(margins), kind="stable")
    above, below = order[margins[order] >= 0], order[margins[order] < 0]
    half = (n + 1) // 2
    n_above = min(len(above), max(half, n - len(below)))
    above, below = above[:n_above], below[: n - n_above]
    rows = np.concatenate([above, below])
    weights = np.full(len(rows), 1.0 / len(rows))
    if len(above) and len(below):
        up, down = margins[above].mean(), margins[below].mean()
        share = -down / (up - down)  # of the upper side
        weights = np.repeat([share / len(above), (1 - share) / len(below)], [len(above), len(below)])
    score = float(weights @ margins[rows])
    return Reference(pool.take(rows), x[rows], weights, score, len(above), len(below), source)
