"""PROBE: on a line the closed form is exact, and noise can be drawn."""

import numpy as np
import pytest
from scipy.stats import norm as normal

import holdtrue as ht

SIGMA, RATE = 0.4, 0.1


def invalidation(plane, points):
    noise = np.random.default_rng(3).normal(0, SIGMA, (100_000, 3))
    return np.array([np.mean(plane.margin(point + noise) < 0) for point in points])


def test_the_nearest_point_that_keeps_the_rate(plane):
    method = ht.PROBE(base=ht.Wachter(norm="l2"), rate=RATE, sigma=SIGMA).fit(plane.predictor, plane.rows)
    plan, length = method.recourse(plane.people), np.linalg.norm(plane.w)
    known = normal.ppf(1 - RATE) * SIGMA - plane.margin(plane.people.to_numpy()) / length
    np.testing.assert_allclose(plan.cost, known, rtol=2e-3)
    np.testing.assert_allclose(invalidation(plane, plane.points(plan)), RATE, atol=0.005)


def test_without_a_gradient_the_rate_is_counted(plane):
    method = ht.PROBE(
        base=ht.GrowingSpheres(norm="l2"), rate=RATE, sigma=SIGMA, n_samples=500, n_candidates=50, random_state=0
    )
    plan = method.fit(plane.opaque, plane.rows).recourse(plane.people)
    rates = invalidation(plane, plane.points(plan))
    assert plan.valid.all()
    assert (rates < RATE + 0.04).all()  # three deviations of 500 draws
    assert rates.max() > RATE / 4  # and none is bought dearly


def test_what_may_not_change_has_no_noise(plane):
    """One number left: the noise is in that alone, and so is the way."""
    method = ht.PROBE(base=ht.Wachter(norm="l2"), rate=RATE, sigma=SIGMA).fit(plane.predictor, plane.rows)
    fixed = [{"b": "fixed", "c": "fixed"}] * len(plane.people)
    plan = method.recourse(plane.people, restrictions=fixed)
    known = normal.ppf(1 - RATE) * SIGMA - plane.margin(plane.people.to_numpy()) / plane.w[0]
    np.testing.assert_allclose(plan.cost, known, rtol=2e-3)


@pytest.mark.parametrize("rate", [0.5, 0.7])
def test_a_rate_of_half_and_more_asks_for_a_yes_alone(plane, rate):
    plan = ht.PROBE(base=ht.Wachter(norm="l2"), rate=rate).fit(plane.predictor, plane.rows).recourse(plane.people)
    assert plan.valid.all()
    known = -plane.margin(plane.people.to_numpy()) / np.linalg.norm(plane.w)
    np.testing.assert_allclose(plan.cost, known, rtol=2e-3)
