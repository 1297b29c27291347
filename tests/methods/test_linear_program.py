"""The linearised step on models where its answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import LinearProgram
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Status

W = np.array([2.0, -1.0, 0.5, 0.1], np.float32)


def world(bias=-0.2, constraints=(), **features):
    """Score w.x + b over four numbers, encoded as they are."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-1, 1, (40, 4)), columns=list("abcd"))
    schema = ht.Schema(
        [ht.Feature(name=c, kind="numeric", bounds=(-5, 5), **features.get(c, {})) for c in table],
        list(constraints),
    )
    encoder = Encoder.fit(schema, table)
    one = np.ones(4)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, one, 0 * one, one, {})
    model = LinearModel(np.stack([0 * W, W]), np.array([0, bias], np.float32))
    scores = table.to_numpy() @ W + bias
    return (
        Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])),
        table[scores < 0],
        scores[scores < 0],
    )


def cheapest(gap, slope, room):
    """Least l1 change that closes a gap: the steepest column first, each to the end of its room."""
    cost = 0.0
    for j in np.argsort(-np.abs(slope)):
        step = min(gap / abs(slope[j]), room[j])
        cost, gap = cost + step, gap - step * abs(slope[j])
    return cost if gap < 1e-6 else np.inf


def test_cost_on_a_linear_model_is_the_fractional_knapsack():
    predictor, X, scores = world()
    plan = LinearProgram(radius=0.4).fit(predictor).recourse(X)
    best = np.array([cheapest(-s + 1e-4, W, np.full(4, 0.4)) for s in scores])
    reachable = np.isfinite(best)
    assert reachable.any()
    assert not reachable.all()
    assert (plan.found == reachable).all()
    assert (plan.cost[reachable] >= best[reachable] - 1e-3).all()
    np.testing.assert_allclose(plan.cost[reachable], best[reachable], atol=2e-3)


def test_radius_direction_and_fixed_features_hold():
    predictor, X, _ = world(a={"direction": "fixed"}, b={"direction": "increase"})
    plan = LinearProgram(radius=0.75, n_steps=3).fit(predictor).recourse(X)
    change = np.stack([plan.recourse.columns[c] - X[c] for c in "abcd"], axis=1)
    assert plan.found.any()
    assert (np.abs(change) <= 0.75 + 1e-5).all()
    assert (change[:, 0] == 0).all()
    assert (change[:, 1] == 0).all()  # its slope points down, which is not allowed


def test_corner_under_a_constraint_is_the_optimum_of_the_linear_programme():
    """With a budget across features, who can be helped at all is what HiGHS says."""
    budget = ht.LinearConstraint(coefficients={"a": 1.0, "c": 1.0}, bound=0.3, on="change")
    predictor, X, scores = world(constraints=[budget])
    plan = LinearProgram(radius=0.5).fit(predictor).recourse(X)
    gain = -linprog(-W, A_ub=[[1, 0, 1, 0]], b_ub=[0.3], bounds=[(-0.5, 0.5)] * 4).fun
    sure = np.abs(scores + gain) > 0.01
    assert (plan.found == (scores + gain >= 0))[sure].all()
    spent = plan.recourse.columns["a"] - X["a"] + plan.recourse.columns["c"] - X["c"]
    assert (spent <= 0.3 + 1e-5).all()


def test_each_category_takes_its_best_level():
    table = pd.DataFrame({"job": ["none", "part", "full"] * 10, "n": np.linspace(0, 1, 30)})
    schema = ht.Schema(
        [
            ht.Feature(name="job", kind="categorical", transitions={"none": ("part",)}),
            ht.Feature(name="n", kind="numeric", direction="fixed"),
        ]
    )
    encoder = Encoder.fit(schema, table)
    names = encoder.layout.column_names(encoder.schema)
    weight = np.array(
        [{"job=none": -1.0, "job=part": 1.0, "job=full": 2.0}.get(n, 0.0) for n in names], np.float32
    )
    model = LinearModel(np.stack([0 * weight, weight]), np.zeros(2, np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    plan = LinearProgram().fit(predictor).recourse(table.head(1))
    assert plan.recourse.columns["job"].tolist() == ["part"]  # "full" scores higher, but one may not go there
    assert plan.status.tolist() == [int(Status.FOUND)]


def test_radius_must_be_positive():
    predictor, X, _ = world()
    with pytest.raises(DataError, match="`radius` must be a number above 0"):
        LinearProgram(radius=0).fit(predictor).recourse(X)
