"""Training for recourse against plain training, closed forms and finite differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.encoding import Encoder, Permits
from holdtrue.errors import DataError
from holdtrue.models import MLP, Data, Linear
from holdtrue.testing import _world as small_world
from holdtrue.training import RecourseTraining, StandardTraining, TrainingContext


@pytest.fixture(scope="module")
def people():
    """Labels by a fixed column and, less, by one that may change: recourse is rare unless trained for."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(600, 3)), columns=["fixed", "up", "free"])
    y = (2 * table["fixed"] + 0.5 * table["up"] + 0.3 * rng.normal(size=600) > 0.5).astype(int).to_numpy()
    directions = {"fixed": "fixed", "up": "increase", "free": "free"}
    schema = ht.Schema(
        [ht.Feature(name=n, kind="numeric", bounds=(-90, 90), direction=d) for n, d in directions.items()]  # type: ignore
    )
    return schema, table, y


@pytest.fixture(scope="module")
def small(people):
    schema, table, y = people
    encoder = Encoder.fit(schema, table, "standard")
    x = jnp.asarray(encoder.encode(table)[:50], jnp.float32)
    weight = jnp.asarray(np.random.default_rng(1).uniform(0.5, 2, 50), jnp.float32)
    return TrainingContext(Permits.of(encoder), 1), Data(x, jnp.asarray(y[:50]), weight)


def test_weight_zero_is_plain_training(people):
    schema, table, y = people
    options = {"schema": schema, "model": MLP(widths=(8,), dropout=0.2), "random_state": 3, "scaling": "standard"}
    sizes = {"n_epochs": 4, "class_weight": "balanced", "weight_decay": 0.01}
    plain = ht.RecourseClassifier(regime=StandardTraining(**sizes), **options).fit(table, y)
    none = ht.RecourseClassifier(regime=RecourseTraining(recourse_weight=0.0, **sizes), **options).fit(table, y)
    np.testing.assert_allclose(none.predict_proba(table), plain.predict_proba(table), atol=2e-6)


@eqx.filter_jit
def loss(step, model, data):
    return step.loss(model, data, None, jnp.asarray(0))


def test_loss_is_equation_1(small):
    """For a linear model the inner minimum over a box is known, so the loss is, too."""
    context, data = small
    model = Linear().build(3, 2, jax.random.key(0))
    w, b = np.array([0.7, -0.8, 0.9]), 0.2
    model = eqx.tree_at(lambda m: (m.weight, m.bias), model,
                        (jnp.asarray([0 * w, w], jnp.float32), jnp.asarray([0.0, b], jnp.float32)))  # fmt: skip
    z = np.asarray(data.x, np.float64) @ w + b
    best = z + 0.75 * 0.9  # "up" would have to fall, and may not
    owed, sign = np.logaddexp(0, -best), 2 * np.asarray(data.y) - 1
    expected = np.average(np.logaddexp(0, -sign * z) + 0.6 * owed, weights=data.weight)
    for action in ("linear", "gradient", "lattice"):
        step = RecourseTraining(recourse_weight=0.6, action=action).step(context)
        assert float(loss(step, model, data)) == pytest.approx(expected, rel=1e-5)
    turned = RecourseTraining(recourse_weight=0.6, direction="code").step(context)
    lowest = np.logaddexp(0, -(z - 0.75 * 0.9 - 0.75 * 0.8))
    wrong = np.average(np.logaddexp(0, -sign * z) + 0.6 * lowest, weights=data.weight)
    assert float(loss(turned, model, data)) == pytest.approx(wrong, rel=1e-5)


@pytest.mark.parametrize("action", ["linear", "lattice"])
def test_gradient_is_that_of_the_minimum(small, action):
    """The action is held fixed, which is right: the derivative of a minimum is that at the minimiser."""
    context, data = small
    step = RecourseTraining(recourse_weight=0.8, action=action).step(context)
    model = MLP(widths=(6,), activation="tanh").build(3, 2, jax.random.key(2))
    loss = eqx.filter_jit(lambda m: step.loss(m, data, None, jnp.asarray(0)))
    grads = eqx.filter_grad(loss)(model)
    rng = np.random.default_rng(0)
    for _ in range(5):
        towards = jax.tree.map(
            lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), eqx.filter(model, eqx.is_array)
        )
        slope = sum(jnp.vdot(g, t) for g, t in zip(jax.tree.leaves(grads), jax.tree.leaves(towards), strict=True))
        ahead, behind = (loss(eqx.apply_updates(model, jax.tree.map(lambda t, h=h: h * t, towards)))
                         for h in (1e-3, -1e-3))  # fmt: skip
        assert float((ahead - behind) / 2e-3) == pytest.approx(float(slope), rel=0.02, abs=2e-3)


def share(clf, table):
    refused = table[clf.predict(table) == 0]
    return float(clf.recourse(refused, method=ht.LinearProgram(radius=0.75)).found.mean())


def test_training_for_recourse_gives_it(people):
    schema, table, y = people
    made = {}
    for weight in (0.0, 0.8):
        regime = RecourseTraining(recourse_weight=weight, n_epochs=60, step_size=0.01, batch_size=60)
        clf = ht.RecourseClassifier(
            schema=schema, model=MLP(widths=(16,)), regime=regime, scaling="standard", random_state=0
        ).fit(table, y)
        made[weight] = (share(clf, table), clf.score(table, y))
    assert made[0.8][0] > made[0.0][0] + 0.3
    assert made[0.8][1] > 0.75  # and not by saying yes to everybody


def test_a_finite_list_of_edits(tmp_path):
    table, y = small_world.people()
    regime = RecourseTraining(action="edits", edits=[{"income": 10}, {"housing=own": 1}], n_epochs=2)
    clf = ht.RecourseClassifier(schema=small_world.SCHEMA, model=MLP(widths=(4,)), regime=regime).fit(table, y)
    clf.save(tmp_path / "model.ht")
    again = ht.RecourseClassifier.load(tmp_path / "model.ht")
    assert [dict(e) for e in again.regime.edits] == [{"income": 10}, {"housing=own": 1}]


def test_what_cannot_be_is_said(small):
    context, _ = small
    for options, words in (
        ({"recourse_weight": -1}, "`recourse_weight` must be a number of at least 0; got -1"),
        ({"radius": 0.0}, "`radius` must be a number above 0"),
        ({"action": "guess"}, "`action` must be .*; got 'guess'"),
        ({"action": "edits"}, "needs `edits`"),
        ({"action": "lattice", "direction": "code"}, "'paper' unless action='linear'"),
    ):
        with pytest.raises(DataError, match=words):
            RecourseTraining(**options).step(context)
