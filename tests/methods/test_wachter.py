"""Wachter on linear models, where the answer is known in closed form."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import Wachter
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Status

W = np.array([2.0, -1.0, 0.5, 0.1], np.float32)
B = -0.2


def linear_predictor(threshold=0.5, weights=W, bias=B):
    """Score w.x + b over four numbers in [-3, 3], encoded as they are."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(-3, 3, (50, len(weights))), columns=[f"x{i}" for i in range(len(weights))])
    features = [ht.Feature(name=c, kind="numeric", bounds=(-10, 10)) for c in table]
    encoder = Encoder.fit(ht.Schema(features), table)
    ones = np.ones(len(weights))
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([np.zeros_like(weights), weights]), np.array([0, bias], np.float32))
    return Predictor(encoder, Decision(model, np.float32(threshold), 1), np.array([0, 1])), table


@pytest.fixture(scope="module")
def refused():
    predictor, table = linear_predictor()
    scores = table.to_numpy() @ W + B
    return predictor, table[scores < 0], scores[scores < 0]


def test_l1_cost_is_the_gap_over_the_largest_weight(refused):
    predictor, X, scores = refused
    plan = Wachter(norm="l1", step_size=0.02, n_steps=3000, patience=300).fit(predictor).recourse(X)
    assert plan.found.all()
    best = -scores / np.abs(W).max()
    assert (plan.cost >= best - 1e-4).all()
    # A gradient step of 0.02 overshoots the boundary by about as much.
    np.testing.assert_allclose(plan.cost, best, atol=0.03, rtol=0.02)


def test_l2_cost_is_the_distance_to_the_plane(refused):
    predictor, X, scores = refused
    plan = Wachter(norm="l2", step_size=0.02, n_steps=3000, patience=300).fit(predictor).recourse(X)
    assert plan.found.all()
    best = -scores / np.linalg.norm(W)
    assert (plan.cost >= best - 1e-4).all()
    np.testing.assert_allclose(plan.cost, best, atol=0.02, rtol=0.05)


def test_threshold_moves_the_plane():
    predictor, table = linear_predictor(threshold=0.9)
    gap = np.log(9) - (table.to_numpy() @ W + B)
    plan = Wachter(norm="l1", step_size=0.02, n_steps=3000, patience=300).fit(predictor).recourse(table)
    needs = gap > 0
    assert (plan.status[~needs] == int(Status.ALREADY_FAVOURABLE)).all()
    assert (plan.after[needs] >= 0.9).all()
    np.testing.assert_allclose(plan.cost[needs], gap[needs] / 2.0, atol=0.03, rtol=0.02)


def test_target_probability_is_reached(refused):
    predictor, X, scores = refused
    plan = (
        Wachter(norm="l1", target_probability=0.9, step_size=0.02, n_steps=3000, patience=300)
        .fit(predictor)
        .recourse(X)
    )
    assert plan.found.all()
    assert (plan.after >= 0.9).all()
    np.testing.assert_allclose(plan.cost, (np.log(9) - scores) / np.abs(W).max(), atol=0.03, rtol=0.02)


def test_target_probability_below_the_threshold_is_refused():
    predictor, table = linear_predictor(threshold=0.9)
    with pytest.raises(DataError, match="must exceed the threshold"):
        Wachter(target_probability=0.8).fit(predictor).recourse(table)


def test_unfavourable_class_can_be_the_target(refused):
    predictor, _, _ = refused
    _, table = linear_predictor()
    accepted = table[table.to_numpy() @ W + B >= 0]
    plan = Wachter().fit(predictor).recourse(accepted, target=0)
    assert plan.found.all()
    assert (plan.recourse.columns["x0"] * 2 < accepted["x0"] * 2 + 1e-6).all()


def test_an_unreachable_yes_is_not_found():
    """No point of the box is accepted: the search says so and returns the person unchanged."""
    predictor, table = linear_predictor(bias=-1e4)
    plan = Wachter(n_steps=50).fit(predictor).recourse(table.head(4))
    assert (plan.status == int(Status.NOT_FOUND)).all()
    assert not plan.changed().any()
    assert np.isnan(plan.cost).all()


def test_numbers_lost_are_said_to_be_lost():
    """A model that answers NaN has NaN gradients; the status says DIVERGED."""
    predictor, table = linear_predictor(weights=np.array([np.nan, 1, 1, 1], np.float32))
    plan = Wachter(n_steps=20).fit(predictor).recourse(table.head(3))
    assert (plan.status == int(Status.DIVERGED)).all()


def test_mad_norm_prefers_the_spread_out_feature():
    """Equal weights, unequal spread: a change of the wide feature costs less in MAD units."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"narrow": rng.normal(0, 0.1, 200), "wide": rng.normal(0, 5, 200)})
    features = [ht.Feature(name=c, kind="numeric", bounds=(-20, 20)) for c in table]
    encoder = Encoder.fit(ht.Schema(features), table)
    one = np.ones(2)
    spread = np.median(np.abs(table - table.median()), axis=0)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, one, 0 * one, spread, {})
    model = LinearModel(np.array([[0, 0], [1, 1]], np.float32), np.array([0, -1], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    X = table[table.sum(axis=1) < 0].head(10)
    plan = Wachter(norm="mad", cost_weight=1.0).fit(predictor).recourse(X)
    assert plan.found.all()
    moved = np.abs(plan.recourse.columns["wide"] - X["wide"]) > np.abs(
        plan.recourse.columns["narrow"] - X["narrow"]
    )
    assert moved.all()
