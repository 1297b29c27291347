"""Lemma 2 and Theorem 5: kernel models of plain and of attacked rows."""

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import DataError
from holdtrue.metrics.tradeoffs._sides import Bound, Condition
from holdtrue.models import NTKModel, ntk_matrix


def lemma_2(x: ArrayLike, x_robust: ArrayLike, y: ArrayLike, *, beta: float) -> Bound:
    """Distance of the dual weights of two NTK models, of the rows `x` and of attacked rows; see `dual_gap`."""
    return dual_gap(ntk_matrix(x, x), ntk_matrix(x_robust, x_robust), y, beta=beta)


def dual_gap(kernel: ArrayLike, kernel_robust: ArrayLike, y: ArrayLike, *, beta: ArrayLike) -> Bound:
    r"""Distance of the dual weights :math:`(K + \beta I)^{-1} y` of two kernels.

    Forms of the right side:

    * ``printed``: :math:`\|(K_N + \beta I)^{-1} - (K_R + \beta I)^{-1}\|_2 \|y\|` (eq. 42).
    * ``corrected``: the same, since it holds.
    * ``direct``: :math:`\|(K_R - K_N) a_N\| / \beta`, which needs neither inverse nor the robust weights.

    Parameters
    ----------
    kernel, kernel_robust : arrays of shape (..., n, n)
    y : array of shape (..., n)
    beta : float
    """
    first, second = np.asarray(kernel, np.float64), np.asarray(kernel_robust, np.float64)
    y, beta = np.asarray(y, np.float64), np.asarray(beta, np.float64)
    ridge = beta[..., None, None] * np.eye(first.shape[-1])
    inverse, inverse_robust = np.linalg.inv(first + ridge), np.linalg.inv(second + ridge)
    dual = np.einsum("...ij,...j->...i", inverse, y)
    dual_robust = np.einsum("...ij,...j->...i", inverse_robust, y)
    between = inverse - inverse_robust
    norm = np.abs(np.linalg.eigvalsh((between + np.swapaxes(between, -1, -2)) / 2)).max(axis=-1)
    moved = np.linalg.norm(np.einsum("...ij,...j->...i", second - first, dual), axis=-1)
    printed = norm * np.linalg.norm(y, axis=-1)
    forms = {"printed": printed, "corrected": printed, "direct": moved / beta}
    size = np.linalg.norm(dual, axis=-1) + np.linalg.norm(dual_robust, axis=-1)
    return Bound(np.linalg.norm(dual - dual_robust, axis=-1), forms, size)


def theorem_5(
    non_robust: NTKModel,
    robust: NTKModel,
    x_non_robust: ArrayLike,
    x_robust: ArrayLike,
    *,
    gap: float | None = None,
    favourable: int = 1,
) -> Condition:
    """Is recourse at least as valid under the non-robust of two NTK models? See `validity_condition`.

    Parameters
    ----------
    non_robust, robust : NTKModel
        Of two classes and as many rows.
    x_non_robust, x_robust : arrays of shape (people, columns)
        Each model's recourse.
    gap : float, optional
        Bound on the distance of the dual weights, as from `lemma_2`; by default the distance itself.
    favourable : int, default=1
        Index of the class people want.
    """
    if non_robust.weights.shape != robust.weights.shape or non_robust.n_classes != 2:
        raise DataError(
            "theorem_5: needs two models of two classes and as many rows; got weights of shapes "
            f"{non_robust.weights.shape} and {robust.weights.shape}."
        )
    sign = 1.0 if favourable == 1 else -1.0
    duals = [sign * (w[:, 1] - w[:, 0]) for w in (np.asarray(m.weights, np.float64) for m in (non_robust, robust))]
    return validity_condition(
        non_robust.kernel(x_non_robust), robust.kernel(x_robust), duals[0], duals[1], gap=gap
    )


def validity_condition(
    kernel: ArrayLike,
    kernel_robust: ArrayLike,
    dual: ArrayLike,
    dual_robust: ArrayLike,
    *,
    gap: ArrayLike | None = None,
) -> Condition:
    r"""Is recourse at least as valid under the non-robust of two kernel models?

    Forms of the condition, with :math:`k_N = K(x'_N, X)` and :math:`k_R = K(x'_R, X_R)`, dual weights `a`, and a
    bound :math:`\delta` on their distance:

    * ``printed``: :math:`|(k_R - k_N)^\top a_N| \le \|k_R\| \delta`. It does not imply the conclusion.
    * ``corrected``: :math:`(k_N - k_R)^\top a_N \ge \|k_R\| \delta`, which does.

    Parameters
    ----------
    kernel, kernel_robust : arrays of shape (..., n)
        Of each model's recourse with its training rows.
    dual, dual_robust : arrays of shape (..., n)
    gap : float or array, optional
        :math:`\delta`; by default the distance itself.
    """
    k_n, k_r, a_n, a_r = (np.asarray(a, np.float64) for a in (kernel, kernel_robust, dual, dual_robust))
    delta = np.linalg.norm(a_n - a_r, axis=-1) if gap is None else np.asarray(gap, np.float64)
    reach = delta * np.linalg.norm(k_r, axis=-1)
    rise = np.sum((k_n - k_r) * a_n, axis=-1)
    forms = {"printed": np.abs(rise) <= reach, "corrected": rise >= reach}
    return Condition(np.sum(k_n * a_n, axis=-1), np.sum(k_r * a_r, axis=-1), forms)
