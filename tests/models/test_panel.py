"""Panels: what the least sure of several models says, by hand and inside every search."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.models import (
    Data,
    LinearModel,
    OnPieces,
    PanelModel,
    SideBySide,
    Stacked,
    TreesPanel,
    boxes_of,
    sharing,
    stack,
    sums_at,
)
from holdtrue.models._panel import least_sure

rng = np.random.default_rng(1)
X = pd.DataFrame({"a": rng.integers(0, 20, 300), "b": rng.integers(0, 20, 300), "c": rng.choice([0, 1, 2], 300)})
y = ((X["a"] + X["b"] + 3 * rng.normal(size=300)) > 20).astype(int).to_numpy()
SCHEMA = ht.Schema([ht.Feature(name=name, kind="integer") for name in X])


def boundary(at):
    """Yes where x is at least `at`."""
    return LinearModel(jnp.array([[0.0], [2.0]]), jnp.array([0.0, -2.0 * at]))


def with_model(predictor, model):
    return dataclasses.replace(predictor, decision=predictor.decision.of(model))


@pytest.mark.parametrize(
    ("margins", "spared", "chosen"),
    [
        ([1.0, 2.0, 3.0], 0, 0),  # the model itself is the least sure
        ([5.0, 2.0, 3.0], 0, 1),
        ([5.0, 2.0, 3.0], 1, 2),  # one guide may refuse
        ([5.0, 2.0, 3.0], 2, 2),  # not all: the surest guide is still asked
        ([2.5, 2.0, 3.0], 1, 0),  # the model never may
    ],
)
def test_the_least_sure_by_hand(margins, spared, chosen):
    logits = jnp.stack([jnp.zeros(3), jnp.array(margins)], axis=1)
    told = least_sure(logits, jnp.asarray(0.5), 1, spared)
    np.testing.assert_allclose(told, [0.0, margins[chosen] - 0.5])
    # The other class wanted: the one that is surest of the favourable one is the least sure.
    np.testing.assert_allclose(least_sure(logits, jnp.asarray(0.0), 0, 0), [0.0, max(margins)])


@pytest.mark.parametrize("spared", [0, 1, 2, 5])
def test_the_least_sure_of_many_rows_is_that_of_each(spared):
    logits = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3, 20)), jnp.float32)
    together = least_sure(logits, jnp.asarray(0.5), 2, spared)
    for row in range(20):
        np.testing.assert_array_equal(together[:, row], least_sure(logits[..., row], jnp.asarray(0.5), 2, spared))


@pytest.mark.parametrize("guides", [Stacked(stack([boundary(0.4), boundary(0.7)])),
                                    SideBySide((boundary(0.4), boundary(0.7)))])  # fmt: skip
def test_a_panel_of_lines_has_the_furthest_boundary(guides):
    panel = PanelModel(boundary(0.5), (guides,), jnp.asarray(0.2), 1)
    assert panel.n_guides == 2
    assert panel.capabilities == {"differentiable", "layers"}
    for x in (0.3, 0.6, 0.79, 0.81):
        row = jnp.array([x])
        gap = panel.logits(row)[1] - panel.logits(row)[0]
        assert gap == pytest.approx(2 * (x - 0.7) - 0.2, abs=1e-6)  # yes from 0.8 on
        if panel.first is not None:
            weight, bias = panel.first
            np.testing.assert_allclose(panel.rest(weight @ row + bias), panel.logits(row), atol=1e-6)
    assert jax.grad(lambda row: panel.logits(row)[1])(jnp.array([0.6])) == pytest.approx(2.0)
    assert panel.alone.logits(jnp.array([0.6]))[1] > 0


@pytest.mark.parametrize(
    "model",
    [XGBClassifier(n_estimators=6, max_depth=3), RandomForestClassifier(6, max_depth=4, random_state=0)],
    ids=["boosting", "forest"],
)
def test_leaves_as_boxes_of_all_members(model):
    predictor = ht.wrap(model.fit(X, y), SCHEMA, X)
    (members,) = ht.retrain(predictor, X, y, 3).members
    panel = TreesPanel(predictor.decision.model, members, jnp.asarray(0.3), 1)
    boxes, flat = boxes_of(panel), panel.flat()
    for row in predictor.encoder.encode(X[:6]).astype(np.float32):
        numbers, codes = (np.asarray(part) for part in panel.slots(row))
        numbers, codes = numbers[: boxes.n_numbers], codes[boxes.n_numbers :]
        inside = ((boxes.low < numbers[:, None]) & (numbers[:, None] <= boxes.high)).all(axis=0)
        for j, members_of in enumerate(boxes.members):
            inside &= members_of[boxes.sets[j], codes[j]]
        # Every tree has one leaf for every row, and these add up to what the model says.
        assert boxes.tree[inside].tolist() == list(range(len(boxes.output)))
        sums = boxes.base.copy()
        for leaf in np.flatnonzero(inside):
            first = boxes.output[boxes.tree[leaf]]
            sums[first : first + boxes.value.shape[1]] += boxes.value[leaf]
        np.testing.assert_allclose(panel.logits_of(jnp.asarray(sums)), panel.logits(row), atol=1e-4)
        np.testing.assert_allclose(sums_at(flat, numbers[None], codes[None])[0], sums, atol=1e-6)


@pytest.mark.parametrize("name", ["sparse_search", "nearest_neighbour", "growing_spheres"])
def test_what_a_search_finds_for_a_panel_all_members_accept(name):
    model = XGBClassifier(n_estimators=10, max_depth=3, random_state=0).fit(X, y)
    predictor = ht.wrap(model, SCHEMA, X)
    guides = ht.retrain(predictor, X, y, 5)
    (members,) = guides.members
    panel = with_model(predictor, TreesPanel(predictor.decision.model, members, jnp.asarray(0.1), 1))
    people = X[model.predict(X) == 0][:12]
    method = ht.methods.method(name)(random_state=0)
    alone, held = (method.fit(p, X).recourse(people) for p in (predictor, panel))
    assert held.found.sum() >= 10
    assert held.valid[held.found].all()
    assert guides.accepts(held.recourse, held.target)[:, held.found].all()
    assert not guides.accepts(alone.recourse, alone.target)[:, alone.found].all()
    both = alone.found & held.found
    assert held.cost[both].mean() >= alone.cost[both].mean()
    # A fitted method goes over to the panel without learning anew.
    again = method.fit(predictor, X).rebind(panel).recourse(people)
    assert guides.accepts(again.recourse, again.target)[:, again.found].all()


def test_who_has_a_yes_has_it_by_the_model_alone():
    clf = ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=20))
    clf.fit(X, y)
    (members,) = ht.retrain(clf, n=5, vary="bootstrap").members
    panel = with_model(clf.predictor_, PanelModel(clf.predictor_.decision.model, (members,), jnp.asarray(3.0), 1))
    plan = ht.Wachter(n_steps=200).fit(panel).recourse(X)
    accepted = clf.predict(X) == 1
    assert (plan.status[accepted] == int(ht.Status.ALREADY_FAVOURABLE)).all()
    assert (plan.status[~accepted] != int(ht.Status.ALREADY_FAVOURABLE)).all()
    np.testing.assert_allclose(panel.proba(X), clf.predict_proba(X))  # what is told is the model's own
    found = jnp.asarray(panel.encoder.encode(plan.recourse)[plan.found], jnp.float32)
    assert (jax.vmap(lambda row: panel.decision.margin(row, jnp.asarray(1)))(found) >= 0).all()


def test_guides_on_the_same_pieces_are_asked_together():
    """One product for all first layers says what each guide says by itself."""
    architecture = ht.PiecewiseMLP(n_pieces=4, widths=(5, 3))
    model, *guides = (architecture.build(3, 2, jax.random.key(i)) for i in range(4))
    members = Stacked(stack(guides))
    shared = sharing(model, members)
    assert isinstance(shared, OnPieces)
    assert shared.n_members == 3
    rows = jnp.asarray(np.random.default_rng(0).random((6, 3)), jnp.float32)
    for row in rows:
        np.testing.assert_allclose(shared.member_logits(row), members.member_logits(row), atol=1e-6)
    np.testing.assert_allclose(
        shared.take(np.array([2])).member_logits(rows[0]), guides[2].logits(rows[0])[None], atol=1e-6
    )
    # Pieces of their own are looked at by each.
    other = guides[0].prepared(Data(rows, jnp.zeros(6, jnp.int32), jnp.ones(6)))
    assert sharing(model, Stacked(stack([other, *guides[1:]]))).member_logits(rows[0]).shape == (3, 2)
    assert isinstance(sharing(model, Stacked(stack([other, *guides[1:]]))), Stacked)
