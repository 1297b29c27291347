"""Flipset against trying every action; its proofs; its surrogates."""

import itertools
import time
from types import SimpleNamespace

import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder, broken_limits, distance, norm_weights
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import Flipset
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import as_table
from holdtrue.search import Status
from holdtrue.testing import _world as small_world

LEVELS = ("x", "y", "z")
FEATURES = [
    ht.Feature(name="a", kind="integer", bounds=(0, 6), cost_weight=2.0),
    ht.Feature(name="b", kind="numeric", bounds=(0, 3), step=0.5, direction="increase"),
    ht.Feature(name="o", kind="ordinal", levels=("low", "mid", "high")),
    ht.Feature(name="c", kind="categorical", levels=LEVELS, transitions={"x": ("y",)}),
]
LIMITS = [ht.LinearConstraint(coefficients={"a": 1.0, "b": 1.0, "c=y": 1.0}, bound=6.0)]
RULES = [
    ht.Implication(when={"c": ["y"]}, then={"o": ["mid", "high"]}),
    ht.Implication(was={"o": ["low"]}, then={"c": ["x", "y"]}),
]


def people(n, rng):
    table = pd.DataFrame({"a": rng.integers(0, 4, n), "b": rng.integers(0, 4, n) / 2})
    table["o"] = rng.choice(["low", "mid", "high"], n)
    table["c"] = np.where(table["o"] == "low", "x", rng.choice(LEVELS, n))
    table.loc[0, ["a", "b"]] = [6, 0.25]  # one person off the grid
    return table


def predictor_of(schema, table, rng, n_classes=2, threshold=0.5):
    encoder = Encoder.fit(schema, table)
    weight = rng.normal(size=(n_classes, encoder.n_columns)).astype(np.float32)
    bias = np.zeros(n_classes, np.float32)
    if n_classes == 2:  # refuse about two in three
        gap = encoder.encode(table) @ (weight[1] - weight[0])
        bias[1] = -np.quantile(gap, 0.66)
    return Predictor(encoder, Decision(LinearModel(weight, bias), np.float32(threshold), 1), np.arange(n_classes))


@eqx.filter_jit
def margins(decision, logits, target):
    return jax.vmap(lambda row: decision.margin_of(row, target))(logits)


def by_hand(predictor, row, target, norm):
    """Least cost of every action, or infinity: each one built in raw columns and asked."""
    grid = {"a": range(7), "b": np.arange(7) / 2, "o": ("low", "mid", "high"), "c": LEVELS}
    own = {name: row[name].iloc[0] for name in grid}
    actions = pd.DataFrame(
        list(itertools.product(*([own[k], *[v for v in values if v != own[k]]] for k, values in grid.items()))),
        columns=list(grid),
    )
    before = as_table(pd.concat([row] * len(actions), ignore_index=True))
    after = as_table(actions.astype(row.dtypes.to_dict()))
    kept = np.array([not b for b in broken_limits(predictor.encoder, before, after)])
    x = predictor.encoder.encode(after)
    model = predictor.decision.model
    logits = x @ np.asarray(model.weight, float).T + np.asarray(model.bias, float)
    margin = np.asarray(margins(predictor.decision, logits.astype(np.float32), np.int32(target)))
    cost = np.asarray(distance(x, predictor.encoder.encode(before), norm, norm_weights(predictor.encoder, norm)))
    return min(cost[kept & (margin >= 1.5e-4)], default=np.inf)


@pytest.mark.parametrize("norm", ["l1", "mad", "l0"])
@pytest.mark.parametrize("bound", [False, True], ids=["separable", "constrained"])
def test_equals_trying_everything(norm, bound):
    rng = np.random.default_rng(3)
    schema = ht.Schema(FEATURES, LIMITS if bound else [], RULES if bound else [])
    table = people(12, rng)
    predictor = predictor_of(schema, table, rng)
    plan = Flipset(norm=norm).fit(predictor).recourse(table)
    refused = plan.status != int(Status.ALREADY_FAVOURABLE)
    assert refused.sum() >= 6
    for i in np.flatnonzero(refused):
        best = by_hand(predictor, table.iloc[[i]], 1, norm)
        if np.isinf(best):
            assert plan.status[i] == int(Status.INFEASIBLE)
        else:
            assert plan.status[i] == int(Status.OPTIMAL)
            assert plan.cost[i] == pytest.approx(best, abs=1e-4)


def test_three_classes_must_all_be_beaten():
    rng = np.random.default_rng(5)
    table = people(12, rng)
    predictor = predictor_of(ht.Schema(FEATURES, LIMITS, RULES), table, rng, n_classes=3)
    plan = Flipset().fit(predictor).recourse(table, target=2)
    for i in np.flatnonzero(plan.status != int(Status.ALREADY_FAVOURABLE)):
        best = by_hand(predictor, table.iloc[[i]], 2, "l1")
        assert plan.status[i] == int(Status.INFEASIBLE if np.isinf(best) else Status.OPTIMAL)
        assert np.isinf(best) or plan.cost[i] == pytest.approx(best, abs=1e-4)


def test_a_continuum_is_solved_exactly():
    """Numbers without a step: the gap over the largest weight per cost, as far as that goes, then the next."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 1, (20, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=n, kind="numeric", bounds=(0, 1)) for n in table])
    encoder = Encoder.fit(schema, table)
    one = np.ones(3)
    encoder = Encoder(encoder.schema, "minmax", encoder.layout, one, 0 * one, one, {})
    weight = np.array([[0, 0, 0], [3, -2, 1]], np.float32)
    predictor = Predictor(
        encoder, Decision(LinearModel(weight, np.array([0, -2], np.float32)), np.float32(0.5), 1), np.arange(2)
    )
    plan = Flipset().fit(predictor).recourse(table)
    for i, (a, b, c) in enumerate(table.to_numpy()):
        gap = 1.5e-4 - (3 * a - 2 * b + c - 2)
        if plan.status[i] == int(Status.ALREADY_FAVOURABLE):
            continue
        first = min(gap / 3, 1 - a)
        second = min((gap - 3 * first) / 2, b)
        third = gap - 3 * first - 2 * second
        assert third <= 1 - c
        assert plan.cost[i] == pytest.approx(first + second + third, abs=1.1e-4)  # told in ten-thousandths


def test_no_action_is_a_proof():
    rng = np.random.default_rng(1)
    table = people(8, rng)
    predictor = predictor_of(ht.Schema(FEATURES), table, rng, threshold=1 - 1e-6)
    plan = Flipset().fit(predictor).recourse(table)
    assert (plan.status == int(Status.INFEASIBLE)).all()
    assert not plan.changed().any()


def test_cheaper_than_a_gradient_search_on_a_network():
    clf = small_world.classifier()
    X = small_world.refused(clf.predictor_, 20)
    flips = Flipset().fit(clf).recourse(X)
    descent = ht.Wachter().fit(clf).recourse(X)
    both = flips.found & descent.found
    assert both.mean() > 0.8
    assert not (flips.status == int(Status.OPTIMAL)).any()  # a tangent proves nothing
    assert flips.cost[both].mean() < 1.05 * descent.cost[both].mean()


def test_lime_serves_where_there_is_no_gradient():
    predictor = small_world.black_box()
    X = small_world.refused(predictor, 8)
    with pytest.raises(CapabilityError, match="Use surrogate='lime'"):
        Flipset(surrogate="gradient").fit(predictor, small_world.people()[0])
    with pytest.raises(DataError, match="LIME needs training rows"):
        Flipset().fit(predictor)
    plan = Flipset(n_samples=300, n_steps=4, random_state=0).fit(predictor, small_world.people()[0]).recourse(X)
    assert plan.found.mean() > 0.7
    # The black box is linear inside: LIME should come near the optimum of the model itself.
    best = Flipset().fit(small_world.classifier("linear")).recourse(X)
    both = plan.found & best.found
    assert (plan.cost[both] >= best.cost[both] - 1e-3).all()
    assert np.median(plan.cost[both] / best.cost[both]) < 1.3


def test_deadline_leaves_people_unreached(monkeypatch):
    clf = small_world.classifier("linear")
    X = pd.concat([small_world.refused(clf.predictor_, 60)] * 2, ignore_index=True)
    method = Flipset().fit(clf)
    every = method.recourse(X)
    looks = itertools.count(1)
    # A clock that is past the deadline from its hundredth look on, however fast this machine is.
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + (1000.0 if next(looks) >= 100 else 0.0))
    monkeypatch.setattr("holdtrue.methods._flipset.time", clock)
    plan = method.recourse(X, deadline=500.0)
    assert next(looks) <= 102  # it stopped there, and looked at most once more, between two blocks
    reached = plan.status != int(Status.NOT_REACHED)
    assert reached.any()
    assert not reached.all()
    assert not plan.changed()[~reached].any()
    assert (plan.status == every.status)[reached].all()
    np.testing.assert_allclose(plan.cost[reached], every.cost[reached])


def test_norms_that_do_not_add_up_are_refused():
    with pytest.raises(DataError, match="`norm` must be 'l0', 'l1' or 'mad'"):
        Flipset(norm="linf").fit(small_world.classifier("linear"))
