"""Lemma 1: how far apart plain and adversarial gradient descent end."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from holdtrue.errors import DataError
from holdtrue.metrics._attacks import ATTACK_NORMS, AttackNorm
from holdtrue.metrics.tradeoffs._sides import Bound


def descend(
    x: ArrayLike,
    y: ArrayLike,
    *,
    radius: ArrayLike = 0.0,
    step_size: ArrayLike,
    n_epochs: int,
    start: ArrayLike | None = None,
    norm: AttackNorm = "linf",
) -> np.ndarray:
    r"""Weights after full-batch gradient descent on the logistic loss of the worst point about every row (eq. 16).

    The descent that Lemma 1 speaks of: fixed steps, no bias, ``mean log(1 + exp(-y w'x + radius |w|))`` with the
    norm dual to the ball's. A radius of 0 is plain logistic regression.

    Parameters
    ----------
    x : array of shape (..., rows, columns)
    y : array of shape (..., rows)
        Labels of -1 and 1.
    radius : float, default=0.0
        Of the ball.
    step_size, n_epochs : float, int
        :math:`\eta` and `N`.
    start : array of shape (..., columns), optional
        First weights; 0 by default.
    norm : {"linf", "l2"}
        Shape of the ball.
    """
    x, y = _labelled("descend", x, y, norm)
    step, radius = np.asarray(step_size, np.float64)[..., None], np.asarray(radius, np.float64)[..., None]
    w = np.zeros((*x.shape[:-2], x.shape[-1])) if start is None else np.array(start, np.float64)
    for _ in range(n_epochs):
        size, direction = _dual(w, norm)
        wrong = expit(radius * size - y * np.einsum("...nd,...d->...n", x, w))
        pull = np.einsum("...n,...nd->...d", wrong * y, x) / x.shape[-2]
        w = w + step * (pull - radius * direction * wrong.mean(axis=-1, keepdims=True))
    return w


def lemma_1(
    non_robust: ArrayLike,
    robust: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    *,
    radius: ArrayLike,
    step_size: ArrayLike,
    n_epochs: int,
    start: ArrayLike | None = None,
    norm: AttackNorm = "linf",
    people: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> Bound:
    r"""Distance of the weights that `descend` reaches without and with an adversary.

    Forms of :math:`\Delta`, with `c` the root of the number of columns (1 for an l2 ball) and `R` the mean length
    of the training rows:

    * ``printed``: :math:`N\eta(y\|x\| + \epsilon c)` of each of `people`; negative for many with ``y = -1``.
    * ``corrected``: :math:`N\eta(R + \epsilon c)`: the proof's, with :math:`|y|` and the rows of the descent.
    * ``stable``: smaller, and 0 where :math:`\epsilon` is. Plain descent brings weights no further apart while
      :math:`\eta` is at most 2 over the loss's largest curvature; infinite beyond.

    Parameters
    ----------
    non_robust, robust : arrays of shape (..., columns)
        Weights of the two descents.
    x, y, radius, step_size, n_epochs, start, norm
        As given to `descend`.
    people, labels : arrays, optional
        For the printed form, which has a different :math:`\Delta` for every person; the training rows by default.
    """
    x, y = _labelled("lemma_1", x, y, norm)
    w_n, w_r = np.asarray(non_robust, np.float64), np.asarray(robust, np.float64)
    step, radius = np.asarray(step_size, np.float64), np.asarray(radius, np.float64)
    people = x if people is None else np.asarray(people, np.float64)
    labels = y if labels is None else np.asarray(labels, np.float64)
    shift = radius * (np.sqrt(x.shape[-1]) if norm == "linf" else 1.0)
    length = np.linalg.norm(x, axis=-1).mean(axis=-1)
    curvature = np.linalg.norm(np.einsum("...ni,...nj->...ij", x, x) / x.shape[-2], 2, axis=(-2, -1)) / 4
    first = 0.0 if start is None else np.linalg.norm(np.asarray(start, np.float64), axis=-1)
    stable = 0.0
    for t in range(n_epochs):
        # |w| <= |w_0| + t eta (R + eps c), and the sigmoid's slope is at most 1/4.
        turned = np.minimum(1.0, shift * (first + t * step * (length + shift)) / 4)
        stable = stable + step * (shift + length * turned)
    forms = {
        "printed": n_epochs * step[..., None] * (labels * np.linalg.norm(people, axis=-1) + shift[..., None]),
        "corrected": (n_epochs * step * (length + shift))[..., None],
        "stable": np.where(step * curvature <= 2, stable, np.inf)[..., None],
    }
    apart = np.linalg.norm(w_n - w_r, axis=-1)[..., None]
    size = (np.linalg.norm(w_n, axis=-1) + np.linalg.norm(w_r, axis=-1))[..., None]
    return Bound(np.broadcast_to(apart, forms["printed"].shape), forms, size)


def _dual(w: np.ndarray, norm: AttackNorm) -> tuple[np.ndarray, np.ndarray]:
    """Norm dual to the ball's, and its slope."""
    if norm == "linf":
        return np.sum(np.abs(w), axis=-1, keepdims=True), np.sign(w)
    size = np.linalg.norm(w, axis=-1, keepdims=True)
    return size, np.divide(w, size, out=np.zeros_like(w), where=size > 0)


def _labelled(where: str, x: ArrayLike, y: ArrayLike, norm: AttackNorm) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if norm not in ATTACK_NORMS:
        raise DataError(f"{where}: `norm` is not known; got {norm!r}. Known are {list(ATTACK_NORMS)!r}.")
    if not (np.abs(y) == 1).all():
        raise DataError(f"{where}: labels must be -1 and 1; got {np.unique(y)[:3].tolist()!r}.")
    return x, y
