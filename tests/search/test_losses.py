"""Validity losses against formulas in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.search import CrossEntropy, EnergyConstrained, Hinge
from holdtrue.search._losses import Reply, log_odds


def test_the_losses_and_their_slopes():
    """Against float64 formulas, three classes; slopes by finite differences."""
    z = np.array([0.3, -1.2, 0.9])
    p = np.exp(z) / np.exp(z).sum()

    def of(loss, values):
        logits = jnp.asarray(values, jnp.float32)
        margin = logits[1] - jnp.maximum(logits[0], logits[2])
        return loss(Reply(logits, margin, jnp.asarray(1), jnp.asarray(4)))

    energy = EnergyConstrained(*(jnp.asarray(v, jnp.float32) for v in (5.0, 0.2, 2.0, 0.001)))
    pull = 5 * 0.2 * (2 + 5) ** -0.9 * (1.2 + 0.001 * 1.2**2)
    assert float(log_odds(jnp.asarray(z), jnp.asarray(1))) == pytest.approx(np.log(p[1] / (1 - p[1])), rel=1e-5)
    assert float(of(CrossEntropy(), z)) == pytest.approx(-np.log(p[1]), rel=1e-5)
    assert float(of(energy, z)) == pytest.approx(-np.log(p[1]) + pull, rel=1e-5)
    assert float(of(Hinge(jnp.asarray(0.5)), z)) == pytest.approx(0.5 + 2.1, rel=1e-5)
    slope = np.asarray(jax.grad(lambda v: of(CrossEntropy(), v))(jnp.asarray(z, jnp.float32)))
    np.testing.assert_allclose(slope, p - np.eye(3)[1], atol=1e-5)
