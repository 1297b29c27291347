"""Autoencoders against principal components, closed forms and finite differences."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.models import (
    Data,
    ReconstructionStep,
    Rows,
    build_autoencoder,
    build_vae,
    fit,
    gaussian_kl,
    in_double,
    to_arrays,
    with_arrays,
)
from holdtrue.schema import as_table
from holdtrue.testing import _world as world


def train(model, x, n_epochs, beta=0.0, step_size=1e-2, batch_size=256):
    step = ReconstructionStep(jnp.asarray(step_size), jnp.asarray(0.0), jnp.asarray(beta), jnp.asarray(n_epochs))
    data = Data(jnp.asarray(x, jnp.float32), jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))
    return fit(model, step, data, jax.random.key(1), n_epochs=n_epochs, batch_size=batch_size)


@pytest.fixture(scope="module")
def gaussian():
    """Five numbers near a plane, as encoded rows, with an encoder that leaves them as they are."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(256, 5))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    table = pd.DataFrame(x, columns=list("abcde"))
    encoder = Encoder.fit(ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-9, 9)) for c in table]), table)
    one = np.ones(5)
    return Encoder(encoder.schema, "minmax", encoder.layout, one, 0 * one, one, {}), x


@pytest.fixture(scope="module")
def mixed():
    encoder = world.classifier().predictor_.encoder
    return encoder, encoder.encode(as_table(world.people()[0])).astype(np.float32)


def test_a_linear_autoencoder_spans_the_principal_components(gaussian):
    encoder, x = gaussian
    start = build_autoencoder(Rows.of(encoder, x), (), 2, (), jax.random.key(0))
    model, _ = train(start, x, 2000)
    principal = np.linalg.svd(x, full_matrices=False)[2][:2].T
    written = np.asarray(model.decoder.weights[0])
    assert np.rad2deg(subspace_angles(written, principal)).max() < 2.0
    before = np.rad2deg(subspace_angles(np.asarray(start.decoder.weights[0]), principal)).max()
    assert before > 10.0


def test_a_linear_autoencoder_leaves_the_other_components_as_error(gaussian):
    encoder, x = gaussian
    _, history = train(build_autoencoder(Rows.of(encoder, x), (), 2, (), jax.random.key(0)), x, 2000)
    left = np.linalg.svd(x, compute_uv=False)[2:]
    best = 0.5 * np.sum(left**2) / len(x)
    assert best * (1 - 1e-3) <= float(history.loss[-1]) <= best * 1.02


def test_kl_of_a_gaussian_is_its_expectation():
    rng = np.random.default_rng(0)
    mean, log_variance = np.array([0.5, -1.0]), np.array([0.3, -0.8])
    z = mean + np.exp(0.5 * log_variance) * rng.normal(size=(400_000, 2))
    log_q = -0.5 * np.sum((z - mean) ** 2 / np.exp(log_variance) + log_variance, axis=1)
    simulated = np.mean(log_q + 0.5 * np.sum(z**2, axis=1))
    assert float(gaussian_kl(jnp.asarray(mean), jnp.asarray(log_variance))) == pytest.approx(simulated, abs=0.01)
    assert float(gaussian_kl(jnp.zeros(3), jnp.zeros(3))) == 0.0


def test_the_bound_rises_in_training(mixed):
    encoder, x = mixed
    start = build_vae(Rows.of(encoder, x), (16,), 3, (), jax.random.key(0))
    model, _ = train(start, x, 60, beta=1.0)
    rows, keys = jnp.asarray(x), jax.random.split(jax.random.key(2), len(x))

    @eqx.filter_jit
    def loss(vae):
        return jnp.mean(jax.vmap(lambda row, key: vae.loss(row, key, jnp.asarray(1.0)))(rows, keys))

    def bound(vae):
        return -float(loss(vae))

    assert bound(model) > bound(start) + 1.0


def test_gradients_equal_finite_differences(mixed):
    encoder, x = mixed
    with jax.enable_x64(True):
        rows = in_double(Rows.of(encoder, x))
        vae = in_double(build_vae(rows, (6,), 2, (2, 4), jax.random.key(0)))
        row, key = x[0].astype(np.float64), jax.random.key(3)

        @jax.jit
        def loss(shift):
            bias = vae.encoder.biases[0] + shift
            moved = eqx.tree_at(lambda m: m.encoder.biases[0], vae, bias)
            return moved.loss(row, key, jnp.asarray(0.7))

        at, h = np.full(6, 0.01), 1e-6
        slope = np.asarray(jax.jit(jax.grad(loss))(at))
        for i, e in enumerate(h * np.eye(6)):
            difference = (float(loss(at + e)) - float(loss(at - e))) / (2 * h)
            assert slope[i] == pytest.approx(difference, rel=1e-4, abs=1e-6)


def test_scales_are_not_trained(mixed):
    encoder, x = mixed
    rows = Rows.of(encoder, x)
    model, _ = train(build_vae(rows, (8,), 2, (), jax.random.key(0)), x, 3)
    np.testing.assert_array_equal(model.rows.mean, rows.mean)
    np.testing.assert_array_equal(model.rows.spread, rows.spread)


def test_a_row_is_read_and_written_alike(mixed):
    """Writing what was read (categories as large logits) gives the row back; its likelihood is then perfect."""
    encoder, x = mixed
    rows = Rows.of(encoder, x)
    n = len(encoder.layout.numbers)
    seen = rows.read(jnp.asarray(x[0]))
    out = jnp.concatenate([seen[:n], 100.0 * seen[n : rows.n_written]])
    np.testing.assert_allclose(rows.write(out)[: rows.n_written], x[0][: rows.n_written], atol=1e-5)
    assert float(rows.loss(out, jnp.asarray(x[0]))) == pytest.approx(0.0, abs=1e-5)


def test_loss_of_numbers_and_categories_in_closed_form(mixed):
    """Writing nothing: half a squared standard score a number, the logarithm of the levels a category."""
    encoder, x = mixed
    rows = Rows.of(encoder, x)
    n = len(encoder.layout.numbers)
    score = (x[:, :n] - x[:, :n].mean(axis=0)) / x[:, :n].std(axis=0)
    chance = sum(np.log(g.stop - g.start) for g in encoder.layout.groups)
    loss = float(rows.loss(jnp.zeros(rows.n_written), jnp.asarray(x[7])))
    assert loss == pytest.approx(0.5 * np.sum(score[7] ** 2) + chance, rel=1e-4)


def test_what_is_given_steers_the_decoder(mixed):
    encoder, x = mixed
    vae = build_vae(Rows.of(encoder, x), (8,), 2, (2,), jax.random.key(0))
    z, row = jnp.zeros(2), jnp.asarray(x[0])
    assert bool(jnp.any(vae.decode(z, row) != vae.decode(z, row.at[2].add(0.5))))
    np.testing.assert_array_equal(vae.decode(z, row), vae.decode(z, row.at[0].add(0.5)))


def test_arrays_come_back(mixed):
    encoder, x = mixed
    rows = Rows.of(encoder, x)
    model, _ = train(build_vae(rows, (8,), 2, (2,), jax.random.key(0)), x, 3)
    blank = Rows.of(encoder, np.zeros_like(x[:1]))
    again = with_arrays(build_vae(blank, (8,), 2, (2,), jax.random.key(9)), to_arrays(model, "array/"), "array/")
    np.testing.assert_array_equal(model.encode(jnp.asarray(x[0])), again.encode(jnp.asarray(x[0])))
    with pytest.raises(ht.errors.DataError, match="do not fit"):
        with_arrays(build_vae(blank, (9,), 2, (2,), jax.random.key(9)), to_arrays(model, "array/"), "array/")
