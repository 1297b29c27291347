"""One regime against another: gains with intervals over seeds and people."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from experiments._task import Task
from experiments.counterfactual_training._search import Found
from experiments.counterfactual_training._settings import LEVEL, N_ROUNDS
from experiments.counterfactual_training._task import rows_of
from holdtrue.metrics import median_distance

Weights = tuple[np.ndarray, np.ndarray]
FEWEST = 5  # recourses; a mean of fewer says nothing
KERNEL_ROWS = 300
NOTHING = 1e-9  # a discrepancy: at that length-scale the kernel takes any two rows for strangers


def gain(base: np.ndarray, other: np.ndarray, *, paired: bool) -> dict[str, Any] | None:
    """By how many percent the mean of `other` lies below that of `base`, with a bootstrap interval.

    Both have the axes seeds, energy weights, people, and NaN where there is nothing to measure. Paired, only what
    both have is compared. Rounds draw seeds, and people, with replacement.
    """
    here, there = np.isfinite(base), np.isfinite(other)
    if paired:
        here = there = here & there
    if min(here.sum(), there.sum()) < FEWEST:
        return None

    def percent(weights: Weights) -> float:
        whole = weights[0][:, None, None] * weights[1]
        means = [
            np.sum(np.where(mask, values, 0.0) * whole) / max(np.sum(mask * whole), 1e-12)
            for values, mask in ((base, here), (other, there))
        ]
        return 100 * (1 - means[1] / means[0]) if means[0] > 0 else np.nan

    seeds = [_plain(percent((np.eye(len(base))[i], np.ones(base.shape[2])))) for i in range(len(base))]
    values = {"base": _mean(base, here), "other": _mean(other, there), "share": float(here.mean())}
    return _interval(percent, len(base), base.shape[2]) | {"seeds": seeds} | values


def _plain(value: float) -> float | None:
    """A number that JSON can hold."""
    return float(value) if np.isfinite(value) else None


def _mean(values: np.ndarray, mask: np.ndarray) -> float:
    return float(values[mask].mean())


def _interval(percent: Callable[[Weights], float], n_seeds: int, n_people: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    drawn = [
        percent((np.bincount(rng.integers(0, n_seeds, n_seeds), minlength=n_seeds).astype(float),
                 np.bincount(rng.integers(0, n_people, n_people), minlength=n_people).astype(float)))
        for _ in range(N_ROUNDS)
    ]  # fmt: skip
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.nanpercentile(drawn, [tail, 100 - tail])
    everything = percent((np.ones(n_seeds), np.ones(n_people)))
    return {"gain": everything, "low": float(low), "high": float(high), "error": float(np.nanstd(drawn))}


def discrepancy_gain(
    task: Task, base: Found, other: Found, *, paired: bool, length_scale: float | str
) -> dict[str, Any] | None:
    """`gain` in IP*: the unbiased discrepancy between recourse and rows of its class.

    A round's draws weigh people; nobody is compared with themselves.
    """
    here, there = base.valid, other.valid
    if paired:
        here = there = here & there
    clouds = [_Clouds.of(task, found, mask, length_scale) for found, mask in ((base, here), (other, there))]
    if not all(c.parts for c in clouds):
        return None

    def percent(weights: Weights) -> float:
        first, second = (c.discrepancy(weights) for c in clouds)
        return 100 * (1 - second / first) if first != 0 else np.nan

    n_seeds, _, n_people = base.valid.shape
    one = np.ones(n_people)
    whole = (np.ones(n_seeds), one)
    values = {"base": clouds[0].discrepancy(whole), "other": clouds[1].discrepancy(whole)}
    if abs(values["base"]) < NOTHING:
        return None
    seeds = [_plain(percent((np.eye(n_seeds)[i], one))) for i in range(n_seeds)]
    return _interval(percent, n_seeds, n_people) | {"seeds": seeds} | values


class _Clouds:
    """Kernel values of recourse among itself and with rows of its class, per seed, energy weight and class."""

    def __init__(self, parts: list[tuple[int, np.ndarray, np.ndarray, np.ndarray, float]]) -> None:
        self.parts = parts

    @staticmethod
    def of(task: Task, found: Found, mask: np.ndarray, length_scale: float | str) -> "_Clouds":
        parts = []
        for k in np.unique(found.target):
            rows = rows_of(task, k, KERNEL_ROWS).astype(np.float64)
            scale = median_distance(rows) if length_scale == "median" else float(length_scale)

            def kernel(a: np.ndarray, b: np.ndarray, scale: float = scale) -> np.ndarray:
                return np.exp(-cdist(a, b, "sqeuclidean") / (2 * scale**2))

            among = kernel(rows, rows)
            own_rows = (among.sum() - len(rows)) / (len(rows) * (len(rows) - 1))
            for seed in range(mask.shape[0]):
                for weight in range(mask.shape[1]):
                    who = np.flatnonzero(mask[seed, weight] & (found.target == k))
                    if len(who) >= FEWEST:
                        x = found.points[seed, weight, who].astype(np.float64)
                        parts.append((seed, who, kernel(x, x), kernel(x, rows).mean(axis=1), own_rows))
        return _Clouds(parts)

    def discrepancy(self, weights: Weights) -> float:
        """Mean over the clouds, which count as often as their seed was drawn."""
        total, count = 0.0, 0.0
        for seed, who, among, across, rows in self.parts:
            w = weights[1][who]
            pairs = w.sum() ** 2 - (w**2).sum()
            if weights[0][seed] == 0 or pairs <= 0:
                continue
            own = (w @ among @ w - (w**2) @ np.diag(among)) / pairs
            total += weights[0][seed] * (own + rows - 2 * (w @ across) / w.sum())
            count += weights[0][seed]
        return total / max(count, 1e-12)
