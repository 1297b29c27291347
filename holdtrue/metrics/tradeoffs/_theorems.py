"""Theorems 1, 2 and 4: cost and validity of SCFE under two models."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import DataError
from holdtrue.metrics.tradeoffs._recourse import Scores
from holdtrue.metrics.tradeoffs._sides import Bound, Condition

Costs = Literal["minimiser", "definition"]


def theorem_1(
    non_robust: Scores,
    robust: Scores,
    x: ArrayLike,
    *,
    score: ArrayLike,
    cost_weight: ArrayLike,
    gap: ArrayLike | None = None,
    costs: Costs = "minimiser",
) -> Bound:
    r"""Difference of the costs of SCFE under two linear models.

    Forms of the right side, with :math:`m = s - f(x)` and a bound :math:`\Delta` on how far the weights are apart:

    * ``printed``: :math:`|\lambda (2\|w_N\| + \Delta) / (\|w_N\| (\|w_N\| - \Delta))|` (eq. 7).
    * ``corrected``: :math:`\max(|m_N|, |m_R|)` in the place of :math:`\lambda`; infinite from
      :math:`\Delta = \|w_N\|` on, where nothing keeps the robust weights from zero.
    * ``sharper``: the larger of :math:`|m| \min(1 / \|w\|, 1 / 2\sqrt\lambda)` of the two models.
    * ``interval``: from the non-robust model and :math:`\Delta` alone, finite, and 0 where :math:`\Delta` is.

    Parameters
    ----------
    non_robust, robust : Scores
        Of linear models at `x`.
    x : array of shape (..., columns)
        People.
    score, cost_weight : float or array
        :math:`s` and :math:`\lambda`.
    gap : float or array, optional
        :math:`\Delta`, over weights and bias together; by default the models' own distance.
    costs : {"minimiser", "definition"}
        ``minimiser``: of the true minimiser. ``definition``: of Definition 1, larger by a factor of
        :math:`\lambda`; the forms other than the printed one are then multiplied by it.
    """
    if costs not in ("minimiser", "definition"):
        raise DataError(f"theorem_1: `costs` is not known; got {costs!r}. Write 'minimiser' or 'definition'.")
    x, aim, weight = (np.asarray(part, np.float64) for part in (x, score, cost_weight))
    apart, reach = _apart(non_robust, robust, x)
    delta = apart if gap is None else np.asarray(gap, np.float64)
    factor = weight if costs == "definition" else 1.0
    m_n, m_r = np.abs(aim - non_robust.value), np.abs(aim - robust.value)
    n_n, n_r = non_robust.steepness, robust.steepness
    cost_n, cost_r = factor * m_n * _gain(n_n, weight), factor * m_r * _gain(n_r, weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (2 * n_n + delta) / (n_n * (n_n - delta))  # proof of Theorem 1, last line
        printed = np.abs(weight * spread)
        corrected = np.where(delta < n_n, factor * np.maximum(m_n, m_r) * spread, np.inf)
    # What the robust model may be, by Delta alone: its weights, its residual, its cost.
    low, high = np.maximum(n_n - delta, 0), n_n + delta
    most = (m_n + delta * reach) * _gain(np.clip(np.sqrt(weight), low, high), weight)
    least = np.maximum(m_n - delta * reach, 0) * np.minimum(_gain(low, weight), _gain(high, weight))
    interval = np.maximum(factor * most - cost_n, cost_n - factor * least)
    forms = {
        "printed": printed,
        "corrected": corrected,
        "sharper": factor * np.maximum(m_n * _ceiling(n_n, weight), m_r * _ceiling(n_r, weight)),
        "interval": interval,
    }
    return Bound(cost_n - cost_r, forms, cost_n + cost_r)


def theorem_2(
    non_robust: Scores,
    robust: Scores,
    *,
    score: ArrayLike,
    cost_weight: ArrayLike,
    changes: tuple[ArrayLike, ArrayLike] | None = None,
) -> Bound:
    r"""Difference of the costs of SCFE under two models that are taken as linear at the person.

    Forms of the right side, with the slopes :math:`g` at the person and :math:`m = s - f(x)`:

    * ``printed``: :math:`1 / \|g_N\| + 1 / \|g_R\|` (eq. 9), which leaves the residuals out.
    * ``corrected``: :math:`|m_N| / \|g_N\| + |m_R| / \|g_R\|`.
    * ``sharper``: the larger of :math:`|m| \min(1 / \|g\|, 1 / 2\sqrt\lambda)` of the two models.
    * ``any``: :math:`\max(|m_N|, |m_R|) / \sqrt\lambda`, for the true minimiser of any model, linear or not.

    Parameters
    ----------
    non_robust, robust : Scores
        At the person; see `scores_of`.
    score, cost_weight : float or array
        :math:`s` and :math:`\lambda`.
    changes : pair of arrays, optional
        Changes that were really found under each model, in place of the closed form. Then only ``any`` is sure,
        and that for changes whose loss is not above that of staying.
    """
    aim, weight = np.asarray(score, np.float64), np.asarray(cost_weight, np.float64)
    m_n, m_r = np.abs(aim - non_robust.value), np.abs(aim - robust.value)
    n_n, n_r = non_robust.steepness, robust.steepness
    if changes is None:
        cost_n, cost_r = m_n * _gain(n_n, weight), m_r * _gain(n_r, weight)
    else:
        cost_n, cost_r = (np.linalg.norm(np.asarray(change, np.float64), axis=-1) for change in changes)
    with np.errstate(divide="ignore", invalid="ignore"):
        # A residual of 0 costs nothing, whatever the slope.
        over_n, over_r = (np.where(m > 0, m / n, 0.0) for m, n in ((m_n, n_n), (m_r, n_r)))
        printed = 1 / n_n + 1 / n_r
    forms = {
        "printed": printed,
        "corrected": over_n + over_r,
        "sharper": np.maximum(m_n * _ceiling(n_n, weight), m_r * _ceiling(n_r, weight)),
        "any": np.maximum(m_n, m_r) / np.sqrt(weight),
    }
    return Bound(cost_n - cost_r, forms, cost_n + cost_r)


def theorem_4(
    non_robust: Scores,
    robust: Scores,
    x: ArrayLike,
    x_non_robust: ArrayLike,
    x_robust: ArrayLike,
    *,
    gap: ArrayLike | None = None,
) -> Condition:
    r"""Is recourse at least as valid under the non-robust of two linear models?

    Forms of the condition, with :math:`\Delta` as in `theorem_1` and recourse :math:`x'_N`, :math:`x'_R` of any
    method:

    * ``printed``: :math:`|f_N(x'_R) - f_N(x'_N)| \le \Delta \|x'_R\|`. It does not imply the conclusion.
    * ``corrected``: :math:`f_N(x'_N) - f_N(x'_R) \ge \Delta \|x'_R\|`, which does.

    With biases, :math:`x'_R` has a further entry of 1 in both. Parameters are those of `theorem_1`, and the
    recourse of each model.
    """
    x = np.asarray(x, np.float64)
    recourse_n, recourse_r = np.asarray(x_non_robust, np.float64), np.asarray(x_robust, np.float64)
    apart, _ = _apart(non_robust, robust, x)
    delta = apart if gap is None else np.asarray(gap, np.float64)
    own, other = non_robust.at(recourse_n - x), non_robust.at(recourse_r - x)
    reach = delta * _reach(recourse_r, _biased(non_robust, robust, x))
    forms = {"printed": np.abs(other - own) <= reach, "corrected": own - other >= reach}
    return Condition(own, robust.at(recourse_r - x), forms)


def _gain(length: np.ndarray, cost_weight: np.ndarray) -> np.ndarray:
    """Cost of SCFE per unit of residual."""
    return length / (cost_weight + length**2)


def _ceiling(length: np.ndarray, cost_weight: np.ndarray) -> np.ndarray:
    """Simplest number that `_gain` never exceeds: by the weights alone, or by the cost weight alone."""
    with np.errstate(divide="ignore"):
        return np.minimum(1 / length, 0.5 / np.sqrt(cost_weight))


def _biases(scores: Scores, x: np.ndarray) -> np.ndarray:
    bias = scores.value - np.sum(scores.slope * x, axis=-1)
    size = np.abs(scores.value) + np.sum(np.abs(scores.slope * x), axis=-1)
    return np.where(np.abs(bias) > 1e-12 * size, bias, 0.0)  # less is the rounding of the sum


def _biased(a: Scores, b: Scores, x: np.ndarray) -> np.ndarray:
    return (_biases(a, x) != 0) | (_biases(b, x) != 0)


def _reach(x: np.ndarray, biased: np.ndarray) -> np.ndarray:
    """How far a score can move per unit of weights and bias."""
    return np.sqrt(np.sum(x**2, axis=-1) + biased)


def _apart(a: Scores, b: Scores, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of two linear models, weights and bias together, and `_reach` of the people."""
    distance = np.hypot(np.linalg.norm(a.slope - b.slope, axis=-1), _biases(a, x) - _biases(b, x))
    return distance, _reach(x, _biased(a, b, x))
