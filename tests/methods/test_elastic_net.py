"""ElasticNet: exact minima on linear models, and the parts of its objective."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor, solve
from holdtrue.encoding import Encoder, feasible_sets
from holdtrue.errors import DataError
from holdtrue.methods import ElasticNet
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Problem, Problems, Status
from holdtrue.testing import _world as world

W = np.array([2.0, -1.0, 0.5, 0.1], np.float32)
B = -0.2


def linear(bounds=(-10, 10), weights=W, bias=B, cost_weights=(1, 1, 1, 1)):
    """Score w.x + b over four numbers in [-3, 3], encoded as they are."""
    table = pd.DataFrame(np.random.default_rng(0).uniform(-3, 3, (50, 4)), columns=list("abcd"))
    features = [
        ht.Feature(name=c, kind="numeric", bounds=bounds, cost_weight=k)
        for c, k in zip(table, cost_weights, strict=True)
    ]
    fitted = Encoder.fit(ht.Schema(features), table)
    ones = np.ones(4)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    model = LinearModel(np.stack([0 * weights, weights]), np.array([0, bias], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    scores = table.to_numpy() @ weights + bias
    return predictor, table[scores < 0], scores[scores < 0]


@pytest.mark.parametrize(("norm", "dual"), [("l1", np.abs(W).max()), ("l2", np.linalg.norm(W))])
def test_cost_is_the_distance_to_the_plane(norm, dual):
    predictor, X, scores = linear()
    plan = ElasticNet(norm=norm).fit(predictor).recourse(X)
    assert plan.found.all()
    np.testing.assert_allclose(plan.cost, -scores / dual, rtol=1e-3, atol=2e-3)  # told in thousandths
    assert (plan.cost >= -scores / dual - 1e-4).all()


def test_l1_changes_one_feature():
    predictor, X, _ = linear()
    changed = ElasticNet(norm="l1").fit(predictor).recourse(X).changed()
    assert changed[:, 0].all()
    assert not changed[:, 1:].any()


def test_cost_weights_move_the_minimum():
    """Weighted by k, the l1 distance to the plane is |f| / max(|w| / k)."""
    k = np.array([8.0, 1.0, 1.0, 1.0])
    predictor, X, scores = linear(cost_weights=tuple(k))
    plan = ElasticNet(norm="l1").fit(predictor).recourse(X)
    np.testing.assert_allclose(plan.cost, -scores / (np.abs(W) / k).max(), rtol=2e-3)
    assert not plan.changed()[:, 0].any()


@pytest.mark.parametrize(("l1_weight", "l2_weight"), [(1.0, 1.0), (0.3, 2.0), (0.0, 1.0)])
def test_steps_settle_at_the_soft_threshold(l1_weight, l2_weight):
    """At a fixed slope g, c g d + l1 |d| + l2 d^2 is least at d = -sign(g) max(c |g| - l1, 0) / (2 l2)."""
    predictor, X, _ = linear()
    fitted = ElasticNet(l1_weight=l1_weight, l2_weight=l2_weight, step_size=0.2).fit(predictor)
    solver = fitted.solver()
    feasible = feasible_sets(predictor.encoder, as_table(X.head(1))).one(0)
    x = feasible.x
    problem = Problem(x, jnp.asarray(1), feasible, jax.random.key(0), x)
    own = solver.start(problem)._replace(weight=jnp.asarray(1.3))
    move = jax.jit(lambda u: solver._move(problem, own._replace(u=u), jnp.asarray(-W)))
    u = x
    for _ in range(200):
        u = move(u)
    expected = np.sign(W) * np.maximum(1.3 * np.abs(W) - l1_weight, 0) / (2 * l2_weight)
    np.testing.assert_allclose(u - x, expected, atol=1e-4)


def test_the_box_is_the_persons_own():
    """Bounds away from [0, 1] hold, and what one feature cannot do the next one does."""
    predictor, X, scores = linear(bounds=(-3, 3), bias=-4.0)
    plan = ElasticNet(norm="l1").fit(predictor).recourse(X)
    room = 3 - X["a"].to_numpy()
    need = -scores - 2 * room  # what is left once feature a is at its bound, for b to make up
    enough = (need > 0.1) & (need + 0.1 < 3 + X["b"].to_numpy())
    assert enough.any()
    assert plan.found[enough].all()
    np.testing.assert_allclose(plan.cost[enough], (room + need)[enough], rtol=0.02)


def test_a_yes_out_of_reach_is_not_found():
    predictor, X, _ = linear(bias=-1e4)
    plan = ElasticNet(n_rounds=3, n_steps=20).fit(predictor).recourse(X.head(3))
    assert (plan.status == int(Status.NOT_FOUND)).all()
    assert (plan.n_steps == 3).all()  # c |w| <= 0.2 pays for no change: each round ends at its first step
    moving = ElasticNet(n_rounds=3, n_steps=20, first_weight=1.0).fit(predictor).recourse(X.head(3))
    assert (moving.status == int(Status.NOT_FOUND)).all()
    # At c = 1, 10 and 100 the first feature pays, so that rounds go on.
    assert (moving.n_steps > 22).all()
    assert (moving.n_steps <= 60).all()


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_ending_rounds_that_stand_still_changes_no_answer(norm):
    table, _ = world.people()
    method = ElasticNet(norm=norm).fit(world.classifier(limits=False))
    sets = feasible_sets(method.predictor_.encoder, as_table(table.head(120)))
    x = sets.x
    problems = Problems(x, np.ones(len(x), np.int32), sets, method._keys(x), x)
    solver = method.solver()
    short = solve(solver, problems)
    full = solve(dataclasses.replace(solver, still=-1.0), problems)
    searched = full.n_steps > 0
    assert (full.n_steps[searched] == 929).all()
    assert (short.n_steps[searched] < 929).mean() > 0.9
    np.testing.assert_array_equal(short.status, full.status)
    np.testing.assert_allclose(short.cost, full.cost, rtol=1e-3)


def test_a_model_of_nan_diverges():
    predictor, _, _ = linear(weights=np.array([np.nan, 1, 1, 1], np.float32))
    X = pd.DataFrame(np.zeros((2, 4)), columns=list("abcd"))
    plan = ElasticNet(n_rounds=3, n_steps=20).fit(predictor).recourse(X)
    assert (plan.status == int(Status.DIVERGED)).all()


def test_norms_it_cannot_minimise_are_refused():
    predictor, X, _ = linear()
    with pytest.raises(DataError, match="`norm` must be 'l"):
        ElasticNet(norm="linf").fit(predictor).recourse(X)
