"""Balls of weighted norms, held against many random points."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from optax.projections import projection_l1_ball

from holdtrue.search import NormBall

INTO = eqx.filter_jit(NormBall.into)


@eqx.filter_jit
def sizes(ball, changes):
    return jax.vmap(ball.size)(changes)


@pytest.mark.parametrize("norm", ["l1", "l2", "linf"])
def test_steepest_is_the_dual_direction(norm):
    """No change of norm 1 gains more than the steepest: compared with many random ones."""
    weights, slope = jnp.array([1.0, 4.0, 0.5, 0.0]), jnp.array([1.0, -3.0, 0.2, 9.0])
    ball = NormBall(weights, norm)
    best = eqx.filter_jit(ball.steepest)(slope)
    assert float(ball.size(best)) == pytest.approx(1.0, rel=1e-5)
    assert best[3] == 0
    tried = jax.random.normal(jax.random.key(0), (2000, 4)).at[:, 3].set(0)
    tried = tried / sizes(ball, tried)[:, None]
    assert float(jnp.max(tried @ slope)) <= float(best @ slope) + 1e-5


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_draws_fill_the_ball(norm):
    """Radii of uniform draws in n dimensions have the distribution r^n."""
    ball = NormBall(jnp.array([1.0, 4.0, 0.5]), norm)
    draw = jax.jit(jax.vmap(lambda key: ball.draw(key, jnp.asarray(2.0))))
    drawn = draw(jax.random.split(jax.random.key(1), 4000))
    radii = np.sort(np.asarray(sizes(ball, drawn))) / 2
    assert radii[-1] <= 1 + 1e-5
    assert np.abs(radii**3 - np.linspace(0, 1, 4000)).max() < 0.04
    inside = jax.jit(jax.vmap(lambda change: ball.into(3 * change, jnp.asarray(2.0))))(drawn)
    assert float(sizes(ball, inside).max()) <= 2 + 1e-5


def test_into_an_l1_ball_is_the_projection():
    """Held against optax for equal weights, and against many random points of the ball for others."""
    rng = np.random.default_rng(0)
    plain = NormBall(jnp.ones(5), "l1")
    theirs = jax.jit(projection_l1_ball)
    for change in rng.normal(0, 2, (20, 5)).astype(np.float32):
        found = INTO(plain, change, np.float32(1.5))
        with jax.numpy_dtype_promotion("standard"):  # theirs counts in whole numbers
            own = theirs(change, np.float32(1.5))
        np.testing.assert_allclose(found, own, atol=1e-5)
    weights, change = jnp.array([1.0, 4.0, 0.5, 0.0]), jnp.array([2.0, -1.0, 3.0, 9.0])
    ball = NormBall(weights, "l1")
    nearest = INTO(ball, change, np.float32(2.0))
    assert float(ball.size(nearest)) == pytest.approx(2.0, rel=1e-5)
    assert nearest[3] == 0
    tried = jax.random.laplace(jax.random.key(0), (20_000, 4)).at[:, 3].set(0)
    tried = 2 * tried / sizes(ball, tried)[:, None]
    away = jnp.linalg.norm((tried - change[None, :])[:, :3], axis=1)
    assert float(jnp.linalg.norm((nearest - change)[:3])) <= float(away.min()) + 1e-5
    inside = jnp.array([0.5, 0.1, -0.2, 0.0])
    np.testing.assert_array_equal(INTO(ball, inside, np.float32(2.0)), inside)
