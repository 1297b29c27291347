"""How near a recourse is to people there are."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import DataError

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
    from sklearn.neighbors import NearestNeighbors  # here, not above: few calls need it, and it takes time to load

    # Brute force in blocks of bounded memory; trees gain nothing in this many columns.
    index = NearestNeighbors(n_neighbors=min(int(k), len(rows)), metric=METRICS[norm], algorithm="brute").fit(rows)
    distances, _ = index.kneighbors(points)
    return np.asarray(distances).mean(axis=1)


def told_apart(people: ArrayLike, recourse: ArrayLike, *, random_state: int = 0) -> dict[str, float]:
    """Accuracy of classifiers that were trained to tell recourse from people there are; 0.5 is a guess.

    A network, a forest and a logistic regression, trained on half of the rows (as many of each kind) and asked
    about the rest (Ross et al., 2021, Table 3). High accuracy shows that recourse leaves the data; low accuracy
    shows only that these three did not see it.

    Parameters
    ----------
    people, recourse : arrays of shape (n, d)
        Encoded rows. Of the longer one as many are drawn as the shorter has. A person and their own recourse
        should not both be in, else the copies that did not move are found on both sides.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> told_apart(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 9)["random forest"]
    1.0
    """
    # Here, not above: few calls need these, and they take time to load.
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(random_state)
    kinds = [np.asarray(rows, np.float64) for rows in (people, recourse)]
    n = min(len(rows) for rows in kinds)
    if n < 4:
        raise DataError(f"told_apart: at least four rows of each kind are needed; got {n}.")
    x = np.concatenate([rows[rng.permutation(len(rows))[:n]] for rows in kinds])
    y = np.repeat([0, 1], n)
    half = np.concatenate([np.arange(n // 2), n + np.arange(n // 2)])
    held = np.setdiff1d(np.arange(2 * n), half)
    scaled = StandardScaler().fit(x[half]).transform(x)
    judges = {
        "neural network": MLPClassifier((100,), max_iter=300, early_stopping=n >= 50, random_state=random_state),
        "random forest": RandomForestClassifier(100, random_state=random_state),
        "logistic regression": LogisticRegression(max_iter=1000),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a judge that could learn more is still a judge
        fitted = {name: judge.fit(scaled[half], y[half]) for name, judge in judges.items()}
    return {name: float((judge.predict(scaled[held]) == y[held]).mean()) for name, judge in fitted.items()}
