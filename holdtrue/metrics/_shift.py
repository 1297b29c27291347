"""Whether the people who come are like those who were calibrated on, and what can be done if not.

A guarantee is about people drawn like the calibration set. `drift_test` asks whether another set is: a classifier
learns to tell the two apart on one half of each, and is judged on the other half, where under exchangeability
every assignment of the two names is equally likely. If they differ by *who* comes and not by what holds for a
given person (a covariate shift), calibration rows can be thinned so that those left are drawn like the newcomers.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ks_2samp, rankdata

from holdtrue.errors import DataError

LARGEST = 20_000  # rows of either set that the test looks at
FEWEST = 20  # rows of either set, below which it could not say anything


class Drift(NamedTuple):
    """Result of `drift_test`.

    Attributes
    ----------
    auc : float
        How well held-out rows of the two sets can be told apart: 0.5 by chance, 1 without an error.
    p_value : float
        Chance of so large an `auc`, or a larger one, if the sets are exchangeable.
    distances : array
        Per column, the largest difference of the two cumulative distributions: where to look first.
    n_reference, n_use : int
        Rows of either set.
    """

    auc: float
    p_value: float
    distances: np.ndarray
    n_reference: int
    n_use: int


def drift_test(reference: ArrayLike, use: ArrayLike, *, n_permutations: int = 999, random_state: int = 0) -> Drift:
    """Test whether two sets of encoded rows are exchangeable, by a classifier and permutations.

    A forest learns to tell the sets apart on half of the rows. The statistic is its AUC on the other half, and the
    p-value is that of a permutation test there: it is valid in finite samples, whatever the classifier is worth. A
    classifier that learns nothing makes the test blind, not wrong.

    Parameters
    ----------
    reference, use : array, shape (rows, columns)
        Encoded rows. At most 20,000 of each are looked at.
    n_permutations : int, default=999
        The p-value is at least ``1 / (n_permutations + 1)``.
    random_state : int, default=0
        Of the halves and the permutations.

    Notes
    -----
    A large p-value is no proof that the sets are alike: with few rows only coarse drift shows. People must be
    different people; a person in both sets makes them look more alike than they are.

    References
    ----------
    [1] Lopez-Paz, Oquab (2017), *Revisiting classifier two-sample tests*.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same, other = rng.normal(size=(2, 400, 3)), rng.normal(size=(400, 3)) + [0.0, 0.0, 1.0]
    >>> drift_test(same[0], same[1]).p_value > 0.05, drift_test(same[0], other).p_value
    (True, 0.001)
    """
    a, b = _rows("drift_test", reference, use)
    rng = np.random.default_rng(random_state)
    a_kept, b_kept = (rows[rng.permutation(len(rows))[:LARGEST]] for rows in (a, b))
    halves = [(rows[: len(rows) // 2], rows[len(rows) // 2 :]) for rows in (a_kept, b_kept)]
    learn = [half[0] for half in halves]
    judge = [half[1] for half in halves]
    model = _classifier(random_state).fit(np.concatenate(learn), np.repeat([0, 1], [len(rows) for rows in learn]))
    ranks = rankdata(model.predict_proba(np.concatenate(judge))[:, 1])
    n_a, n_b = (len(rows) for rows in judge)
    own = ranks[n_a:].sum()
    by_chance = np.array([rng.permutation(ranks)[:n_b].sum() for _ in range(n_permutations)])
    p_value = (1 + int((by_chance >= own - 1e-9).sum())) / (1 + n_permutations)
    distances = np.array([ks_2samp(x, y, method="asymp")[0] for x, y in zip(a.T, b.T, strict=True)])
    return Drift(float((own - n_b * (n_b + 1) / 2) / (n_a * n_b)), p_value, distances, len(a), len(b))


def shift_weights(reference: ArrayLike, use: ArrayLike, *, random_state: int = 0) -> np.ndarray:
    r"""Estimate, for every reference row, how much likelier it is among those in use: :math:`q(x) / p(x)`.

    From the odds of a logistic regression that tells the sets apart. A row's weight comes from a model that was
    fitted without it (two halves, each weighed by the other's model).

    Parameters
    ----------
    reference, use : array, shape (rows, columns)
        Encoded rows.

    Notes
    -----
    It is an estimate: what follows from it holds as far as the regression is right. Rows that are found in use but
    hardly in the reference have no weight anywhere; `drift_test` on what is left shows that.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    a, b = _rows("shift_weights", reference, use)
    rng = np.random.default_rng(random_state)
    fold_a, fold_b = (rng.permutation(len(rows)) % 2 for rows in (a, b))
    weights = np.empty(len(a))
    for fold in (0, 1):
        learn_a, learn_b = a[fold_a != fold], b[fold_b != fold]
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        model.fit(np.concatenate([learn_a, learn_b]), np.repeat([0, 1], [len(learn_a), len(learn_b)]))
        p = np.clip(model.predict_proba(a[fold_a == fold])[:, 1], 1e-12, 1 - 1e-12)
        weights[fold_a == fold] = p / (1 - p) * len(learn_a) / len(learn_b)
    return weights


def thinned(weights: ArrayLike, *, largest: float | None = None, random_state: int = 0) -> np.ndarray:
    r"""Choose rows so that those left are drawn like the people in use; each stays by its weight's share.

    A row stays with probability ``weight / largest``. If the weights are proportional to :math:`q(x) / p(x)` and
    `largest` bounds them, the rows that stay are independent draws from :math:`q`, and an exact binomial bound on
    them is exact for :math:`q`.

    Parameters
    ----------
    weights : array, shape (rows,)
    largest : float, optional
        A bound known beforehand; the largest weight seen when omitted, which is slightly too low a bound.
    random_state : int, default=0

    References
    ----------
    [1] Park, Dobriban, Lee, Bastani (2022), *PAC prediction sets under covariate shift*, Section 3.

    Examples
    --------
    >>> thinned([0.0, 1.0, 1.0]).tolist()
    [False, True, True]
    """
    w = np.asarray(weights, np.float64)
    if w.ndim != 1 or not np.isfinite(w).all() or (w < 0).any() or not (w > 0).any():
        raise DataError(
            f"thinned: `weights` must be one finite number per row, none below 0; got shape {w.shape}."
        )
    top = float(w.max()) if largest is None else float(largest)
    if top < w.max():
        raise DataError(f"thinned: `largest` must bound the weights; got {top:g} below {w.max():g}.")
    return np.random.default_rng(random_state).random(len(w)) < w / top


def _classifier(random_state: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(n_estimators=100, min_samples_leaf=5, random_state=random_state)


def _rows(where: str, reference: ArrayLike, use: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.asarray(reference, np.float64), np.asarray(use, np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise DataError(
            f"{where}: both sets must be rows of the same columns; got shapes {a.shape} and {b.shape}."
        )
    if min(len(a), len(b)) < FEWEST:
        raise DataError(f"{where}: at least {FEWEST} rows of either set are needed; got {len(a)} and {len(b)}.")
    return a, b
