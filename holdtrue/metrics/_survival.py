"""Whether recourse still holds when the model is trained again.

Given the training rows and a person's recourse, retrained models are independent draws: of the answers about one
person, the number that say yes is binomial, and the Clopper-Pearson bound on that person's survival is exact. The
people are not drawn anew for every model: all of them meet the same models, and a model that moves its boundary
fails many at once. People × models are therefore never pooled as if they were that many independent trials; the
overall rate comes with its deviation over models.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta, t

from holdtrue.errors import DataError

Side = Literal["lower", "upper", "both"]


def survival(accepts: ArrayLike) -> np.ndarray:
    """Fraction of models that still say yes, for each person.

    Parameters
    ----------
    accepts : array of bool, shape (models, people)
        Whether each model takes the wanted decision about each recourse, as `Retrained.accepts` gives it.

    Examples
    --------
    >>> survival([[True, False], [True, True]])
    array([1. , 0.5])
    """
    return _answers("survival", accepts).mean(axis=0)


class Invalidation(NamedTuple):
    """Invalidation rate: its mean, and over models its standard deviation and its largest value."""

    mean: float
    std: float
    worst: float
    per_model: np.ndarray


def invalidation_rate(accepts: ArrayLike) -> Invalidation:
    r"""How often a model overturns a recourse that the first model accepted (Black et al., 2022, Definition 2).

    :math:`IV(x_c, \Theta) = E_{\theta' \sim \Theta} 1[F(x_c; \theta') \ne F(x_c; \theta)]`, averaged over people.

    Parameters
    ----------
    accepts : array of bool, shape (models, people)
        Columns are recourse valid under the first model: the definition compares with its decision.

    Returns
    -------
    Invalidation
        `mean`; `std` over the rates of single models (n - 1 in the denominator; NaN with one model); the `worst`
        model's rate; the rate `per_model`. NaN without people.

    Notes
    -----
    The deviation is over models because they are what is drawn (see the module). It says how much one retraining
    differs from another, and is no standard error: divide by the square root of the number of models for that.

    References
    ----------
    [1] Black, Wang, Fredrikson (2022), Consistent Counterfactuals for Deep Models, Definition 2.

    Examples
    --------
    >>> rate = invalidation_rate([[True, True], [True, False], [True, True], [True, False]])
    >>> rate.mean, rate.worst
    (0.25, 0.5)
    """
    answers = _answers("invalidation_rate", accepts)
    models, people = answers.shape
    if people == 0:
        nan = float("nan")
        return Invalidation(nan, nan, nan, np.full(models, nan))
    per_model = 1.0 - answers.mean(axis=1)
    std = float(per_model.std(ddof=1)) if models > 1 else float("nan")
    return Invalidation(float(per_model.mean()), std, float(per_model.max()), per_model)


def clopper_pearson(
    k: ArrayLike, n: ArrayLike, confidence: float = 0.95, side: Side = "lower"
) -> tuple[np.ndarray, np.ndarray]:
    """Exact confidence interval for the probability behind `k` successes in `n` independent trials.

    Parameters
    ----------
    k, n : array of int
        Successes and trials; broadcast against each other.
    confidence : float, default=0.95
        The interval covers the true probability at least this often, whatever it is.
    side : {"lower", "upper", "both"}
        ``lower`` puts all doubt below: the interval is [bound, 1]. ``upper``: [0, bound]. ``both``: half on each.

    Returns
    -------
    lower, upper : arrays

    Notes
    -----
    As a bound on survival it speaks of one person. Each of many bounds errs up to 1 - `confidence` of the time, so
    the number of people above a level is a description, not a joint guarantee. It needs models drawn
    independently: ``vary="seed"`` and ``"bootstrap"`` are. ``"leave_one_out"`` draws rows without replacement,
    which makes the bound cautious. Tables chosen for ``"shift"`` are not drawn, and the bound then says nothing
    beyond the fraction.

    Examples
    --------
    >>> lower, upper = clopper_pearson([100, 95], 100)
    >>> lower.round(3), upper
    (array([0.97 , 0.898]), array([1., 1.]))
    """
    if side not in ("lower", "upper", "both"):
        raise DataError(f"clopper_pearson: `side` is not known; got {side!r}. Known are 'lower', 'upper', 'both'.")
    if not 0 < confidence < 1:
        raise DataError(f"clopper_pearson: `confidence` must lie between 0 and 1; got {confidence!r}.")
    k, n = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(n, np.float64))
    if not ((k == np.rint(k)) & (n == np.rint(n)) & (k >= 0) & (k <= n)).all():
        raise DataError("clopper_pearson: `k` and `n` must be whole numbers with 0 <= k <= n.")
    doubt = (1.0 - confidence) / (2.0 if side == "both" else 1.0)
    lower, upper = np.zeros(k.shape), np.ones(k.shape)
    # The beta quantiles have no meaning at k = 0 and k = n, where the bounds are 0 and 1.
    if side != "upper":
        lower = np.where(k > 0, beta.ppf(doubt, np.maximum(k, 1), n - k + 1), 0.0)
    if side != "lower":
        upper = np.where(k < n, beta.ppf(1.0 - doubt, k + 1, np.maximum(n - k, 1)), 1.0)
    return lower, upper


class MeanSurvival(NamedTuple):
    """Share of all answers that are a yes, and its lower confidence bound."""

    share: float
    lower: float


def mean_survival(accepts: ArrayLike, confidence: float = 0.95) -> MeanSurvival:
    """How sure people like these are that a model like these accepts them, with a bound over both.

    Parameters
    ----------
    accepts : array of bool, shape (models, people)
        Answers of models that took no part in finding the recourse.
    confidence : float, default=0.95
        Of the one-sided lower bound.

    Notes
    -----
    Models and people are both drawn, and crossed: the variance of the share is that of the models' means, that of
    the people's means, less what both count twice (two-way analysis of variance). The bound is Clopper and
    Pearson's for the number of independent answers that would have this variance, lowered for the degrees of
    freedom of the smaller side (Korn and Graubard). Where every answer is a yes no variance can be seen; the bound
    is then that of as many independent yeses as there are models or people, whichever are more. In simulations of
    20 models and 150 people, of which either may differ widely, a bound of 0.95 lay below the truth in 0.92 to
    0.98 of draws; it is lowest where a few models refuse many people.

    References
    ----------
    [1] Korn, Graubard (1998), Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data.

    Examples
    --------
    >>> mean_survival([[True, True, True, False], [True] * 4, [True, True, False, True], [True] * 4]).share
    0.875
    """
    share, trials, most = _two_way(accepts, "mean_survival", confidence)
    at_most = float((1.0 - confidence) ** (1.0 / max(most, 1)))
    if most == 0 or trials is None:
        return MeanSurvival(share, at_most if most and share == 1 else 0.0)
    bound = float(beta.ppf(1 - confidence, share * trials, (1 - share) * trials + 1))
    return MeanSurvival(share, min(bound, at_most))


def survival_interval(accepts: ArrayLike, confidence: float = 0.95) -> tuple[float, float, float]:
    """The same share as `mean_survival`'s, and an interval about it with half of the doubt on either side.

    Parameters
    ----------
    accepts : array of bool, shape (models, people)
    confidence : float, default=0.95

    Returns
    -------
    share, lower, upper : float
        With one model or one person nothing is known of how others differ, and the ends are 0 and 1.

    Examples
    --------
    >>> share, lower, upper = survival_interval([[True, True, False, True], [True] * 4, [True, True, False, True]])
    >>> lower < share < upper
    True
    """
    share, trials, most = _two_way(accepts, "survival_interval", confidence)
    doubt = (1.0 - confidence) / 2
    edge = float(doubt ** (1.0 / max(most, 1)))
    if most == 0 or trials is None:
        same = most > 0 and share in (0.0, 1.0)
        return share, edge if same and share == 1 else 0.0, 1 - edge if same and share == 0 else 1.0
    lower = float(beta.ppf(doubt, share * trials, (1 - share) * trials + 1))
    upper = float(beta.ppf(1 - doubt, share * trials + 1, (1 - share) * trials))
    return share, min(lower, edge), max(upper, 1 - edge)


def _two_way(accepts: ArrayLike, where: str, confidence: float) -> tuple[float, float | None, int]:
    """Share of yeses, how many independent answers vary as it does (None: no variance seen), the longer side."""
    answers = _answers(where, accepts).astype(np.float64)
    if not 0 < confidence < 1:
        raise DataError(f"{where}: `confidence` must lie between 0 and 1; got {confidence!r}.")
    m, n = answers.shape
    if n == 0:
        return float("nan"), None, 0
    share = float(answers.mean())
    if min(m, n) < 2:
        return share, None, max(m, n)
    by_model, by_person = answers.mean(axis=1), answers.mean(axis=0)
    left = answers - by_model[:, None] - by_person[None, :] + share
    twice = (left**2).sum() / ((m - 1) * (n - 1)) / (m * n)
    parts = by_model.var(ddof=1) / m, by_person.var(ddof=1) / n
    variance = max(sum(parts) - twice, *parts)
    if share in (0.0, 1.0) or variance == 0:
        return share, None, max(m, n)
    fewer = (t.ppf((1 + confidence) / 2, m * n - 1) / t.ppf((1 + confidence) / 2, min(m, n) - 1)) ** 2
    return share, float(fewer * min(share * (1 - share) / variance, m * n)), max(m, n)


def models_needed(level: float, confidence: float = 0.95) -> int:
    """Fewest models for which a recourse that every one of them accepts has a lower bound above `level`.

    Examples
    --------
    >>> models_needed(0.9)
    29
    """
    if not (0 < level < 1 and 0 < confidence < 1):
        raise DataError(
            f"models_needed: `level` and `confidence` must lie between 0 and 1; got {level!r} and {confidence!r}."
        )
    # With k = n the lower bound is (1 - confidence) ** (1 / n).
    return int(np.floor(np.log(1.0 - confidence) / np.log(level))) + 1


def _answers(where: str, accepts: ArrayLike) -> np.ndarray:
    answers = np.asarray(accepts, bool)
    if answers.ndim != 2 or len(answers) == 0:
        raise DataError(
            f"{where}: `accepts` must have shape (models, people) with a model at least; got {answers.shape}."
        )
    return answers
