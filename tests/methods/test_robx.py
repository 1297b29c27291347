"""RobX: on a line every point on every way can be tested by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import holdtrue as ht
from holdtrue.methods._criterion import noise_of

SIGMA, LEAST, STEPS = 0.3, 0.8, 8


def stability(plane, noise, x):
    near = expit(plane.margin(np.asarray(x)[..., None, :] + noise))
    return near.mean(axis=-1) - near.std(axis=-1)


@pytest.mark.parametrize("model", ["predictor", "opaque"])
def test_it_stops_at_the_first_stable_point_of_the_nearest_ways(plane, model):
    base = ht.GrowingSpheres(norm="l2", random_state=0, n_candidates=200)
    method = ht.RobX(
        base=base, sigma=SIGMA, min_stability=LEAST, n_samples=50, n_neighbours=3, n_steps=STEPS, random_state=0
    )
    fitted = method.fit(getattr(plane, model), plane.rows)
    noise = np.asarray(noise_of(fitted), np.float64)
    rows = plane.rows.to_numpy()
    steady = rows[(plane.margin(rows) >= 0) & (stability(plane, noise, rows) >= LEAST)]
    assert 3 < len(steady) < len(rows)
    starts = plane.points(base.fit(plane.predictor).recourse(plane.people))
    plan = fitted.recourse(plane.people)
    for x, start, end in zip(plane.people.to_numpy(), starts, plane.points(plan), strict=True):
        nearest = steady[np.argsort(np.linalg.norm(steady - start, axis=1))[:3]]
        for share in np.arange(1, STEPS + 1) / STEPS:
            on_the_way = start + share * (nearest - start)
            passing = on_the_way[stability(plane, noise, on_the_way) >= LEAST]
            if len(passing):
                break
        cheapest = passing[np.argmin(np.linalg.norm(passing - x, axis=1))]
        np.testing.assert_allclose(end, cheapest, atol=1.1e-3)  # told in thousandths


def test_the_stability_of_a_row_is_that_of_simulation(plane):
    """About a point, the mean less the deviation over noise of its own."""
    fitted = ht.RobX(sigma=SIGMA, n_samples=4000).fit(plane.predictor, plane.rows)
    noise = np.random.default_rng(1).normal(0, SIGMA, (200_000, 3))
    rows = plane.rows.to_numpy()[:5]
    known = np.array([stability(plane, noise, row) for row in rows])
    np.testing.assert_allclose(fitted.state_["stability"][:5, 1], known, atol=0.02)
    refused = np.array([np.mean(q := expit(-plane.margin(row + noise))) - np.std(q) for row in rows])
    np.testing.assert_allclose(fitted.state_["stability"][:5, 0], refused, atol=0.02)


def test_where_no_row_is_stable_enough_the_base_is_kept(plane):
    base = ht.Wachter(norm="l2")
    near = base.fit(plane.predictor).recourse(plane.people)
    plan = ht.RobX(base=base, min_stability=0.9999).fit(plane.predictor, plane.rows).recourse(plane.people)
    assert plan.valid.all()
    np.testing.assert_allclose(plan.cost, near.cost, rtol=1e-5)


def test_a_forest_is_served(plane):
    X, _, forest = plane.forest()
    predictor = ht.wrap(forest, plane.predictor.encoder.schema, X)
    refused = X[predictor.decide(predictor.encoder.schema.check(X)) == 0].head(6)
    method = ht.RobX(base=ht.GrowingSpheres(n_candidates=100), n_samples=20, min_stability=0.7, random_state=0)
    plan = method.fit(predictor, X).recourse(refused)
    assert plan.valid.all()
    near = plane.points(plan)[:, None] + np.asarray(noise_of(method))
    yes = forest.predict_proba(pd.DataFrame(near.reshape(-1, 3), columns=list("abc")))[:, 1].reshape(len(plan), -1)
    assert (yes.mean(axis=1) - yes.std(axis=1) >= 0.7).all()
