"""Survival and its bound against scipy, closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

from holdtrue import metrics
from holdtrue.errors import DataError

ACCEPTS = np.array([[1, 1, 0, 1], [1, 0, 0, 1], [1, 1, 0, 1], [1, 1, 0, 0], [1, 0, 0, 0]], bool)


def test_survival_is_the_fraction_of_models_per_person() -> None:
    assert metrics.survival(ACCEPTS).tolist() == pytest.approx([1.0, 0.6, 0.0, 0.6])


def test_invalidation_rate_by_hand() -> None:
    rate = metrics.invalidation_rate(ACCEPTS)
    per_model = [1 / 4, 2 / 4, 1 / 4, 2 / 4, 3 / 4]
    assert rate.per_model.tolist() == per_model
    assert rate.mean == pytest.approx(0.45)
    assert rate.std == pytest.approx(np.sqrt(np.sum((np.array(per_model) - 0.45) ** 2) / 4))
    assert rate.worst == 0.75
    assert rate.mean == pytest.approx(1 - metrics.survival(ACCEPTS).mean())


def test_invalidation_of_one_model_and_of_nobody() -> None:
    rate = metrics.invalidation_rate(ACCEPTS[:1])
    assert rate.mean == rate.worst == 0.25
    assert math.isnan(rate.std)
    assert math.isnan(metrics.invalidation_rate(ACCEPTS[:, :0]).mean)
    assert metrics.survival(ACCEPTS[:, :0]).shape == (0,)


def test_no_models_is_an_error() -> None:
    for measure in (metrics.survival, metrics.invalidation_rate):
        with pytest.raises(DataError, match="a model at least"):
            measure(ACCEPTS[:0])
        with pytest.raises(DataError, match="models, people"):
            measure(ACCEPTS[0])


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_clopper_pearson_equals_scipy(confidence: float) -> None:
    for n in (1, 7, 100):
        k = np.arange(n + 1)
        # scipy's alternatives name the hypothesis that is rejected: "greater" gives the lower bound.
        for side, alternative in (("lower", "greater"), ("upper", "less"), ("both", "two-sided")):
            lower, upper = metrics.clopper_pearson(k, n, confidence, side)  # type: ignore[arg-type]
            exact = [binomtest(int(i), n, alternative=alternative).proportion_ci(confidence) for i in k]
            np.testing.assert_allclose(lower, [ci.low for ci in exact], atol=1e-9)
            np.testing.assert_allclose(upper, [ci.high for ci in exact], atol=1e-9)


def test_clopper_pearson_where_every_model_agrees() -> None:
    n = np.array([1, 10, 100])
    np.testing.assert_allclose(metrics.clopper_pearson(n, n)[0], 0.05 ** (1 / n))
    assert metrics.clopper_pearson(0, n)[0].tolist() == [0, 0, 0]
    lower, upper = metrics.clopper_pearson(0, 0, side="both")
    assert (float(lower), float(upper)) == (0.0, 1.0)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.97])
def test_lower_bound_covers_in_simulation(p: float) -> None:
    rng = np.random.default_rng(7)
    k = rng.binomial(100, p, 20_000)
    covered = (metrics.clopper_pearson(k, 100)[0] <= p).mean()
    # At least 95%, and not idle: discreteness costs a few points at most.
    assert 0.95 - 3 * np.sqrt(0.95 * 0.05 / len(k)) <= covered < 0.99


def test_pooling_people_and_models_would_not_cover() -> None:
    """Why nothing is pooled: 50 people share a model's fate, and a bound over 50 × 20 trials misses too often."""
    rng = np.random.default_rng(3)
    p, n_models, n_people = 0.8, 20, 50
    accepted = rng.random((2_000, n_models)) < p  # each model says yes to everyone, or to no one
    pooled = metrics.clopper_pearson(accepted.sum(axis=1) * n_people, n_models * n_people)[0]
    own = metrics.clopper_pearson(accepted.sum(axis=1), n_models)[0]
    assert (pooled <= p).mean() < 0.7
    assert (own <= p).mean() >= 0.94


def test_clopper_pearson_refuses_nonsense() -> None:
    with pytest.raises(DataError, match="0 <= k <= n"):
        metrics.clopper_pearson(5, 4)
    with pytest.raises(DataError, match="whole numbers"):
        metrics.clopper_pearson(0.5, 4)
    with pytest.raises(DataError, match="`confidence`"):
        metrics.clopper_pearson(1, 4, 95)
    with pytest.raises(DataError, match="`side`"):
        metrics.clopper_pearson(1, 4, side="left")  # type: ignore[arg-type]


@pytest.mark.parametrize(("level", "confidence"), [(0.9, 0.95), (0.5, 0.75), (0.99, 0.95), (0.9, 0.99)])
def test_models_needed_is_the_smallest_number(level: float, confidence: float) -> None:
    n = metrics.models_needed(level, confidence)
    assert metrics.clopper_pearson(n, n, confidence)[0] > level
    assert metrics.clopper_pearson(n - 1, n - 1, confidence)[0] <= level + 1e-12
