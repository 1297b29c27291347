"""Tangents and LIME against models whose coefficients are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.models import LinearModel, Neighbourhood, lime, linearise, solve_positive

RNG = np.random.default_rng(0)


def test_elimination_solves():
    root = RNG.normal(size=(30, 12))
    matrix, right = root.T @ root + np.eye(12), RNG.normal(size=(12, 2))
    x = solve_positive(jnp.asarray(matrix, jnp.float32), jnp.asarray(right, jnp.float32))
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-3, atol=1e-4)


def test_tangent_agrees_with_the_model_to_second_order():
    model = ht.MLP(widths=(8,), activation="tanh").build(4, 3, jax.random.key(0))
    x, step = jnp.asarray(RNG.normal(size=4), jnp.float32), jnp.asarray(RNG.normal(size=4), jnp.float32)
    tangent = eqx.filter_jit(linearise)(model, x)
    np.testing.assert_allclose(tangent.logits(x), model.logits(x), atol=1e-5)
    errors = [
        float(jnp.abs(tangent.logits(x + t * step) - model.logits(x + t * step)).max()) for t in (0.04, 0.02)
    ]
    assert errors[1] < 0.35 * errors[0]  # a quarter, were there no higher orders


def neighbourhood(n=400):
    table = pd.DataFrame(
        {"a": RNG.normal(size=n), "b": RNG.normal(size=n), "c": RNG.choice(list("xyz"), n, p=[0.6, 0.3, 0.1])}
    )
    schema = ht.Schema(
        [*(ht.Feature(name=k, kind="numeric") for k in "ab"), ht.Feature(name="c", kind="categorical")]
    )
    encoder = Encoder.fit(schema, table)
    rows = encoder.encode(table).astype(np.float32)
    return Neighbourhood.of(encoder, Neighbourhood.statistics(encoder, rows), 0.1), rows


def test_neighbours_are_near_in_numbers_and_as_frequent_in_levels():
    around, rows = neighbourhood()
    draw = jax.jit(jax.vmap(lambda k: around.draw(jnp.asarray(rows[0]), k)))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(1), 4000)))
    np.testing.assert_allclose(drawn[:, :2].std(axis=0), 0.1, rtol=0.1)
    np.testing.assert_allclose(drawn[:, 2:].mean(axis=0), rows[:, 2:].mean(axis=0), atol=0.03)
    np.testing.assert_allclose(drawn[:, 2:].sum(axis=1), 1.0, atol=1e-6)


def test_lime_recovers_a_linear_model():
    around, rows = neighbourhood()
    weight = jnp.asarray([[0, 0, 0, 0, 0], [3.0, -2.0, 1.0, 0.0, -1.0]])
    model = LinearModel(weight, jnp.asarray([0.0, 0.5]))
    x = jnp.asarray(rows[0])
    found = eqx.filter_jit(lime)(model, x, jax.random.key(0), around, 2000)
    gap = np.asarray(found.weight[1] - found.weight[0])
    np.testing.assert_allclose(gap[:2], [3.0, -2.0], rtol=0.02)
    # Levels count relative to each other only.
    np.testing.assert_allclose(gap[2:] - gap[3], [1.0, 0.0, -1.0], atol=0.05)
    logits = found.logits(x)
    np.testing.assert_allclose(logits, model.logits(x), atol=1e-4)
