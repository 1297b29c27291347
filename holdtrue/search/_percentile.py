"""Costs by percentile: how many people an action passes by, rather than how far it moves a number."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

ActionCost = Literal["norm", "percentile", "log_percentile", "max_percentile"]
ACTION_COSTS: tuple[ActionCost, ...] = get_args(ActionCost)
MOST_RANKS = 1000
SAME = 2e-6  # encoded units within which two values are one: a grid is reached up to float32's rounding
GRID = 100  # points, beyond which a number's own grid is thinned to percentiles


def ranks(x: np.ndarray) -> np.ndarray:
    """Sorted columns of encoded training rows, or 1000 order statistics of each where there are more rows."""
    ordered = np.sort(x, axis=0).astype(np.float32)
    if len(ordered) <= MOST_RANKS:
        return ordered
    return ordered[np.rint((np.arange(MOST_RANKS) + 0.5) / MOST_RANKS * len(ordered) - 0.5).astype(int)]


@dataclass(frozen=True)
class Percentiles:
    """Percentiles of training rows, per encoded column.

    The percentile `Q` of a value counts those below it and half of those who have it, so that it is neither 0 nor
    1. Moving a column costs ``|Q(x') - Q(x)|``, or ``|log((1 - Q(x)) / (1 - Q(x')))|`` for ``log_percentile``.
    """

    ranks: np.ndarray
    weights: np.ndarray
    cost: ActionCost

    def height(self, column: int, values: np.ndarray) -> np.ndarray:
        """What differences are taken of: the percentile, or minus the logarithm of the share above it."""
        own, n = self.ranks[:, column], len(self.ranks)
        values = np.asarray(values, np.float64)
        below = np.searchsorted(own, values - SAME, "left") + np.searchsorted(own, values + SAME, "right")
        q = np.clip(below / (2 * n), 0.5 / n, 1 - 0.5 / n)
        return -np.log1p(-q) if self.cost == "log_percentile" else q

    def costs(self, start: int, values: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Cost of each option (a row of encoded values from column `start` on) for someone at `own`."""
        total = np.zeros(len(values))
        for c in range(values.shape[1]):
            moved = np.abs(self.height(start + c, values[:, c]) - self.height(start + c, own[c : c + 1]))
            total += self.weights[start + c] * moved
        return total

    def distance(self, x: np.ndarray, factual: np.ndarray, starts: list[tuple[int, int]]) -> np.ndarray:
        """Cost of each row's change; `starts` gives first and last column of each feature."""
        parts = np.zeros((len(x), len(starts)))
        for j, (start, stop) in enumerate(starts):
            for i in np.flatnonzero((np.abs(x[:, start:stop] - factual[:, start:stop]) > SAME).any(axis=1)):
                parts[i, j] = self.costs(start, x[i : i + 1, start:stop], factual[i, start:stop])[0]
        return parts.max(axis=1, initial=0.0) if self.cost == "max_percentile" else parts.sum(axis=1)

    def grid(self, column: int, lower: float, upper: float, step: float) -> np.ndarray:
        """Values a number may take: its own grid where that is short, else percentiles, and both ends."""
        count = round((upper - lower) / step) if step > 0 else 0
        low, spacing = np.float32(lower), np.float32(step)
        if step > 0 and count <= GRID:
            return np.minimum(low + spacing * np.arange(count + 1, dtype=np.float32), np.float32(upper))
        levels = np.quantile(self.ranks[:, column], np.arange(GRID + 1) / GRID, method="closest_observation")
        levels = np.r_[lower, levels[(levels > lower) & (levels < upper)], upper].astype(np.float32)
        if step > 0:
            levels = np.minimum(low + spacing * np.rint((levels - low) / spacing), np.float32(upper))
        return np.unique(levels)
