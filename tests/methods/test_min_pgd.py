"""MinPGD: the plane of a linear model in both norms; the balls."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import MinPGD
from holdtrue.models import Decision, LinearModel
from holdtrue.search import POLISH_STEPS, Status

W = np.array([2.0, -1.0, 0.5, 0.1], np.float32)
DUAL = {"l2": np.linalg.norm(W), "linf": np.abs(W).sum()}


def linear(bounds=(-10, 10), weights=W, cost_weights=(1, 1, 1, 1)):
    """Score w.x - 0.2 over four numbers in [-3, 3], encoded as they are."""
    table = pd.DataFrame(np.random.default_rng(0).uniform(-3, 3, (50, 4)), columns=list("abcd"))
    features = [
        ht.Feature(name=c, kind="numeric", bounds=bounds, cost_weight=k)
        for c, k in zip(table, cost_weights, strict=True)
    ]
    fitted = Encoder.fit(ht.Schema(features), table)
    ones = np.ones(4)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * weights, weights]), np.array([0, -0.2], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    scores = table.to_numpy() @ weights - 0.2
    return predictor, table[scores < 0], scores[scores < 0]


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_cost_is_the_distance_to_the_plane(norm):
    predictor, X, scores = linear()
    plan = MinPGD(norm=norm, radius=5.0, random_state=0).fit(predictor).recourse(X)
    assert plan.found.all()
    best = -scores / DUAL[norm]
    np.testing.assert_allclose(plan.cost, best, rtol=1e-3, atol=2e-3)  # told in thousandths
    assert (plan.cost >= best - 1e-4).all()


def test_cost_weights_bend_the_ball():
    """Weighted by k, the l2 distance to the plane is |f| / sqrt(sum (w / k)^2)."""
    k = np.array([4.0, 1.0, 0.5, 2.0])
    predictor, X, scores = linear(cost_weights=tuple(k))
    plan = MinPGD(radius=8.0, random_state=0).fit(predictor).recourse(X)
    np.testing.assert_allclose(plan.cost, -scores / np.linalg.norm(W / k), rtol=1e-3, atol=4e-3)


def test_the_first_ball_that_reaches_the_plane_ends_the_growth():
    """Nobody takes steps in more balls than it takes to reach the plane, and one more."""
    predictor, X, scores = linear()
    plan = MinPGD(radius=5.0, n_balls=10, n_steps=40, random_state=0).fit(predictor).recourse(X)
    balls = np.ceil(-scores / DUAL["l2"] / 0.5)
    assert (plan.n_steps <= 40 * (balls + 1) + POLISH_STEPS).all()
    assert (plan.n_steps >= 40 * (balls - 1)).all()


def test_a_plane_outside_the_largest_ball_is_not_found():
    predictor, X, scores = linear()
    plan = MinPGD(radius=1.0, n_steps=40, random_state=0).fit(predictor).recourse(X)
    distance = -scores / DUAL["l2"]
    assert plan.found[distance < 0.95].all()
    assert (plan.status[distance > 1] == int(Status.NOT_FOUND)).all()


def test_the_radius_is_learned_from_the_rows():
    predictor, X, _ = linear()
    fitted = MinPGD().fit(predictor, X)
    norms = np.linalg.norm(X.to_numpy(), axis=1)
    assert float(fitted.state_["radius"]) == pytest.approx(np.median(norms), rel=1e-5)
    with pytest.raises(DataError, match="needs training rows"):
        MinPGD().fit(predictor)


def test_a_model_of_nan_diverges():
    predictor, _, _ = linear(weights=np.array([np.nan, 1, 1, 1], np.float32))
    X = pd.DataFrame(np.zeros((2, 4)), columns=list("abcd"))
    plan = MinPGD(radius=1.0).fit(predictor).recourse(X)
    assert (plan.status == int(Status.DIVERGED)).all()


def test_norms_without_a_ball_are_refused():
    predictor, X, _ = linear()
    with pytest.raises(DataError, match="`norm` must be 'l"):
        MinPGD(norm="l1").fit(predictor, X)


def test_as_published_the_last_point_of_the_first_ball_that_reaches_the_plane_counts():
    """A ball searched to its end is left at its far side, as far as its radius: past the plane."""
    predictor, X, scores = linear()
    method = MinPGD(radius=5.0, n_balls=10, n_steps=60, nearest=False, random_state=0)
    plan = method.fit(predictor).recourse(X)
    assert plan.found.all()
    balls = plan.cost / 0.5
    np.testing.assert_allclose(balls, np.round(balls), rtol=0.005)
    more = np.round(balls) - np.ceil(-scores / DUAL["l2"] / 0.5)
    assert set(more) <= {0, 1}  # a start on the far side may not come round in the ball that just reaches
    assert (more == 0).mean() > 0.85


def test_the_codes_step_is_a_share_of_the_radius():
    """In a ball of radius 0.5 its steps go half as far: who starts on the far side does not come round."""
    predictor, X, scores = linear()
    near = X[-scores / DUAL["l2"] < 0.4]
    asked = {"radius": 0.5, "n_balls": 1, "n_steps": 40, "nearest": False}

    def share(step):
        methods = [MinPGD(**asked, step=step, random_state=seed) for seed in range(5)]
        return np.mean([method.fit(predictor).recourse(near).found for method in methods])

    assert share("code") < share("paper")
