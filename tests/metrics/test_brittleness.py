"""Noise against the normal distribution, DeepFool against the distance to a plane."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from holdtrue.metrics import deepfool, kept_under_noise, told_apart


def test_noise_turns_a_linear_decision_as_often_as_it_should():
    x = np.linspace(-0.3, 0.3, 13)[:, None] * [1.0, 0.0] + [0.0, 5.0]
    weight = np.array([2.0, 7.0])

    def decide(rows):
        return rows @ weight > 35

    kept = kept_under_noise(decide, x, [True, False], deviation=0.1, n_draws=4000)
    np.testing.assert_allclose(kept, norm.cdf(np.abs(x[:, 0]) / 0.1), atol=0.025)


def test_deepfool_goes_straight_to_a_plane():
    weight = jnp.asarray([3.0, -4.0, 12.0])
    x = jnp.asarray(np.random.default_rng(0).normal(size=(20, 3)), jnp.float32)

    def margin(row):
        return weight @ row + 0.5

    moved = np.asarray(jax.jit(jax.vmap(lambda row: deepfool(margin, row, jnp.asarray([1.0, 1.0, 0.0]))))(x))
    before, after = np.asarray(jax.vmap(margin)(x)), np.asarray(jax.vmap(margin)(jnp.asarray(moved)))
    assert (np.sign(before) != np.sign(after)).all()
    np.testing.assert_allclose(np.linalg.norm(moved - np.asarray(x), axis=1), 1.02 * np.abs(before) / 5, rtol=1e-4)
    assert (moved[:, 2] == np.asarray(x)[:, 2]).all()


def test_deepfool_is_as_near_as_a_fine_search():
    """A curved boundary in the plane: within a few percent of the nearest point that brute force finds."""
    x = jnp.asarray(np.random.default_rng(1).uniform(-1, 1, size=(30, 2)), jnp.float32)

    def margin(row):
        return row[0] ** 2 + 2 * row[1] ** 2 + 0.3 * row[0] * row[1] - 0.5

    moved = np.asarray(jax.jit(jax.vmap(lambda row: deepfool(margin, row, jnp.ones(2))))(x))
    grid = np.stack(np.meshgrid(*[np.linspace(-2, 2, 801)] * 2), axis=-1).reshape(-1, 2)
    values = np.asarray(jax.vmap(margin)(jnp.asarray(grid)))
    for row, point in zip(np.asarray(x), moved, strict=True):
        across = np.sign(values) != np.sign(float(margin(row)))
        nearest = np.linalg.norm(grid[across] - row, axis=1).min()
        assert np.sign(float(margin(point))) != np.sign(float(margin(row)))
        assert np.linalg.norm(point - row) < 1.5 * nearest + 0.02


def test_told_apart_guesses_where_there_is_nothing_to_see():
    rng = np.random.default_rng(0)
    same = told_apart(rng.normal(size=(600, 3)), rng.normal(size=(600, 3)))
    assert all(abs(v - 0.5) < 0.07 for v in same.values())
    moved = told_apart(rng.normal(size=(600, 3)), rng.normal(size=(900, 3)) + np.array([0, 2, 0]))
    bayes = norm.cdf(1.0)
    assert abs(moved["logistic regression"] - bayes) < 0.05
