"""The network that is told numbers piece by piece."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import holdtrue as ht
from holdtrue.models import Data, PiecewiseMLP
from holdtrue.models._piecewise import knots_of


def rows(values):
    x = jnp.asarray(np.asarray(values, np.float32)[:, None])
    return Data(x, jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))


def test_pieces_are_shares_between_quantiles():
    model = PiecewiseMLP(n_pieces=4).build(1, 2, jax.random.key(0)).prepared(rows([0, 1, 2, 3, 1000]))
    # Knots at the quartiles 0, 1, 2, 3 and 1000: the tail is one piece.
    assert model.pieces(jnp.asarray([2.5])).tolist() == [2.5, 1.0, 1.0, 0.5, 0.0]
    assert model.pieces(jnp.asarray([501.5])).tolist() == [501.5, 1.0, 1.0, 1.0, 0.5]
    assert model.pieces(jnp.asarray([-1.0])).tolist() == [-1.0, 0.0, 0.0, 0.0, 0.0]


def test_a_value_that_many_have_leaves_the_knots_to_the_others():
    values = np.asarray([0] * 95 + [1, 2, 3, 4, 5], np.float32)
    assert knots_of(values, 4).tolist() == [0, 2, 3, 5]
    assert knots_of(values[:95], 3).tolist() == [0, 0, 0]


def test_a_value_that_many_have_makes_an_empty_piece():
    model = PiecewiseMLP(n_pieces=4).build(1, 2, jax.random.key(0)).prepared(rows([0, 0, 0, 0, 8]))
    assert model.pieces(jnp.asarray([4.0])).tolist() == [4.0, 0.5, 0.0, 0.0, 0.0]
    assert np.isfinite(jax.jacobian(model.logits)(jnp.asarray([0.0]))).all()


def test_rows_of_no_weight_have_no_say():
    data = rows([0, 1, 2, 3, 4, 1e6])
    data = data._replace(weight=jnp.asarray([1.0, 1, 1, 1, 1, 0]))
    start = PiecewiseMLP(n_pieces=4).build(1, 2, jax.random.key(0))
    assert (start.prepared(data).knots == start.prepared(rows([0, 1, 2, 3, 4])).knots).all()


def test_neither_training_nor_decay_moves_a_knot():
    bank = ht.datasets.load("loanapp")
    X = bank.X[["loanprc", "obrat"]].iloc[:150]
    regime = ht.EarlyStopping(n_epochs=3, weight_decay=10.0)
    schema, model = (
        ht.Schema([bank.schema["loanprc"], bank.schema["obrat"]]),
        PiecewiseMLP(n_pieces=4, widths=(4,)),
    )
    clf = ht.RecourseClassifier(schema=schema, model=model, regime=regime, hold=None, random_state=0)
    with pytest.warns(ht.errors.QualityWarning, match="logistic regression of the same rows does better"):
        clf.fit(X, bank.y[:150])  # three epochs, and weights pulled to nothing
    assert clf.beside_.behind == ("logistic regression",)
    assert clf.beside_.n_rows == 23
    assert clf.beside_.auc["model"] < clf.beside_.auc["logistic regression"]
    model = clf.predictor_.decision.model
    knots = np.asarray(model.knots).view(np.float32)
    x = np.asarray(clf.training_.data.x)
    for column in (0, 1):
        assert np.isin(knots[column], x[:, column]).all()
    again = clf.retrain(2, vary="seed")
    assert all((again.member(i).decision.model.knots == model.knots).all() for i in (0, 1))
