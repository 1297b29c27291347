"""The binomial bound against sums written out, closed forms and simulation."""

from math import comb

import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.metrics import (
    allowed_failures,
    best_f1_threshold,
    clopper_pearson,
    guaranteed_threshold,
    miss_bound,
    people_needed,
)


def tail(k, n, p):
    """P(Bin(n, p) <= k), term by term."""
    return sum(comb(n, h) * p**h * (1 - p) ** (n - h) for h in range(k + 1))


@pytest.mark.parametrize(("n", "exact", "printed"), [(100, 1, 8), (735, 26, 46), (6012, 272, 328)])
def test_the_sizes_of_the_paper(n, exact, printed):
    assert allowed_failures(n) == exact
    assert allowed_failures(n, bound="printed") == printed


@pytest.mark.parametrize("eps", [0.01, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.25])
def test_failures_are_the_most_that_the_tail_allows(eps, alpha):
    for n in [1, 2, 5, 10, 29, 58, 59, 60, 93, 200, 500]:
        k = allowed_failures(n, eps, alpha)
        if k is None:
            assert tail(0, n, eps) > alpha
            continue
        assert tail(k, n, eps) <= alpha < tail(k + 1, n, eps)
        # The same statement in Clopper and Pearson's words.
        assert clopper_pearson(k, n, 1 - alpha, "upper")[1] <= eps + 1e-12
        assert clopper_pearson(k + 1, n, 1 - alpha, "upper")[1] > eps


@pytest.mark.parametrize(("eps", "alpha", "needed"), [(0.05, 0.05, 59), (0.1, 0.05, 29), (0.5, 0.25, 2)])
def test_people_needed(eps, alpha, needed):
    assert people_needed(eps, alpha) == needed
    assert allowed_failures(needed, eps, alpha) == 0
    assert allowed_failures(needed - 1, eps, alpha) is None


def test_too_few_people_are_told_how_many_are_needed():
    with pytest.raises(DataError, match=r"got 58\. At least 59"):
        guaranteed_threshold(np.ones(58))


def broken_share(draw, share_below, n, bound, draws=1000, eps=0.05):
    """Share of calibration draws whose threshold leaves more than `eps` of the population without recourse."""
    rng = np.random.default_rng(0)
    thresholds = [guaranteed_threshold(draw(rng, n), eps, 0.05, bound=bound).threshold for _ in range(draws)]
    return np.mean(share_below(np.asarray(thresholds)) > eps)


@pytest.mark.parametrize("n", [59, 100, 735, 2000])
def test_the_promise_is_broken_as_often_as_stated_and_not_much_less(n):
    # Uniform critical thresholds: the share of the population below t is t itself.
    broken = broken_share(lambda rng, n: rng.random(n), lambda t: t, n, "exact")
    k = allowed_failures(n)
    assert k is not None
    law = tail(k, n, 0.05)  # the bound is attained: this is the probability of a broken promise
    noise = 3 * np.sqrt(law * (1 - law) / 1000)
    assert abs(broken - law) <= noise
    # One more failure allowed would break it: what is left of 0.05 is the binomial's own granularity.
    assert law <= 0.05 < tail(k + 1, n, 0.05)


@pytest.mark.parametrize("n", [100, 735, 2000])
def test_the_printed_codes_bound_breaks_the_promise(n):
    assert broken_share(lambda rng, n: rng.random(n), lambda t: t, n, "printed") > 0.8


def test_with_ties_the_promise_holds_too():
    # Votes of a small forest: 21 values. P(value < j/20) is the share below.
    def draw(rng, n):
        return rng.integers(0, 21, n) / 20

    assert broken_share(draw, lambda t: np.rint(20 * t) / 21, 300, "exact") <= 0.05
    tied = guaranteed_threshold(np.repeat([0.2, 0.6], [1, 199]))
    assert (tied.threshold, tied.failures) == (0.6, 1)
    assert tied.failures <= tied.k


def test_a_person_without_recourse_at_any_threshold():
    values = np.r_[np.full(2, -np.inf), np.linspace(0.3, 0.9, 98)]
    assert guaranteed_threshold(values).threshold == -np.inf  # k is 1 of 100
    with pytest.raises(DataError, match="NaN"):
        guaranteed_threshold([0.5, np.nan])


def test_a_stated_threshold_has_a_bound_of_its_own():
    values = np.random.default_rng(0).random(400)
    at = guaranteed_threshold(values)
    assert miss_bound(values, at.threshold) <= 0.05
    above = np.sort(values)[at.k + 1]
    assert miss_bound(values, above) > 0.05


def test_best_f1_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(50):
        score = rng.integers(0, 30, 60) / 30
        label = rng.random(60) < score
        if not label.any():
            continue
        highest = rng.random()
        t, f1 = best_f1_threshold(score, label, highest)
        assert t <= highest
        grid = np.r_[np.linspace(0, highest, 500), highest]
        values = [2 * (label & (score >= g)).sum() / ((score >= g).sum() + label.sum()) for g in grid]
        assert f1 == pytest.approx(max(values))
        assert f1 == pytest.approx(2 * (label & (score >= t)).sum() / ((score >= t).sum() + label.sum()))


@pytest.mark.parametrize("bad", [0, 1, -0.1, "0.05"])
def test_levels_are_probabilities(bad):
    with pytest.raises(DataError, match="between 0 and 1"):
        allowed_failures(100, bad)
    with pytest.raises(DataError, match="between 0 and 1"):
        people_needed(0.05, bad)
    with pytest.raises(DataError, match="not known"):
        allowed_failures(100, bound="other")  # type: ignore[arg-type]
