"""Distances between clouds, against double sums and known distributions."""

import jax.numpy as jnp
import numpy as np
import pytest

from holdtrue.errors import DataError
from holdtrue.metrics import implausibility, median_distance, mmd, model_samples
from holdtrue.models import LinearModel

RNG = np.random.default_rng(0)
POINTS, ROWS = RNG.normal(size=(13, 3)), RNG.normal(size=(17, 3)) + 0.5


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_implausibility_is_the_mean_over_all_rows(norm):
    order = 1 if norm == "l1" else 2
    expected = [np.mean([np.linalg.norm(p - r, order) for r in ROWS]) for p in POINTS]
    np.testing.assert_allclose(implausibility(POINTS, ROWS, norm=norm), expected)


@pytest.mark.parametrize("scale", [0.5, 5.0])
def test_mmd_is_the_double_sum(scale):
    def k(a, b):
        return np.exp(-np.sum((a - b) ** 2) / (2 * scale**2))

    m, n = len(POINTS), len(ROWS)
    among = sum(k(POINTS[i], POINTS[j]) for i in range(m) for j in range(m) if i != j) / (m * (m - 1))
    theirs = sum(k(ROWS[i], ROWS[j]) for i in range(n) for j in range(n) if i != j) / (n * (n - 1))
    across = sum(k(p, r) for p in POINTS for r in ROWS) / (m * n)
    assert mmd(POINTS, ROWS, length_scale=scale) == pytest.approx(among + theirs - 2 * across, rel=1e-9)


def test_mmd_is_unbiased():
    """Two draws of one distribution: zero on average. Two normals a apart: the closed form."""
    rng = np.random.default_rng(1)
    same = [mmd(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), length_scale=1.0) for _ in range(400)]
    assert abs(np.mean(same)) < 3 * np.std(same) / 20
    assert np.min(same) < 0
    apart = [mmd(rng.normal(size=(30, 1)), rng.normal(size=(30, 1)) + 1.0, length_scale=1.0) for _ in range(400)]
    # E k(a, b) for a - b ~ N(d, 2), scale 1: exp(-d^2 / 6) / sqrt(3).
    truth = 2 * (1 - np.exp(-1 / 6)) / np.sqrt(3)
    assert np.mean(apart) == pytest.approx(truth, abs=3 * np.std(apart) / 20)


def test_the_median_length_scale():
    gaps = [np.linalg.norm(ROWS[i] - ROWS[j]) for i in range(17) for j in range(i)]
    assert median_distance(ROWS) == pytest.approx(np.median(gaps))
    assert mmd(POINTS, ROWS, length_scale="median") == mmd(POINTS, ROWS, length_scale=median_distance(ROWS))
    many = np.random.default_rng(2).normal(size=(3000, 1))
    assert median_distance(many) == pytest.approx(np.sqrt(2) * 0.6745, abs=0.05)


def test_samples_of_a_linear_model_run_to_the_corner_of_the_box():
    model = LinearModel(jnp.asarray([[1.0, -1.0], [-1.0, 1.0]]), jnp.zeros(2))
    rows = model_samples(model, 1, [-2.0, -2.0], [2.0, 3.0], n=6, n_steps=300, noise=0.001)
    np.testing.assert_allclose(rows, np.tile([-2.0, 3.0], (6, 1)), atol=0.02)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: implausibility(np.zeros((2, 3)), np.zeros((2, 4))), "same columns"),
        (lambda: implausibility(np.zeros((2, 3)), np.zeros((0, 3))), "1 `rows` at least"),
        (lambda: implausibility(POINTS, ROWS, norm="l0"), "`norm` is not known"),  # type: ignore[arg-type]
        (lambda: mmd(POINTS[:1], ROWS), "2 `points`"),
        (lambda: mmd(POINTS, ROWS, length_scale=0.0), "`length_scale` must be positive"),
        (lambda: median_distance(ROWS[:1]), "two rows"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(DataError, match=words):
        call()
