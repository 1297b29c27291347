"""Projection onto a box cut by half-spaces, against closed forms and a quadratic program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from holdtrue.encoding import nearest_in_polytope

project = jax.jit(nearest_in_polytope)
WIDE = (jnp.full(3, -1e3), jnp.full(3, 1e3))


def f32(*arrays):
    return [jnp.asarray(a, jnp.float32) for a in arrays]


@pytest.mark.parametrize("repeat", [1, 2])
def test_one_half_space_has_a_closed_form(repeat: int) -> None:
    # Twice the same row goes through the alternating projections instead.
    rng = np.random.default_rng(0)
    for _ in range(20):
        row = rng.normal(size=3)
        row /= np.linalg.norm(row)
        x, bound = rng.normal(size=3), rng.normal()
        expected = x - max(row @ x - bound, 0.0) * row
        got = project(*f32(x, [row] * repeat, [bound] * repeat), *WIDE)
        np.testing.assert_allclose(got, expected, atol=1e-5)


def test_a_point_inside_stays() -> None:
    x = jnp.asarray([0.2, 0.3, 0.4])
    for rows in (1, 2):
        got = project(x, *f32([[1, 1, 1]] * rows, [1.0] * rows), jnp.zeros(3), jnp.ones(3))
        np.testing.assert_array_equal(got, x)


def test_the_box_alone() -> None:
    x = jnp.asarray([-1.0, 0.5, 2.0])
    np.testing.assert_allclose(project(x, *f32([[1, 1, 1]], [9.0]), jnp.zeros(3), jnp.ones(3)), [0, 0.5, 1])


def test_a_row_of_zeros_and_a_fixed_column_do_no_harm() -> None:
    x, low, high = f32([0.9, 0.5, 0.9], [0.0, 0.5, 0.0], [1.0, 0.5, 1.0])
    np.testing.assert_allclose(project(x, *f32([[0, 0, 0]], [1.0]), low, high), x)
    np.testing.assert_allclose(project(x, *f32([[0, 1, 0]], [0.1]), low, high), x)  # cannot be mended
    np.testing.assert_allclose(project(x, *f32([[1, 1, 0]], [1.0]), low, high), [0.5, 0.5, 0.9], atol=1e-5)


def quadratic_program(x, a, b, inside):
    return minimize(
        lambda v: ((v - x) ** 2).sum(),
        inside,
        jac=lambda v: 2 * (v - x),
        bounds=[(0, 1)] * len(x),
        constraints=[{"type": "ineq", "fun": lambda v: b - a @ v, "jac": lambda v: -a}],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    ).x


@pytest.mark.parametrize(("n_rows", "tolerance"), [(1, 2e-5), (2, 5e-3), (3, 2e-2)])
def test_against_a_quadratic_program(n_rows: int, tolerance: float) -> None:
    rng = np.random.default_rng(n_rows)
    errors, excess = [], []
    for _ in range(40):
        a = rng.normal(size=(n_rows, 4))
        a /= np.linalg.norm(a, axis=1, keepdims=True)
        inside = rng.uniform(0, 1, 4)
        b = a @ inside + rng.uniform(0, 0.2, n_rows)
        # One row is exact from anywhere; several come close from in and around the box.
        x = rng.normal(0, 2, 4) if n_rows == 1 else rng.uniform(-0.2, 1.2, 4)
        got = np.asarray(project(*f32(x, a, b, np.zeros(4), np.ones(4))), np.float64)
        assert got.min() >= 0.0
        assert got.max() <= 1.0
        errors.append(np.abs(got - quadratic_program(x, a, b, inside)).max())
        excess.append((a @ got - b).max())
    assert max(errors) < tolerance
    assert np.median(errors) < 1e-5
    assert max(excess) < tolerance
    assert np.quantile(excess, 0.9) < 1e-6


@pytest.mark.parametrize("n_rows", [1, 2])
def test_the_gradient_is_that_of_finite_differences(n_rows: int) -> None:
    rng = np.random.default_rng(5)
    weights = jnp.asarray(rng.normal(size=4), jnp.float32)
    a = rng.normal(size=(n_rows, 4))
    rest = f32(a, a @ np.full(4, 0.3), np.zeros(4), np.ones(4))
    for _ in range(5):
        x = jnp.asarray(rng.uniform(0.1, 0.9, 4), jnp.float32)
        gradient = jax.grad(lambda v: weights @ project(v, *rest))(x)
        h = 1e-3
        here = float(weights @ project(x, *rest))
        for j in range(4):
            step = jnp.zeros(4).at[j].set(h)
            up, down = (float(weights @ project(x + s * step, *rest)) for s in (1, -1))
            # At a kink the gradient is that of one side.
            sides = [(up - here) / h, (here - down) / h]
            assert min(abs(float(gradient[j]) - side) for side in sides) < 2e-2
