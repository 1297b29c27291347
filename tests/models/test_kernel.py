"""Kernels that may move and widen, against a search over all Gaussians within reach."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from holdtrue.models import Kernel, log_density

SENSES = ("most", "least")
CONSTANT = 0.5 * np.log(2 * np.pi)


def kernel(sigma, radius, p, sense, reach=6.0):
    return Kernel.of(*(jnp.asarray(v, jnp.float32) for v in (sigma, radius, p, reach)), sense)


def over_gaussians(distance, sigma, radius, p, sense, n_starts=12):
    """Most or least log-density over N(m, S^2) with S >= sigma and |m|^2 + |S - sigma I|^2 <= radius^2."""
    x = np.zeros(p)
    x[0] = distance
    sign = -1 if sense == "most" else 1
    lower = np.tril_indices(p)

    def parts(z):
        factor = np.zeros((p, p))
        factor[lower] = z[p:]
        return z[:p], factor @ factor.T  # the widening is positive semi-definite

    def objective(z):
        mean, wider = parts(z)
        root = sigma * np.eye(p) + wider
        return sign * (-np.linalg.slogdet(root)[1] - 0.5 * np.sum(np.linalg.solve(root, x - mean) ** 2))

    def room(z):
        mean, wider = parts(z)
        return radius**2 - mean @ mean - np.sum(wider**2)

    rng = np.random.default_rng(0)
    best = np.inf
    for _ in range(n_starts):
        z = rng.normal(0, 0.4 * np.sqrt(radius), p + len(lower[0]))
        found = minimize(objective, z, method="SLSQP", constraints={"type": "ineq", "fun": room})
        if room(found.x) > -1e-6:
            best = min(best, found.fun)
    return sign * best


@pytest.mark.parametrize("sense", SENSES)
def test_without_a_radius_it_is_the_gaussian(sense):
    plain = Kernel.of(jnp.asarray(0.7), None, jnp.asarray(3.0), jnp.asarray(6.0), sense)
    for distance in (0.0, 0.4, 3.0, 9.0):
        truth = multivariate_normal(np.zeros(3), 0.49 * np.eye(3)).logpdf([distance, 0, 0])
        assert float(plain.log(jnp.asarray(distance))) - 3 * CONSTANT == pytest.approx(truth, abs=1e-4)
        slope = float(jax.grad(plain.log)(jnp.asarray(distance)))
        assert slope == pytest.approx(-distance / 0.49, abs=1e-4)


@pytest.mark.parametrize("sense", SENSES)
@pytest.mark.parametrize(("sigma", "radius", "p"), [(1.0, 0.5, 2), (0.5, 1.0, 2), (0.3, 0.4, 3), (1.0, 1.0, 1)])
def test_no_gaussian_within_reach_says_more_or_less(sense, sigma, radius, p):
    ours = kernel(sigma, radius, p, sense)
    for distance in (0.05, 0.4, 1.3, 3.0):
        truth = over_gaussians(distance, sigma, radius, p, sense)
        assert float(ours.log(jnp.asarray(distance))) == pytest.approx(truth, abs=3e-3), distance


@pytest.mark.parametrize("sense", SENSES)
def test_between_the_nodes_it_is_the_extreme_too(sense):
    """At distances that are no nodes, against a fine grid over shift, width along and width across."""
    sigma, radius, p = 0.4, 0.7, 6
    ours = kernel(sigma, radius, p, sense)
    a, b = np.meshgrid(np.linspace(0, radius, 401), np.linspace(0, radius, 401))
    rest = radius**2 - a**2 - b**2
    across = np.sqrt(np.maximum(rest, 0) / (p - 1))
    for distance in np.random.default_rng(1).uniform(0, 4, 25):
        if sense == "most":
            left = np.maximum(distance - a, 0)
            grid = -np.log(sigma + b) - left**2 / (2 * (sigma + b) ** 2) - (p - 1) * np.log(sigma)
            truth = grid[rest >= 0].max()
        else:
            grid = -np.log(sigma + b) - (distance + a) ** 2 / (2 * (sigma + b) ** 2)
            truth = (grid - (p - 1) * np.log(sigma + across))[rest >= 0].min()
        assert float(ours.log(jnp.asarray(distance, jnp.float32))) == pytest.approx(truth, abs=5e-3, rel=2e-3)


@pytest.mark.parametrize("sense", SENSES)
def test_without_a_radius_it_is_the_plain_density(sense):
    rng = np.random.default_rng(0)
    points, present, x = rng.normal(size=(30, 4)), rng.random(30) < 0.5, rng.normal(size=4)
    ours = log_density(kernel(0.7, 0.0, 4, sense), jnp.asarray(points), jnp.asarray(present), jnp.asarray(x))
    each = [multivariate_normal(centre, 0.49 * np.eye(4)).logpdf(x) for centre in points[present]]
    assert float(ours) - 4 * CONSTANT == pytest.approx(logsumexp(each), abs=1e-4)


@pytest.mark.parametrize("sense", SENSES)
def test_the_slope_is_that_of_finite_differences(sense):
    rng = np.random.default_rng(2)
    points, x = jnp.asarray(rng.normal(size=(20, 3)), jnp.float32), jnp.asarray(rng.normal(size=3), jnp.float32)
    ours, everyone = kernel(0.6, 0.5, 3, sense), jnp.ones(20, bool)
    value = jax.jit(lambda at: log_density(ours, points, everyone, at))
    numeric = [(value(x + e) - value(x - e)) / 2e-2 for e in 1e-2 * np.eye(3, dtype=np.float32)]
    np.testing.assert_allclose(jax.grad(value)(x), numeric, rtol=0.03, atol=0.02)


def test_on_a_centre_the_slope_is_finite():
    point = jnp.zeros((1, 3))
    slope = jax.grad(lambda at: log_density(kernel(1.0, 0.3, 3, "most"), point, jnp.ones(1, bool), at))(point[0])
    assert np.isfinite(slope).all()


def test_more_room_says_more_and_less():
    for distance in (0.2, 1.0, 3.0):
        at = jnp.asarray(distance)
        most = [float(kernel(0.5, radius, 5, "most").log(at)) for radius in (0.0, 0.2, 0.5, 1.0)]
        least = [float(kernel(0.5, radius, 5, "least").log(at)) for radius in (0.0, 0.2, 0.5, 1.0)]
        assert (np.diff(most) > -1e-5).all()
        assert most[-1] > most[0]
        assert (np.diff(least) < -1e-3).all()
