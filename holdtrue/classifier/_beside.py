"""A fitted model beside the plain ones that a lender would try first, on rows that it did not learn from."""

import warnings
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from holdtrue.errors import QualityWarning
from holdtrue.models import Data

MOST = 20_000
"""Rows that the plain models learn from at most: enough to tell, and done in a second or two."""
SURE = 1.64
"""Standard errors of the mean difference, one-sided 95%: chance is no reason to warn."""
NEAR = 0.01
"""A difference in AUC that nobody need hear of."""
PLAIN = ("logistic regression", "histogram boosting")


@dataclass(frozen=True)
class Beside:
    """How well a model does on rows held out of its training, beside plain models of the same rows.

    Attributes
    ----------
    n_rows : int
        How many rows were held out.
    loss : dict
        Mean cross-entropy of the model (under ``"model"``), of logistic regression and of histogram boosting.
    auc : dict
        The same for the area under the ROC curve; empty with more than two classes.
    behind : tuple of str
        Which of the plain models does better, beyond chance: by cross-entropy and, with two classes, by more than
        0.01 of AUC.
    """

    n_rows: int
    loss: dict[str, float]
    auc: dict[str, float]
    behind: tuple[str, ...]

    def __str__(self) -> str:
        """In words."""
        measured, kind = (self.auc, "AUC") if self.auc else (self.loss, "cross-entropy")
        others = ", ".join(f"{name} {value:.3f}" for name, value in measured.items() if name != "model")
        return f"On {self.n_rows:,} rows held out: {kind} {measured['model']:.3f}; {others}."


def compare_with_plain(proba: np.ndarray, learned: Data, held: Data, seed: int) -> Beside | None:
    """Measure a model against logistic regression and boosting, and warn where it is behind.

    Parameters
    ----------
    proba : array of shape (n, classes)
        What the model says of the rows held out.
    learned, held : Data
        Encoded rows that it learned from, and those held out.

    Returns
    -------
    Beside or None
        None where a class is missing among the rows of either part: nothing can be compared.
    """
    # Here, not above: only training needs these, and they take time to load.
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    x, y, weight = (np.asarray(part) for part in (learned.x, learned.y, learned.weight))
    if len(y) > MOST:
        some = np.random.default_rng(seed).permutation(len(y))[:MOST]
        x, y, weight = x[some], y[some], weight[some]
    truth, counts = np.asarray(held.y), np.asarray(held.weight, np.float64)
    n_classes = proba.shape[1]
    if not counts.sum() or any(len(np.unique(part)) < n_classes for part in (y[weight > 0], truth[counts > 0])):
        return None
    answers = {"model": proba}
    plain = (LogisticRegression(max_iter=500), HistGradientBoostingClassifier(random_state=seed))
    for name, model in zip(PLAIN, plain, strict=True):
        # On one thread: on cores that others use, boosting's threads wait for one another longer than they work.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # nearly converged is near enough to compare with
            answers[name] = model.fit(x, y, sample_weight=weight).predict_proba(held.x)
    losses = {name: -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-12)) for name, p in answers.items()}
    auc: dict[str, float] = {}
    if n_classes == 2:
        auc = {name: float(roc_auc_score(truth, p[:, 1], sample_weight=counts)) for name, p in answers.items()}
    behind = tuple(
        name
        for name in PLAIN
        if _beyond_chance(losses["model"] - losses[name], counts) and (not auc or auc[name] - auc["model"] > NEAR)
    )
    found = Beside(len(truth), {k: float(np.average(v, weights=counts)) for k, v in losses.items()}, auc, behind)
    if behind:
        warnings.warn(
            f"RecourseClassifier: {' and '.join(behind)} of the same rows {'does' if len(behind) == 1 else 'do'} "
            f"better than this model. {found} Give another model or regime, or bring theirs: see holdtrue.adopt.",
            QualityWarning,
            stacklevel=4,
        )
    return found


def _beyond_chance(excess: np.ndarray, weight: np.ndarray) -> bool:
    """Whether a mean of paired differences is above 0 by more than chance."""
    mean = float(np.average(excess, weights=weight))
    error = float(np.sqrt(np.sum((weight * (excess - mean)) ** 2)) / weight.sum())
    return mean > SURE * error
