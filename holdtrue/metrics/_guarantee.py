r"""How high a threshold may be so that nearly everybody still has recourse, with a stated confidence.

Each person has a *critical threshold*: the largest at which they have recourse, which is the highest probability
that they can reach (their own, without any action, included). A threshold above it leaves them without. Of
:math:`n` people drawn like those whom the promise is for, the number whose critical threshold lies below the
population's :math:`\epsilon`-quantile is binomial, whatever the model, the search and the population. So the order
statistic with `allowed_failures` people below it is, with confidence :math:`1 - \alpha`, a threshold at which at
least :math:`1 - \epsilon` of the population has recourse. It is so for every lower threshold too, so that a lower
one may be chosen afterwards, from the same people, by any measure.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from holdtrue._types import Label
from holdtrue.errors import DataError
from holdtrue.metrics._survival import clopper_pearson

Bound = Literal["exact", "printed"]
BOUNDS = ("exact", "printed")
Correction = Literal["bonferroni", "sidak", "none"]
CORRECTIONS = ("bonferroni", "sidak", "none")


class Guarantee(NamedTuple):
    """A threshold at which all but `miscoverage` of people have recourse, but for `failure` of calibration draws.

    Attributes
    ----------
    threshold : float
        The largest; every lower one keeps the guarantee.
    n, k : int
        People it was calibrated on, and how many of them may be without recourse.
    failures : int
        How many of them are without recourse at `threshold`: `k`, or fewer where several share one value.
    miscoverage, failure : float
    """

    threshold: float
    n: int
    k: int
    failures: int
    miscoverage: float
    failure: float


def people_needed(miscoverage: float = 0.05, failure: float = 0.05) -> int:
    r"""Fewest people from whom a guarantee can be made, none of them without recourse.

    The least :math:`n` with :math:`(1 - \epsilon)^n \le \alpha`.

    Examples
    --------
    >>> people_needed(0.05, 0.05)
    59
    """
    _check_levels("people_needed", miscoverage, failure)
    n = max(1, int(np.ceil(np.log(failure) / np.log1p(-miscoverage))) - 1)
    while binom.cdf(0, n, miscoverage) > failure:  # logarithms may be off by one
        n += 1
    return n


def allowed_failures(
    n: int, miscoverage: float = 0.05, failure: float = 0.05, *, bound: Bound = "exact"
) -> int | None:
    r"""Most people, of `n`, who may be without recourse; None where `n` is too small for any guarantee.

    The largest :math:`k` with :math:`P(\mathrm{Bin}(n, \epsilon) \le k) \le \alpha`: if more than
    :math:`\epsilon` of the population were without recourse, so few in the sample would be a coincidence of
    probability :math:`\alpha` at most. The same :math:`k` is the largest whose Clopper-Pearson upper bound on the
    share without recourse, at confidence :math:`1 - \alpha`, does not exceed :math:`\epsilon`.

    Parameters
    ----------
    n : int
        People of the calibration set.
    miscoverage : float, default=0.05
        Share of the population that may be without recourse (the paper's epsilon).
    failure : float, default=0.05
        Share of calibration draws for which the promise may be broken (the paper's alpha).
    bound : {"exact", "printed"}
        ``printed`` is what the paper's public code computes: :math:`1 - \alpha` in the place of :math:`\alpha`.
        It gives no guarantee (the promise is then broken in about :math:`1 - \alpha` of the draws) and is here
        for comparison alone.

    References
    ----------
    [1] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, Section 3.3.

    Examples
    --------
    >>> allowed_failures(735), allowed_failures(735, bound="printed")
    (26, 46)
    """
    _check_levels("allowed_failures", miscoverage, failure)
    if not isinstance(n, (int, np.integer)) or n < 0:
        raise DataError(f"allowed_failures: `n` must be a whole number, not negative; got {n!r}.")
    if bound not in BOUNDS:
        raise DataError(f"allowed_failures: `bound` is not known; got {bound!r}. Known are 'exact' and 'printed'.")
    level = failure if bound == "exact" else 1.0 - failure
    # The quantile is the least k with cdf >= level; the one sought is at most that, up to rounding of the cdf.
    k = min(int(binom.ppf(level, n, miscoverage)) + 1, int(n))
    while k >= 0 and binom.cdf(k, n, miscoverage) > level:
        k -= 1
    return None if k < 0 else k


def guaranteed_threshold(
    critical: ArrayLike, miscoverage: float = 0.05, failure: float = 0.05, *, bound: Bound = "exact"
) -> Guarantee:
    r"""Largest threshold at which :math:`1 - \epsilon` of people have recourse, confidence :math:`1 - \alpha`.

    Parameters
    ----------
    critical : array of float, shape (people,)
        Each person's critical threshold: the largest at which they have recourse, that is the highest
        probability they can reach or already have. ``-inf`` for somebody who would be without at any threshold.
        The people must be independent draws of the population the promise is for, without a part in training.
    miscoverage, failure, bound
        See `allowed_failures`.

    Notes
    -----
    A person has recourse at a threshold that does not exceed their critical one, as a decision is favourable
    where the probability *reaches* the threshold. Where many share a value the bound holds too, and is cautious.

    Examples
    --------
    >>> guaranteed_threshold([i / 100 for i in range(100)]).threshold
    0.01
    """
    values = _values("guaranteed_threshold", critical)
    k = allowed_failures(len(values), miscoverage, failure, bound=bound)
    if k is None:
        needed = people_needed(miscoverage, failure)
        raise DataError(
            f"guaranteed_threshold: too few people for `miscoverage` {miscoverage:g} and `failure` {failure:g}; "
            f"got {len(values)}. At least {needed} are needed, more if some of them are without recourse."
        )
    threshold = float(np.partition(values, k)[k])
    failures = int((values < threshold).sum())
    return Guarantee(threshold, len(values), k, failures, float(miscoverage), float(failure))


def group_thresholds(
    critical: ArrayLike,
    groups: ArrayLike,
    miscoverage: float = 0.05,
    failure: float = 0.05,
    *,
    correction: Correction = "bonferroni",
) -> dict[Label, Guarantee]:
    r"""Guarantee of every group, so that with confidence :math:`1 - \alpha` all of them hold together.

    Parameters
    ----------
    critical : array of float, shape (people,)
    groups : array, shape (people,)
        The group of each person.
    correction : {"bonferroni", "sidak", "none"}
        For the number of groups :math:`G`: each is given :math:`\alpha / G`, or :math:`1 - (1 - \alpha)^{1/G}`,
        which is enough since groups share no people. With ``none`` each has the whole :math:`\alpha`.

    Notes
    -----
    With corrections every group's own threshold may be used for that group. If all get one threshold, the least of
    them, ``none`` is enough: the promise to some group is broken only if the least threshold exceeds what the most
    limited group bears, and then that group's own threshold does, which happens with probability :math:`\alpha`
    at most, however many groups there are.

    Examples
    --------
    >>> made = group_thresholds([0.2] * 100 + [0.6] * 100, ["a"] * 100 + ["b"] * 100)
    >>> {name: own.threshold for name, own in made.items()}, made["a"].failure
    ({'a': 0.2, 'b': 0.6}, 0.025)
    """
    values, labels = _values("group_thresholds", critical), np.asarray(groups)
    if labels.shape != values.shape:
        raise DataError(
            f"group_thresholds: one group per person is needed; got {labels.shape} for {values.shape}."
        )
    names, which = np.unique(labels, return_inverse=True)
    own = group_failure(len(names), failure, correction)
    needed, sizes = people_needed(miscoverage, own), np.bincount(which)
    small = {str(name): int(size) for name, size in zip(names, sizes, strict=True) if size < needed}
    if small:
        raise DataError(
            f"group_thresholds: groups are too small for a guarantee of their own; got {small!r}. Each needs at "
            f"least {needed} people (`miscoverage` {miscoverage:g}, `failure` {own:g} after the correction). Join "
            "groups, or calibrate on more people."
        )
    return {
        name: guaranteed_threshold(values[which == i], miscoverage, own) for i, name in enumerate(names.tolist())
    }


def group_failure(n_groups: int, failure: float = 0.05, correction: Correction = "bonferroni") -> float:
    """What is left of `failure` for each of several groups.

    Examples
    --------
    >>> group_failure(5)
    0.01
    """
    if correction not in CORRECTIONS:
        raise DataError(
            f"group_failure: `correction` is not known; got {correction!r}. Known are {CORRECTIONS!r}."
        )
    if correction == "sidak":
        return float(-np.expm1(np.log1p(-failure) / n_groups))
    return failure / n_groups if correction == "bonferroni" else failure


def miss_bound(critical: ArrayLike, threshold: float, failure: float = 0.05) -> float:
    """Upper confidence bound on the share without recourse at a threshold that was fixed beforehand.

    Examples
    --------
    >>> round(miss_bound([0.9] * 59, 0.5), 4)
    0.0495
    """
    values = _values("miss_bound", critical)
    _, upper = clopper_pearson((values < threshold).sum(), len(values), 1.0 - failure, "upper")
    return float(upper)


def best_f1_threshold(score: ArrayLike, accepted: ArrayLike, highest: float = 1.0) -> tuple[float, float]:
    """Threshold with the best F1 among those up to `highest`, and that F1; of equal ones the largest.

    Every threshold below a guaranteed one keeps the guarantee, so choosing among them costs no confidence, even on
    the people who were calibrated on.

    Parameters
    ----------
    score : array of float, shape (people,)
        Probability of the favourable class, as people are.
    accepted : array of bool, shape (people,)
        Whose label is the favourable class.
    highest : float, default=1.0
        The guaranteed threshold.

    Examples
    --------
    >>> best_f1_threshold([0.1, 0.4, 0.6, 0.9], [False, True, False, True], 0.5)
    (0.4, 0.8)
    """
    values, labels = _values("best_f1_threshold", score), np.asarray(accepted, bool)
    if labels.shape != values.shape:
        raise DataError(
            f"best_f1_threshold: `score` and `accepted` must be of one length; got {values.shape} and "
            f"{labels.shape}."
        )
    if not labels.any():
        raise DataError("best_f1_threshold: nobody in `accepted` has the favourable label; F1 has no meaning.")
    order = np.argsort(values)
    ranked, positives = values[order], np.concatenate([np.cumsum(labels[order][::-1])[::-1], [0]])
    # Between two scores nothing changes; `highest` itself stands for what lies between it and the score below.
    candidates = np.append(np.unique(ranked[ranked < highest]), highest)
    at = np.searchsorted(ranked, candidates, side="left")
    f1 = 2.0 * positives[at] / (len(ranked) - at + labels.sum())
    best = len(f1) - 1 - int(np.argmax(f1[::-1]))
    return float(candidates[best]), float(f1[best])


def _check_levels(where: str, miscoverage: float, failure: float) -> None:
    for name, value in (("miscoverage", miscoverage), ("failure", failure)):
        if not isinstance(value, (int, float, np.number)) or not 0 < value < 1:
            raise DataError(f"{where}: `{name}` must lie between 0 and 1; got {value!r}.")


def _values(where: str, values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) == 0 or np.isnan(array).any():
        raise DataError(
            f"{where}: one number per person is needed, none of them NaN; got shape {array.shape} with "
            f"{int(np.isnan(array).sum())} NaN. Write -inf for a person without recourse at any threshold."
        )
    return array
