"""The worst case over coefficients, against corners and samples of the ball."""

import itertools

import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.search import worst_drop

X = np.array([0.5, -2.0, 0.0, 1.5])


@pytest.mark.parametrize("intercept", [True, False])
def test_linf_worst_case_is_at_a_corner(intercept):
    extended = np.r_[X, float(intercept)]
    corners = np.array(list(itertools.product((-0.1, 0.1), repeat=5)))
    assert float(worst_drop(jnp.asarray(X), jnp.asarray(0.1), "linf", intercept)) == pytest.approx(
        (-corners @ extended).max(), abs=1e-6
    )
    assert (-corners @ extended).max() == pytest.approx(0.1 * (np.abs(X).sum() + intercept))


@pytest.mark.parametrize("intercept", [True, False])
def test_l2_worst_case_bounds_every_sample_and_is_reached(intercept):
    extended = np.r_[X, float(intercept)]
    drop = float(worst_drop(jnp.asarray(X), jnp.asarray(0.1), "l2", intercept))
    d = np.random.default_rng(0).normal(size=(100_000, 5))
    d = 0.1 * d / np.linalg.norm(d, axis=1, keepdims=True)
    falls = -d @ extended
    assert falls.max() <= drop + 1e-6
    assert falls.max() > 0.95 * drop
    assert 0.1 * extended @ extended / np.linalg.norm(extended) == pytest.approx(drop, abs=1e-6)
