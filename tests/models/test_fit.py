"""The fitting loop against known answers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from holdtrue.models import MLP, Data, Linear, fit, fit_many
from holdtrue.training import CrossEntropyStep, StandardTraining


def step(size=0.01, decay=0.0):
    return CrossEntropyStep(jnp.asarray(size), jnp.asarray(decay))


def blobs(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    x = rng.normal(size=(n, d)) + 0.8 * (2 * y[:, None] - 1)
    return Data(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.int32), jnp.ones(n))


def test_linear_model_reaches_the_logistic_regression_optimum():
    data = blobs()
    model, history = fit(
        Linear().build(3, 2, jax.random.key(0)), step(0.05), data, jax.random.key(1), n_epochs=600, batch_size=200
    )
    truth = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(np.asarray(data.x), np.asarray(data.y))
    np.testing.assert_allclose(model.weight[1] - model.weight[0], truth.coef_[0], rtol=1e-2, atol=1e-2)
    assert history.loss[-1] < history.loss[0]


def test_one_full_batch_epoch_is_one_adam_step():
    """Adam's first step has length step_size in every coordinate with a gradient."""
    data = blobs()
    start = Linear().build(3, 2, jax.random.key(0))
    model, _ = fit(start, step(0.01), data, jax.random.key(1), n_epochs=1, batch_size=len(data.x))
    np.testing.assert_allclose(np.abs(model.weight - start.weight), 0.01, rtol=1e-3)


def test_weight_two_is_a_repeated_row():
    data = blobs(40)
    weight = np.ones(40, np.float32)
    weight[5] = 2
    twice = Data(jnp.vstack([data.x, data.x[5:6]]), jnp.append(data.y, data.y[5]), jnp.ones(41))
    start = MLP(widths=(8,)).build(3, 2, jax.random.key(0))
    a, _ = fit(
        start, step(), data._replace(weight=jnp.asarray(weight)), jax.random.key(1), n_epochs=20, batch_size=99
    )
    b, _ = fit(start, step(), twice, jax.random.key(1), n_epochs=20, batch_size=99)
    np.testing.assert_allclose(a.weights[0], b.weights[0], rtol=1e-3, atol=1e-4)


def test_the_last_incomplete_batch_counts_for_what_it_holds():
    """33 rows in batches of 32: the 33rd row is a batch of its own, not diluted by the filling."""
    data = blobs(33)
    model, history = fit(
        Linear().build(3, 2, jax.random.key(0)), step(0.0), data, jax.random.key(1), n_epochs=1, batch_size=32
    )
    np.testing.assert_allclose(history.loss[0], np.log(2), rtol=1e-5)
    assert not np.isnan(np.asarray(model.weight)).any()


def test_early_stopping_keeps_the_best_model():
    data, held = blobs(60, seed=1), blobs(60, seed=2)
    start = MLP(widths=(64,)).build(3, 2, jax.random.key(0))
    options = {"n_epochs": 300, "batch_size": 16}
    model, history = fit(start, step(0.02), data, jax.random.key(1), validation=held, patience=5, **options)
    n = int(history.n_epochs)
    losses = np.asarray(history.validation_loss[:n])
    assert n < 300
    assert np.isnan(np.asarray(history.loss[n:])).all()
    assert n - 1 - losses.argmin() == 5
    np.testing.assert_allclose(step().validate(model, held), losses.min(), rtol=1e-5)


def test_progress_is_told():
    seen = []
    fit(
        Linear().build(3, 2, jax.random.key(0)),
        step(),
        blobs(),
        jax.random.key(1),
        n_epochs=4,
        batch_size=50,
        on_epoch=lambda epoch, loss: seen.append((epoch, loss)),
    )
    assert sorted(e for e, _ in seen) == [0, 1, 2, 3]
    assert all(np.isfinite(loss) for _, loss in seen)


def test_a_new_step_size_does_not_compile_again():
    from holdtrue.models import _fit

    data, start = blobs(), Linear().build(3, 2, jax.random.key(0))
    fit(start, step(0.01), data, jax.random.key(1), n_epochs=2, batch_size=50)
    before = _fit._fit._cached._cache_size()
    fit(start, step(0.5), data, jax.random.key(2), n_epochs=2, batch_size=50)
    assert _fit._fit._cached._cache_size() == before


@pytest.mark.parametrize("strategy", ["threads", "vmap"])
def test_many_fits_equal_single_fits(strategy):
    data = blobs(50)
    models = [MLP(widths=(8,)).build(3, 2, jax.random.key(i)) for i in range(4)]
    keys = [jax.random.key(10 + i) for i in range(4)]
    sets = [data._replace(weight=data.weight.at[i].set(0)) for i in range(4)]
    many = fit_many(models, step(), sets, keys, n_epochs=5, batch_size=16, strategy=strategy)
    for i in range(4):
        alone, _ = fit(models[i], step(), sets[i], keys[i], n_epochs=5, batch_size=16)
        for a, b in zip(
            jax.tree.leaves(eqx.filter(many[i], eqx.is_array)),
            jax.tree.leaves(eqx.filter(alone, eqx.is_array)),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_class_weights():
    regime = StandardTraining(class_weight="balanced")
    y = np.array([0, 0, 0, 1])
    weights = regime.weights(y, np.ones(4), np.array(["a", "b"]))
    np.testing.assert_allclose(weights, [2 / 3, 2 / 3, 2 / 3, 2])
    regime = StandardTraining(class_weight={"b": 5.0})
    np.testing.assert_allclose(regime.weights(y, np.ones(4), np.array(["a", "b"])), [1, 1, 1, 5])
