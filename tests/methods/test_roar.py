"""ROAR on linear models: its minimiser in closed form, its promise under every corner of the ball."""

import itertools

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import ROAR
from holdtrue.models import Decision, LinearModel
from holdtrue.testing import _world as small_world

W = np.array([2.0, -1.0, 0.5], np.float32)
STEPS = {"step_size": 0.01, "n_steps": 3000, "patience": 3000}


def world(bias=-0.5):
    table = pd.DataFrame(np.random.default_rng(0).uniform(-1, 1, (40, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-10, 10)) for c in table])
    encoder = Encoder.fit(schema, table)
    one = np.ones(3)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, one, 0 * one, one, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, bias], np.float32))
    scores = table.to_numpy() @ W + bias
    return Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])), table[scores < 0]


def robust_margin(x, radius, ball="linf", bias=-0.5):
    norm = np.abs(x).sum(axis=1) + 1 if ball == "linf" else np.sqrt((x**2).sum(axis=1) + 1)
    return x @ W + bias - radius * norm


def points(plan):
    return np.stack([plan.recourse.columns[c] for c in "abc"], axis=1)


@pytest.mark.parametrize("ball", ["linf", "l2"])
def test_least_objective_equals_a_search_over_the_steepest_coordinate(ball):
    """In l1 only the coordinate with the most gain per cost moves; along it the objective is minimised by hand."""
    predictor, X = world()
    plan = ROAR(radius=0.1, ball=ball, cost_weight=0.2, **STEPS).fit(predictor).recourse(X)
    assert plan.found.all()
    x = X.to_numpy()

    def objective(at):
        margin = robust_margin(at, 0.1, ball)
        # Only what the present model accepts may be returned.
        valid = at @ W - 0.5 >= 1e-4
        return np.where(valid, np.logaddexp(0, -margin) + 0.2 * np.abs(at - x).sum(axis=1), np.inf)

    best = np.min([objective(x + np.array([t, 0, 0])) for t in np.linspace(0, 6, 3001)], axis=0)
    assert (objective(points(plan).round(5)) < best + 0.01).all()


def test_promise_holds_under_every_corner_of_the_ball():
    predictor, X = world()
    plan = ROAR(radius=0.3, cost_weight=0.05, **STEPS).fit(predictor).recourse(X)
    x = np.c_[points(plan), np.ones(len(X))]
    for corner in itertools.product((-0.3, 0.3), repeat=4):
        assert (x @ (np.r_[W, -0.5] + corner) >= 0).all()
    nearest = ht.Wachter(**STEPS).fit(predictor).recourse(X)
    assert (robust_margin(points(nearest), 0.3) < 0).mean() > 0.9  # the nearest point promises nothing
    assert plan.cost.mean() > nearest.cost.mean()


def test_a_larger_radius_costs_more():
    predictor, X = world()
    costs = [
        ROAR(radius=r, cost_weight=0.2, **STEPS).fit(predictor).recourse(X).cost.mean() for r in (0.0, 0.2, 0.6)
    ]
    assert costs[0] < costs[1] < costs[2]


def test_lime_on_a_linear_model_is_the_model():
    predictor, X = world()
    exact = ROAR(**STEPS).fit(predictor).recourse(X)
    lime = ROAR(surrogate="lime", random_state=0, **STEPS).fit(predictor, X).recourse(X)
    np.testing.assert_allclose(lime.cost, exact.cost, rtol=0.05, atol=0.02)


def test_many_people_at_once_with_lime():
    """More people than slots, so that two threads search: they must not wait for each other."""
    clf = small_world.classifier(limits=False)
    X = pd.concat([small_world.refused(clf.predictor_, 60)] * 5, ignore_index=True)
    method = ROAR(surrogate="lime", n_samples=50, n_steps=5, random_state=0).fit(clf, small_world.people()[0])
    assert len(method.recourse(X).status) == len(X)


def test_wrong_arguments_are_refused():
    predictor, _ = world()
    with pytest.raises(DataError, match="`ball` must be"):
        ROAR(ball="l1").fit(predictor)
    with pytest.raises(DataError, match="`surrogate` must be"):
        ROAR(surrogate="tree").fit(predictor)
    with pytest.raises(CapabilityError, match="Use surrogate='lime'"):
        ROAR(surrogate="gradient").fit(small_world.black_box(), small_world.people()[0])
