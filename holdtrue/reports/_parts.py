"""The parts a report is made of."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from holdtrue.encoding import Norm

CHUNK = 16_384  # people whose encoded rows are held at once


def chunks(rows: np.ndarray) -> list[np.ndarray]:
    """Rows, so many at once."""
    return [rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK)]


def spread(values: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Values of those with a recourse, among everyone; NaN for the others."""
    out = np.full(len(found), np.nan)
    out[found] = values
    return out


class Summary(NamedTuple):
    """A quantity over the recourse found; NaN where none was."""

    mean: float
    median: float
    p90: float


def summarise(values: np.ndarray) -> Summary:
    """Mean, median and 90th percentile."""
    if len(values) == 0:
        return Summary(math.nan, math.nan, math.nan)
    return Summary(float(np.mean(values)), float(np.median(values)), float(np.quantile(values, 0.9)))


class People(NamedTuple):
    """Measures before they are gathered; `changed` and `accepts` speak only of those with a recourse."""

    costs: dict[Norm, np.ndarray]
    broken: np.ndarray
    sentences: dict[str, int]
    changed: np.ndarray
    accepts: np.ndarray


@dataclass(frozen=True)
class Survival:
    """How recourse fares under other models.

    Attributes
    ----------
    vary : str or None
        What was varied in retraining; None for models given one by one.
    n_models : int
    confidence, level : float
        Of each person's lower bound, and what it must exceed to count as assured.
    mean, worst : float
        Fraction of models that say yes: mean and least over people.
    n_always : int
        People to whom every model says yes.
    n_assured : int
        People whose Clopper-Pearson lower bound exceeds `level`. Each bound errs on its own: this counts, it
        does not guarantee all of them jointly.
    invalidation, invalidation_std, invalidation_worst : float
        See `holdtrue.metrics.invalidation_rate`.
    n_consulted : int
        Models among them that guided or stopped the search. They were to be pleased, so survival is overstated.
    """

    vary: str | None
    n_models: int
    confidence: float
    level: float
    mean: float
    worst: float
    n_always: int
    n_assured: int
    invalidation: float
    invalidation_std: float
    invalidation_worst: float
    n_consulted: int = 0
