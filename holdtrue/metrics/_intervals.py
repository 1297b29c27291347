"""Means, areas and differences between two groups of people, with their intervals: closed forms, nothing drawn."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, t

from holdtrue.errors import DataError
from holdtrue.metrics._survival import _answers, survival


class Interval(NamedTuple):
    """A value with the ends of its confidence interval; NaN where there is nobody, or only one."""

    value: float
    lower: float
    upper: float


NOTHING = Interval(float("nan"), float("nan"), float("nan"))


def mean_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of independent values, with Student's interval.

    Examples
    --------
    >>> mean_interval([1.0, 2.0, 3.0]).value
    2.0
    """
    x = _numbers("mean_interval", values, confidence)
    if not len(x):
        return NOTHING
    mean, half = float(x.mean()), _half(_error(x), len(x) - 1, confidence)
    return Interval(mean, mean - half, mean + half)


def difference_of_shares(k: int, n: int, k_other: int, n_other: int, confidence: float = 0.95) -> Interval:
    """Share `k` of `n` less share `k_other` of `n_other`, with Newcombe's interval.

    The ends come from Wilson's interval of each share, so that they stay between -1 and 1 and say something also
    where a share is 0 or 1.

    References
    ----------
    [1] Newcombe (1998), Interval estimation for the difference between independent proportions, method 10.

    Examples
    --------
    >>> [round(end, 4) for end in difference_of_shares(56, 70, 48, 80)]
    [0.2, 0.0524, 0.3339]
    """
    if not (0 <= k <= n and 0 <= k_other <= n_other):
        raise DataError(
            f"difference_of_shares: needs 0 <= k <= n of both; got {k!r} of {n!r} and {k_other!r} of {n_other!r}."
        )
    _check(confidence, "difference_of_shares")
    if not n or not n_other:
        return NOTHING
    p, q = k / n, k_other / n_other
    (low_p, high_p), (low_q, high_q) = (_wilson(p, n, confidence), _wilson(q, n_other, confidence))
    lower = (p - q) - np.sqrt((p - low_p) ** 2 + (high_q - q) ** 2)
    upper = (p - q) + np.sqrt((high_p - p) ** 2 + (q - low_q) ** 2)
    return Interval(p - q, float(lower), float(upper))


def difference_of_means(values: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean of a group less that of the others, with Welch's interval: the two may vary differently.

    Examples
    --------
    >>> difference_of_means([1.0, 2.0, 3.0], [0.0, 1.0, 2.0]).value
    1.0
    """
    a, b = (_numbers("difference_of_means", x, confidence) for x in (values, others))
    if not len(a) or not len(b):
        return NOTHING
    off = float(a.mean() - b.mean())
    parts = _error(a) ** 2, _error(b) ** 2
    if min(len(a), len(b)) < 2 or sum(parts) == 0:
        return Interval(off, float("nan"), float("nan"))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    half = _half(float(np.sqrt(sum(parts))), freedom, confidence)
    return Interval(off, off - half, off + half)


def difference_of_survival(accepts: ArrayLike, others: ArrayLike, confidence: float = 0.95) -> Interval:
    """Mean survival of a group less that of the others, whom the same models were asked about.

    The variance is that of people's shares in either group, and that of the difference over models, which all of
    them meet. Student's quantile is that of the smallest of the three.

    Parameters
    ----------
    accepts, others : array of bool, shape (models, people)

    Examples
    --------
    >>> difference_of_survival([[True, True], [True, False]], [[True, False], [False, False]]).value
    0.5
    """
    a, b = (_answers("difference_of_survival", x) for x in (accepts, others))
    _check(confidence, "difference_of_survival")
    if len(a) != len(b):
        raise DataError(f"difference_of_survival: needs the same models for both; got {len(a)} and {len(b)}.")
    if not a.shape[1] or not b.shape[1]:
        return NOTHING
    off = float(a.mean() - b.mean())
    fewest = min(a.shape[1], b.shape[1], len(a))
    if fewest < 2:
        return Interval(off, float("nan"), float("nan"))
    by_model = a.mean(axis=1) - b.mean(axis=1)
    error = np.sqrt(_error(survival(a)) ** 2 + _error(survival(b)) ** 2 + _error(by_model) ** 2)
    half = _half(float(error), fewest - 1, confidence)
    return Interval(off, max(off - half, -1.0), min(off + half, 1.0))


def auc_interval(score: ArrayLike, accepted: ArrayLike, confidence: float = 0.95) -> Interval:
    """Area under the ROC curve, with DeLong's interval.

    Parameters
    ----------
    score : array of float, shape (people,)
    accepted : array of bool, shape (people,)
        Whose label is the favourable class.

    References
    ----------
    [1] DeLong, DeLong, Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver operating
        characteristic curves.

    Examples
    --------
    >>> auc_interval([0.1, 0.4, 0.35, 0.8], [False, False, True, True]).value
    0.75
    """
    x, good = _numbers("auc_interval", score, confidence), np.asarray(accepted, bool)
    if x.shape != good.shape:
        raise DataError(f"auc_interval: needs a label per score; got {x.shape} and {good.shape}.")
    yes, no = np.sort(x[good]), np.sort(x[~good])
    if not len(yes) or not len(no):
        return NOTHING
    # Of each person, the share of the other class that lies on the right side of them; ties count half.
    of_yes = (np.searchsorted(no, yes, "left") + np.searchsorted(no, yes, "right")) / (2 * len(no))
    of_no = 1 - (np.searchsorted(yes, no, "left") + np.searchsorted(yes, no, "right")) / (2 * len(yes))
    area = float(of_yes.mean())
    if min(len(yes), len(no)) < 2:
        return Interval(area, float("nan"), float("nan"))
    half = float(norm.ppf((1 + confidence) / 2) * np.sqrt(_error(of_yes) ** 2 + _error(of_no) ** 2))
    return Interval(area, max(area - half, 0.0), min(area + half, 1.0))


def _wilson(p: float, n: int, confidence: float) -> tuple[float, float]:
    z = float(norm.ppf((1 + confidence) / 2))
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return float(middle - half), float(middle + half)


def _error(x: np.ndarray) -> float:
    """Standard error of a mean; NaN of one value."""
    return float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def _half(error: float, freedom: float, confidence: float) -> float:
    return float(t.ppf((1 + confidence) / 2, freedom) * error) if error == error else float("nan")


def _numbers(where: str, values: ArrayLike, confidence: float) -> np.ndarray:
    _check(confidence, where)
    x = np.asarray(values, np.float64)
    if x.ndim != 1 or np.isnan(x).any():
        raise DataError(f"{where}: needs one number per person, none of them NaN; got shape {x.shape}.")
    return x


def _check(confidence: float, where: str) -> None:
    if not 0 < confidence < 1:
        raise DataError(f"{where}: `confidence` must lie between 0 and 1; got {confidence!r}.")
