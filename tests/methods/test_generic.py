"""Generic and ECCCo: one step by hand, the stopping rule, the energy."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import ECCCo, Generic
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Status
from holdtrue.search._losses import Reply
from holdtrue.testing import _world as world

W = np.array([0.8, -0.4, 0.2], np.float32)


def linear(n_classes=2, threshold=0.5):
    table = pd.DataFrame(np.random.default_rng(0).uniform(-2, 2, (40, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-30, 30)) for c in table])
    fitted = Encoder.fit(schema, table)
    ones = np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    weight = np.stack([0 * W, W]) if n_classes == 2 else np.stack([0 * W, W, W[::-1]])
    model = LinearModel(weight, np.zeros(n_classes, np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(threshold), 1), np.arange(n_classes))
    refused = table[predictor.decide_of(predictor.logits_of(table.to_numpy())) != 1]
    return predictor, refused


def rows(plan):
    return np.column_stack([plan.recourse.columns[c] for c in plan.recourse.columns])


def descend(x, n_steps, step_size, cost_weight, energy_weight=0.0, stop=0.5):
    """The search in plain numpy, for one person and two classes: (end, steps until p reached `stop`)."""
    factual, b = x.copy(), max(round(n_steps / 25), 1)
    for t in range(1, n_steps + 1):
        z = W @ x
        p = 1 / (1 + np.exp(-z))
        if p >= stop:
            return x, t
        slope = -(1 - p) * W
        slope = slope + energy_weight * b / 10 * (b + t) ** -0.9 * (-1 + 0.002 * z) * W
        change = x - step_size * slope - factual
        x = factual + np.sign(change) * np.maximum(np.abs(change) - step_size * cost_weight, 0)
    return None, n_steps


@pytest.mark.parametrize("stop", [0.5, 0.75])
@pytest.mark.parametrize("energy_weight", [0.0, 5.0])
def test_the_path_is_that_of_the_objective(stop, energy_weight):
    predictor, X = linear()
    options = {"n_steps": 200, "step_size": 0.1, "cost_weight": 0.01, "target_probability": stop + 1e-3}
    if energy_weight:
        plan = ECCCo(energy_weight=energy_weight, **options).fit(predictor).recourse(X)
    else:
        plan = Generic(**options).fit(predictor).recourse(X)
    assert plan.found.all()
    for i, x in enumerate(X.to_numpy()):
        end, n_steps = descend(x, 200, 0.1, 0.01, energy_weight, stop + 1e-3)
        assert plan.n_steps[i] == n_steps
        np.testing.assert_allclose(rows(plan)[i], end, atol=1e-3)


def test_the_search_stops_where_the_probability_is_reached():
    predictor, X = linear()
    near = Generic(n_steps=300).fit(predictor).recourse(X)
    far = Generic(n_steps=300, target_probability=0.9).fit(predictor).recourse(X)
    assert near.found.all()
    assert far.found.all()
    assert (near.after < 0.6).all()
    assert (far.after >= 0.9).all()
    assert (far.n_steps > near.n_steps).all()


def test_where_the_probability_is_out_of_reach_the_nearest_valid_point_is_kept():
    predictor, X = linear()
    plan = Generic(n_steps=60, target_probability=0.99999).fit(predictor).recourse(X)
    stopped = Generic(n_steps=60).fit(predictor).recourse(X)
    assert (plan.found == stopped.found).all()
    assert (plan.after[plan.found] > stopped.after[plan.found]).all()
    assert (plan.n_steps == 60).all()


def test_too_few_steps_find_nothing():
    predictor, X = linear()
    plan = Generic(n_steps=1).fit(predictor).recourse(X)
    assert (plan.status == int(Status.NOT_FOUND)).all()


def test_a_probability_outside_0_and_1_is_refused():
    predictor, X = linear()
    for method in (Generic, ECCCo):
        with pytest.raises(DataError, match=rf"{method.__name__}: `target_probability`"):
            method(target_probability=1.0).fit(predictor).recourse(X)


def test_the_set_size_changes_the_path_by_its_slope():
    """One step by hand: cross-entropy, energy, and the smooth size of the set where it exceeds kappa."""
    predictor, X = linear()
    rng = np.random.default_rng(0)
    table = X.sample(30, replace=True, random_state=0)
    y = rng.integers(0, 2, 30)
    options = {"conformal_weight": 2.0, "coverage": 0.8, "step_size": 0.05, "cost_weight": 0.0, "n_steps": 2}
    method = ECCCo(**options).fit(predictor, table, y)
    tau = float(method.state_["set_threshold"])
    own = 1 / (1 + np.exp(-table.to_numpy() @ W * (2 * y - 1)))
    assert tau == pytest.approx(np.sort(own)[int(0.2 * 31) - 1], abs=1e-5)

    solver, x = method.solver(), X.to_numpy()[0]
    logits = np.array([0.0, W @ x], np.float32)

    def penalty(z):
        p = np.array([1 / (1 + np.exp(z)), 1 / (1 + np.exp(-z))])
        return 2.0 * max(np.sum(1 / (1 + np.exp(-(p - tau) / 0.1))) - 1, 0)

    @jax.jit
    def loss(values):
        reply = Reply(values, values[1] - values[0], jnp.asarray(1), jnp.asarray(0))
        return solver.loss(reply) - solver.loss.loss(reply)

    numeric = (penalty(logits[1] + 1e-4) - penalty(logits[1] - 1e-4)) / 2e-4
    assert float(loss(jnp.asarray(logits))) == pytest.approx(penalty(logits[1]), abs=1e-4)
    assert float(jax.jit(jax.grad(loss))(jnp.asarray(logits))[1]) == pytest.approx(numeric, abs=1e-3)


def test_the_threshold_is_kept_in_files(tmp_path):
    table, y = world.people()
    method = ECCCo(conformal_weight=0.1, n_steps=200)
    clf = ht.RecourseClassifier(schema=world.PLAIN, model=ht.Linear(), method=method, random_state=0).fit(table, y)
    plan = clf.recourse(table[clf.predict(table) == 0].head(8))
    assert plan.found.mean() > 0.5
    clf.save(tmp_path / "model.ht")
    again = ht.RecourseClassifier.load(tmp_path / "model.ht").recourse(plan.factual.native)
    np.testing.assert_allclose(again.cost, plan.cost, rtol=1e-4)


def test_calibration_needs_rows_only_where_the_set_counts():
    predictor, X = linear()
    ECCCo().fit(predictor)
    with pytest.raises(DataError, match="ECCCo: a `conformal_weight` needs rows"):
        ECCCo(conformal_weight=1.0).fit(predictor)
    with pytest.raises(DataError, match="ECCCo: `y` must hold"):
        ECCCo(conformal_weight=1.0).fit(predictor, X, np.full(len(X), 7))
    for options in ({"coverage": 1.0}, {"temperature": 0.0}, {"conformal_weight": -1.0}):
        with pytest.raises(DataError, match=f"ECCCo: `{next(iter(options))}`"):
            ECCCo(**({"conformal_weight": 1.0} | options)).fit(predictor, X, np.zeros(len(X), int))
