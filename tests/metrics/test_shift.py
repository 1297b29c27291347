"""Drift is seen where there is some, seldom where there is none; thinning restores the promise."""

import numpy as np
import pytest
from scipy.stats import binom

from holdtrue.errors import DataError
from holdtrue.metrics import (
    allowed_failures,
    drift_test,
    group_failure,
    group_thresholds,
    guaranteed_threshold,
    shift_weights,
    thinned,
)


def test_p_values_are_valid_without_drift():
    rng = np.random.default_rng(0)
    draws = [
        drift_test(rng.normal(size=(60, 2)), rng.normal(size=(40, 2)), n_permutations=99, random_state=i).p_value
        for i in range(40)
    ]
    # At 0.1 four are expected; 10 or more have probability 0.005 (binomial).
    assert sum(p <= 0.1 for p in draws) <= 9
    assert min(draws) >= 0.01


def test_drift_is_seen_in_a_mean_and_in_a_dependence():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 600, 3))
    moved = drift_test(a, b + np.array([0.0, 0.7, 0.0]))
    assert moved.p_value == 0.001
    assert moved.auc > 0.6
    assert np.argmax(moved.distances) == 1
    # The same margins, another correlation: no column alone shows it.
    tied = b.copy()
    tied[:, 1] = 0.9 * tied[:, 0] + np.sqrt(1 - 0.81) * tied[:, 1]
    assert drift_test(a, tied).p_value == 0.001


def test_sets_must_fit_together():
    with pytest.raises(DataError, match="same columns"):
        drift_test(np.zeros((50, 2)), np.zeros((50, 3)))
    with pytest.raises(DataError, match="at least 20 rows"):
        drift_test(np.zeros((50, 2)), np.zeros((5, 2)))


def shifted_world(rng, n):
    """x uniform; critical threshold x; in use the density is 2(1 - x), so that low ones are more common."""
    x = rng.random(n)
    return x, 2 * (1 - x)


def test_thinned_calibration_keeps_the_promise_under_a_shift_and_plain_calibration_does_not():
    rng = np.random.default_rng(0)
    broken = {"plain": 0, "thinned": 0}
    law = []
    for i in range(1000):
        x, weight = shifted_world(rng, 400)
        kept = thinned(weight, largest=2.0, random_state=i)
        for name, values in (("plain", x), ("thinned", x[kept])):
            t = guaranteed_threshold(values).threshold
            broken[name] += (1 - (1 - t) ** 2) > 0.05  # share below t in use
        law.append(int(kept.sum()))
    limit = 1 - np.sqrt(0.95)  # the threshold below which 0.05 are in use
    expected = binom.cdf(allowed_failures(400), 400, limit)
    assert expected > 0.7
    assert abs(broken["plain"] / 1000 - expected) < 3 * np.sqrt(0.25 / 1000)
    assert broken["thinned"] <= 50 + 3 * np.sqrt(1000 * 0.05 * 0.95)
    assert broken["thinned"] >= 5  # and not by being overcautious: about 200 rows are left
    assert 180 < np.mean(law) < 220


def test_weights_are_the_ratio_of_densities_where_the_regression_is_right():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(8000, 1)), rng.normal(size=(8000, 1)) + 0.5
    weights = shift_weights(a, b)
    true = np.exp(0.5 * a[:, 0] - 0.125)
    np.testing.assert_allclose(np.log(weights), np.log(true), atol=0.15)
    kept = a[thinned(weights)]
    assert abs(kept.mean() - 0.5) < 0.15


def test_thinning_refuses_what_are_no_weights():
    for bad in ([np.inf, 1.0], [-1.0, 1.0], [0.0, 0.0]):
        with pytest.raises(DataError, match="thinned: `weights`"):
            thinned(bad)
    with pytest.raises(DataError, match="must bound"):
        thinned([1.0, 2.0], largest=1.5)


@pytest.mark.parametrize("correction", ["bonferroni", "sidak", "none"])
def test_groups_hold_together(correction):
    """Three groups with uniform critical thresholds on [0, top]: the share of a group below t is t / top."""
    rng = np.random.default_rng(0)
    names, top = np.repeat(["a", "b", "c"], [300, 200, 150]), {"a": 1.0, "b": 0.8, "c": 0.8}
    scale = np.array([top[name] for name in names])
    own_broken = shared_broken = 0
    for _ in range(1000):
        made = group_thresholds(rng.random(650) * scale, names, correction=correction)
        own_broken += any(made[name].threshold / top[name] > 0.05 for name in top)
        shared = min(g.threshold for g in made.values())
        shared_broken += any(shared / top[name] > 0.05 for name in top)
    noise = 3 * np.sqrt(1000 * 0.05 * 0.95)
    assert shared_broken <= 50 + noise  # one threshold for all needs no correction
    if correction == "none":
        assert own_broken > 50 + noise  # a threshold for each does
    else:
        assert own_broken <= 50 + noise


def test_a_small_group_is_named_with_the_size_it_needs():
    with pytest.raises(DataError, match=r"'b': 60.*at least 72"):
        group_thresholds(np.ones(260), np.repeat(["a", "b"], [200, 60]))
    assert group_failure(2, 0.05, "sidak") > group_failure(2, 0.05)
    assert allowed_failures(60, 0.05, 0.05) == 0
