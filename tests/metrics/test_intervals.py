"""Intervals against published values, against scipy, and by how often they hold what is true."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score

from holdtrue import metrics
from holdtrue.errors import DataError


@pytest.mark.parametrize(
    ("counts", "ends"),
    [  # Newcombe (1998), Table II, method 10
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 10), (-0.2775, 0.2775)),
        ((10, 10, 0, 10), (0.6075, 1.0)),
    ],
)
def test_differences_of_shares_are_those_that_were_published(counts, ends):
    found = metrics.difference_of_shares(*counts)
    assert found.value == pytest.approx(counts[0] / counts[1] - counts[2] / counts[3])
    np.testing.assert_allclose((found.lower, found.upper), ends, atol=6e-5)


def test_means_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.gamma(2, 1, 40), rng.normal(1, 2, 15)
    found = metrics.mean_interval(x, 0.9)
    truth = stats.t.interval(0.9, len(x) - 1, x.mean(), stats.sem(x))
    np.testing.assert_allclose((found.lower, found.upper), truth)
    off = metrics.difference_of_means(x, y, 0.9)
    truth = stats.ttest_ind(x, y, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose((off.lower, off.upper), truth)
    assert off.value == pytest.approx(x.mean() - y.mean())


def test_the_area_is_sklearns_and_its_error_delongs():
    rng = np.random.default_rng(1)
    good = rng.random(80) < 0.4
    score = np.round(rng.normal(good * 0.8, 1.0), 1)  # with ties
    found = metrics.auc_interval(score, good)
    assert found.value == pytest.approx(roc_auc_score(good, score))
    wins = (score[good][:, None] > score[~good]) + 0.5 * (score[good][:, None] == score[~good])
    error = np.sqrt(wins.mean(axis=1).var(ddof=1) / good.sum() + wins.mean(axis=0).var(ddof=1) / (~good).sum())
    assert found.upper - found.value == pytest.approx(1.959964 * error, rel=1e-5)


def test_survival_holds_the_truth_as_often_as_it_says():
    """Models and people both drawn, from a world where either moves the chance of a yes."""
    rng = np.random.default_rng(2)
    far = rng.normal(1.5, 1.0, (200_000,)) + rng.normal(0, 0.7, 200_000)
    truth = (far + rng.normal(0, 1, 200_000) > 0).mean()
    inside = []
    for _ in range(300):
        people, models = rng.normal(1.5, 1.0, 60), rng.normal(0, 0.7, 20)
        accepts = models[:, None] + people[None] + rng.normal(0, 1, (20, 60)) > 0
        share, lower, upper = metrics.survival_interval(accepts)
        assert lower <= share <= upper
        assert lower <= metrics.mean_survival(accepts).lower + 1e-12  # half of the doubt is on the other side
        inside.append(lower <= truth <= upper)
    assert 0.9 <= np.mean(inside) <= 0.99


def test_survival_at_its_ends():
    assert metrics.survival_interval(np.ones((3, 8))) == (1.0, pytest.approx(0.025 ** (1 / 8)), 1.0)
    assert metrics.survival_interval(np.zeros((3, 8))) == (0.0, 0.0, pytest.approx(1 - 0.025 ** (1 / 8)))
    assert metrics.survival_interval([[True, False]]) == (0.5, 0.0, 1.0)
    assert metrics.survival_interval(np.zeros((3, 0)))[1:] == (0.0, 1.0)


def test_a_difference_of_survival():
    rng = np.random.default_rng(3)
    a, b = rng.random((12, 30)) < 0.9, rng.random((12, 40)) < 0.6
    found = metrics.difference_of_survival(a, b)
    assert found.value == pytest.approx(a.mean() - b.mean())
    assert 0 < found.lower < found.value < found.upper < 1
    back = metrics.difference_of_survival(b, a)
    assert (back.lower, back.upper) == (pytest.approx(-found.upper), pytest.approx(-found.lower))
    with pytest.raises(DataError, match="the same models"):
        metrics.difference_of_survival(a[:3], b)


def test_nobody_has_no_interval():
    for found in (
        metrics.mean_interval([]), metrics.difference_of_means([], [1.0]), metrics.auc_interval([0.5], [True]),
        metrics.difference_of_shares(0, 0, 1, 2), metrics.difference_of_survival(np.ones((2, 0)), np.ones((2, 3))),
    ):  # fmt: skip
        assert np.isnan(found).all()
    assert np.isnan(metrics.mean_interval([2.0]).lower)
    with pytest.raises(DataError, match="`confidence` must lie"):
        metrics.mean_interval([1.0], 1.0)
    with pytest.raises(DataError, match="0 <= k <= n"):
        metrics.difference_of_shares(3, 2, 0, 1)
