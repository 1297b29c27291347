"""Conformal sets: coverage on simulated rows, the limit of the smooth size, its slope."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from holdtrue.models import ConformalSets


def simulated(rng, n):
    """Rows of three classes, and logits of a model that is wrong about how spread they are."""
    labels = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    x = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])[labels] + rng.normal(size=(n, 2))
    logits = np.stack([0 * x[:, 0], 3 * x[:, 0] - 2, 3 * x[:, 1] - 4], axis=1)
    return logits.astype(np.float32), labels


@pytest.mark.parametrize("coverage", [0.8, 0.95])
def test_new_rows_have_their_class_inside(coverage):
    """Over many calibrations, the mean coverage is at least what was asked for, and little more."""
    rng, inside, n_rounds, n_new = np.random.default_rng(0), 0, 200, 100
    for _ in range(n_rounds):
        sets = ConformalSets(jnp.asarray(ConformalSets.calibrate(*simulated(rng, 199), coverage)))
        logits, labels = simulated(rng, n_new)
        contained = np.asarray(jax.vmap(sets.contains)(jnp.asarray(logits)))
        inside += contained[np.arange(n_new), labels].sum()
    n = n_rounds * n_new
    # With 199 rows the coverage is met exactly. Rows of a round share its threshold, whose coverage varies as a
    # beta distribution: that many rows are worth fewer independent ones.
    spread = coverage * (1 - coverage)
    worth = int(spread / (spread / n + spread / 201 / n_rounds))
    assert binom.cdf(inside / n * worth, worth, coverage) > 1e-3
    assert inside / n < coverage + 0.01


def test_the_threshold_is_the_rank_that_the_theory_names():
    p = np.linspace(0.05, 0.95, 19)
    logits = np.log(np.stack([p, 1 - p], axis=1))
    labels = np.zeros(19, int)
    assert ConformalSets.calibrate(logits, labels, 0.95) == pytest.approx(p[0], abs=1e-6)  # floor(0.05 * 20) = 1
    assert ConformalSets.calibrate(logits, labels, 0.8) == pytest.approx(p[3], abs=1e-6)
    assert ConformalSets.calibrate(logits, labels, 0.99) == 0  # too few rows: every class


def test_the_smooth_size_tends_to_the_hard_one():
    sets = ConformalSets(jnp.asarray(0.2))
    for logits in jnp.asarray(np.random.default_rng(1).normal(0, 2, (20, 4)), jnp.float32):
        hard = int(np.asarray(sets.contains(logits)).sum())
        gaps = [abs(float(sets.smooth_size(logits, jnp.asarray(t))) - hard) for t in (0.1, 1e-2, 1e-4)]
        nearest = float(jnp.min(jnp.abs(jax.nn.softmax(logits) - 0.2)))
        assert nearest > 1e-3
        assert gaps[2] < 1e-3


def test_the_slope_is_that_of_finite_differences():
    sets, temperature = ConformalSets(jnp.asarray(0.3)), jnp.asarray(0.1)
    logits = jnp.asarray([0.3, -0.2, 0.8], jnp.float32)
    slope = jax.grad(sets.smooth_size)(logits, temperature)
    by = 1e-2 * np.eye(3, dtype=np.float32)
    numeric = [
        (sets.smooth_size(logits + e, temperature) - sets.smooth_size(logits - e, temperature)) / 2e-2 for e in by
    ]
    np.testing.assert_allclose(slope, np.array(numeric), atol=2e-3)
