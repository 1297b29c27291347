"""Integrated gradients, shares of sensitivity, and the attack of Carlini and Wagner, against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.metrics import carlini_wagner, integrated_gradients, sensitivity_share, undecided_baseline
from holdtrue.models import MLP, LinearModel


def test_a_linear_score_is_owed_to_weight_times_difference():
    rng = np.random.default_rng(0)
    w, x, base = (jnp.asarray(rng.normal(size=4), jnp.float32) for _ in range(3))
    parts = integrated_gradients(lambda at: w @ at + 3.0, x, base, n_steps=3)
    np.testing.assert_allclose(parts, w * (x - base), rtol=1e-5)


def test_a_cubic_score_against_its_integral():
    """Of x^3 from b, all is owed to x; of x * y from 0, half to each."""
    score = lambda at: at[0] ** 3 + at[0] * at[1]  # noqa: E731
    x, base = jnp.asarray([2.0, 3.0]), jnp.zeros(2)
    np.testing.assert_allclose(integrated_gradients(score, x, base, n_steps=200), [8.0 + 3.0, 3.0], rtol=1e-4)


def test_the_parts_of_a_network_add_up_to_the_difference_of_scores():
    model = MLP(widths=(16,)).build(5, 3, jax.random.key(0))
    rng = np.random.default_rng(1)
    rows = jnp.asarray(rng.normal(size=(20, 5)), jnp.float32)
    bases = jnp.asarray(rng.uniform(-1, 1, size=(20, 5)), jnp.float32)
    gaps = []
    for n_steps in (4, 400):
        parts = jax.vmap(
            lambda x, b, n=n_steps: integrated_gradients(lambda at: model.logits(at)[2], x, b, n_steps=n)
        )(rows, bases)
        whole = jax.vmap(lambda x, b: model.logits(x)[2] - model.logits(b)[2])(rows, bases)
        gaps.append(float(jnp.max(jnp.abs(parts.sum(axis=1) - whole))))
    assert gaps[1] < 0.005 < gaps[0]


def test_the_undecided_baseline_of_a_linear_model_lies_on_its_boundary():
    model = LinearModel(jnp.asarray([[0.0, 0.0], [1.5, -1.0]]), jnp.asarray([0.0, 0.4]))
    start = jnp.asarray([1.0, -0.5])
    end = undecided_baseline(model, start, n_steps=500, step_size=0.5)
    logits = model.logits(end)
    assert float(logits[1] - logits[0]) == pytest.approx(0.0, abs=1e-2)
    w = np.array([1.5, -1.0])
    moved = np.asarray(end - start)
    assert abs(moved @ w) == pytest.approx(np.linalg.norm(moved) * np.linalg.norm(w), rel=1e-4)  # straight across


def test_shares_of_sensitivity():
    values = [[1.0, -1.0, 2.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(sensitivity_share(values, [0, 1]), [0.5, np.nan])
    np.testing.assert_allclose(sensitivity_share(values, [2, 2])[0], 0.5)
    with pytest.raises(DataError, match="`columns` must be columns"):
        sensitivity_share(values, [3])


def test_carlini_wagner_finds_the_foot_of_the_perpendicular():
    w, b = jnp.asarray([1.0, -2.0, 0.5]), 0.3
    rows = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)), jnp.float32)
    sign = jnp.sign(rows @ w + b)
    moved = jax.jit(jax.vmap(lambda x, s: carlini_wagner(lambda at: s * (w @ at + b), x)))(rows, sign)
    assert (sign * (moved @ w + b) < 0).all()
    nearest = np.abs(rows @ w + b) / np.linalg.norm(w)
    np.testing.assert_allclose(np.linalg.norm(moved - rows, axis=1), nearest, rtol=0.05, atol=0.01)


def test_carlini_wagner_stays_where_nothing_turns():
    x = jnp.asarray([1.0, 2.0])
    np.testing.assert_array_equal(carlini_wagner(lambda at: 1.0 + 0.0 * at[0], x, n_steps=3, n_rounds=2), x)
