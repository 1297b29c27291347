"""The model that is a sum of curves, and is solved for."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import holdtrue as ht
from holdtrue.errors import CapabilityError
from holdtrue.models import Data, solve_additive
from holdtrue.models import _additive as additive

BANK = ht.datasets.load("loanapp")
NAMES = ["loanprc", "obrat"]
SCHEMA = ht.Schema([BANK.schema[name] for name in NAMES])


def rows(x, y, weight=None):
    x = np.asarray(x, np.float32)
    return Data(*map(jnp.asarray, (x, np.asarray(y, np.int32), np.ones(len(x)) if weight is None else weight)))


def some_rows(k=2, n=60):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, 2)).astype(np.float32)
    return rows(x, rng.integers(0, k, n) if k > 2 else x[:, 0] + 0.5 * rng.normal(size=n) > 0.5)


def solved(data, k=2, penalty=1.0, n_pieces=2):
    start = ht.Additive(n_pieces=n_pieces).build(2, k, jax.random.key(0)).prepared(data)
    return start, solve_additive(start, data, penalty)


@pytest.mark.parametrize(("k", "penalty"), [(2, 1.0), (2, 0.1), (3, 1.0)])
def test_it_is_the_minimum_of_what_it_says_it_minimises(k, penalty):
    data = some_rows(k)
    start, (model, history) = solved(data, k, penalty)
    inputs = np.asarray(jax.vmap(start.pieces)(data.x), np.float64)
    inputs = np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1)
    price = np.asarray([additive.STRAIGHT * penalty] * 2 + [additive.BEND * penalty] * 4 + [additive.BIAS])

    def value(flat):
        # Two classes have one score, of which each logit is a half.
        scores = np.stack([np.zeros(len(inputs)), inputs @ flat]) if k == 2 else flat.reshape(k, -1) @ inputs.T
        logs = scores - np.logaddexp.reduce(scores, axis=0)
        return -logs[np.asarray(data.y), np.arange(len(inputs))].sum() + 0.5 * np.sum(
            price * flat.reshape(-1, 7) ** 2
        )

    own = np.concatenate([model.network.weights[0], model.network.biases[0][:, None]], axis=1).astype(np.float64)
    flat = own[1] - own[0] if k == 2 else own.ravel()
    best = minimize(value, np.zeros_like(flat), method="BFGS", options={"gtol": 1e-7})
    assert value(flat) == pytest.approx(best.fun, abs=1e-4)
    np.testing.assert_allclose(flat, best.x, atol=2e-3)
    assert float(history.loss[1]) < float(history.loss[0]) == pytest.approx(np.log(k))


def test_what_the_host_makes_of_a_row_is_what_the_model_makes_of_it():
    data = some_rows()
    _, (model, _) = solved(data, n_pieces=5)
    own = additive.pieces_of(np.asarray(data.x), np.asarray(model.knots).view(np.float32))
    np.testing.assert_allclose(own, jax.vmap(model.pieces)(data.x), atol=1e-6)


def test_columns_add_up():
    _, (model, _) = solved(some_rows(), n_pieces=4)
    assert model.capabilities == {"differentiable", "additive"}
    assert ht.PiecewiseMLP().build(2, 2, jax.random.key(0)).capabilities == {"differentiable"}
    a, b, c, d = (model.logits(jnp.asarray(x)) for x in itertools.product((0.2, 0.9), (0.1, 0.7)))
    np.testing.assert_allclose(a + d, b + c, atol=1e-5)


def test_a_weight_of_two_is_a_row_twice_and_a_class_may_be_missing():
    data = some_rows()
    twice = rows(np.concatenate([data.x, data.x[:9]]), np.concatenate([data.y, data.y[:9]]))
    weighted = data._replace(weight=data.weight.at[:9].set(2.0))
    start, (a, _) = solved(weighted)
    b, _ = solve_additive(start, twice, 1.0)
    np.testing.assert_allclose(a.network.weights[0], b.network.weights[0], atol=1e-5)
    alone, _ = solve_additive(start, data._replace(weight=jnp.where(data.y == 1, data.weight, 0.0)), 1.0)
    assert np.isfinite(alone.network.weights[0]).all()
    assert (jax.vmap(alone.logits)(data.x).argmax(axis=1) == 1).all()


def test_many_classes_are_solved_without_second_derivatives(monkeypatch):
    data = some_rows(3)
    _, (a, _) = solved(data, 3)
    monkeypatch.setattr(additive, "WIDEST", 0)
    _, (b, _) = solved(data, 3)
    np.testing.assert_allclose(a.network.weights[0], b.network.weights[0], atol=5e-3)


def test_it_is_the_default_and_a_file_says_so(tmp_path):
    X, y = BANK.X[NAMES][:400], BANK.y[:400]
    clf = ht.RecourseClassifier(schema=SCHEMA, hold=None, random_state=0).fit(X, y)
    assert isinstance(clf.regime_, ht.AdditiveTraining)
    assert isinstance(clf.architecture(), ht.Additive)
    # It has learned from every row; what it is compared by was solved once more without some.
    assert set(clf.beside_.auc) == {"model", "logistic regression", "histogram boosting"}
    other = ht.RecourseClassifier(schema=SCHEMA, model="additive", hold=None, random_state=7).fit(X, y)
    assert (other.predict_proba(X) == clf.predict_proba(X)).all()
    clf.save(tmp_path / "m.holdtrue")
    again = ht.load(tmp_path / "m.holdtrue")
    assert isinstance(again.regime_, ht.AdditiveTraining)
    assert (again.predict_proba(X) == clf.predict_proba(X)).all()


def test_a_retraining_differs_by_its_rows_and_not_by_its_seed():
    X, y = BANK.X[NAMES][:400], BANK.y[:400]
    clf = ht.RecourseClassifier(schema=SCHEMA, hold=None, random_state=0).fit(X, y)
    with pytest.raises(CapabilityError, match="every seed gives the same model"):
        clf.retrain(2, vary="seed")
    again = clf.retrain(3)
    assert again.vary == "bootstrap"
    assert len(set(again.digests())) == 3
    assert ht.retrain(clf, n=2).vary == "bootstrap"
    tuned = clf.retrain(2, vary="finetune")
    assert len(set(tuned.digests())) == 2
    model = clf.predictor_.decision.model
    for i in range(2):
        own = tuned.member(i).decision.model
        assert (own.knots == model.knots).all()
        assert not np.array_equal(own.network.weights[0], model.network.weights[0])


def test_a_model_whose_columns_do_not_add_up_is_refused():
    clf = ht.RecourseClassifier(schema=SCHEMA, model=ht.MLP(), regime=ht.AdditiveTraining(), hold=None)
    with pytest.raises(
        CapabilityError, match="AdditiveTraining: needs a model whose columns add up; got MLPModel"
    ):
        clf.fit(BANK.X[NAMES][:200], BANK.y[:200])


def test_more_penalty_is_less_bend():
    data = some_rows()
    sizes = [float(jnp.abs(solved(data, penalty=p)[1][0].network.weights[0]).sum()) for p in (0.1, 1.0, 10.0)]
    assert sizes == sorted(sizes, reverse=True)
