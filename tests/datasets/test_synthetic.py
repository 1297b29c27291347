"""Simulated sets against what their formulas imply."""

import numpy as np
import pytest
from scipy import integrate, stats

from holdtrue import datasets

SIMULATED = ["linearly_separable", "overlapping", "circles", "moons", "covariate_shift", "label_shift"]
N = 40_000


@pytest.mark.parametrize("name", SIMULATED)
def test_the_seed_decides(name: str) -> None:
    first, again, other = (datasets.load(name, n_samples=100, random_state=s) for s in (5, 5, 6))
    assert first.X.equals(again.X)
    assert (first.y == again.y).all()
    assert not first.X.equals(other.X)
    assert len(datasets.load(name, n_samples=101)) == 101


@pytest.mark.parametrize(("name", "sd"), [("linearly_separable", 0.5), ("overlapping", 2.0)])
def test_blobs(name: str, sd: float) -> None:
    data = datasets.load(name, n_samples=N)
    X, y = data.X.to_numpy(), data.y
    for label, center in ((0, -2.0), (1, 2.0)):
        rows = X[y == label]
        assert len(rows) == N // 2
        assert np.allclose(rows.mean(0), center, atol=4 * sd / np.sqrt(len(rows)))
        assert np.allclose(rows.std(0), sd, rtol=0.03)
    # The best classifier is the sign of x1 + x2; its error is known.
    error = np.mean((X.sum(1) > 0) != (y == 1))
    known = stats.norm.cdf(-2 * np.sqrt(2) / sd)
    assert abs(error - known) < 4 * np.sqrt(known * (1 - known) / N) + 1e-6


def test_random_centers() -> None:
    a, b = (datasets.load("overlapping", centers=None, random_state=s).X.mean() for s in (0, 1))
    assert abs(a - b).max() > 1


def test_circles() -> None:
    data = datasets.load("circles", n_samples=N)
    squared = (data.X**2).sum(axis=1).to_numpy()
    for label, radius in ((0, 0.01), (1, 1.0)):
        rows = squared[data.y == label]
        # E|r + noise|^2 = r^2 + 2 s^2, with variance 4 r^2 s^2 + 4 s^4
        spread = np.sqrt((4 * radius**2 * 0.15**2 + 4 * 0.15**4) / len(rows))
        assert abs(rows.mean() - (radius**2 + 2 * 0.15**2)) < 4 * spread


def test_moons() -> None:
    data = datasets.load("moons", n_samples=N)
    # A half circle of radius 1 has its centre of mass 2 / pi from its own centre.
    for label, mass in ((0, (0.0, 2 / np.pi)), (1, (1.0, 0.3 - 2 / np.pi))):
        assert np.allclose(data.X[data.y == label].mean(), mass, atol=0.02)
    radius = np.hypot(*data.X[data.y == 0].to_numpy().T)
    assert abs(radius.std() - 0.1) < 0.005


@pytest.mark.parametrize("name", SIMULATED[:4])
def test_protect_fixes_the_first_feature(name: str) -> None:
    schema = datasets.load(name, n_samples=50, protect=True).schema
    assert [f.direction for f in schema] == ["fixed", "free"]


@pytest.mark.parametrize(
    ("version", "m1", "s1", "m2", "s2", "published"),
    [("original", 0.5, 0.5, 0.0, 0.3, 0.621), ("shifted", 0.0, 0.3, 0.5, 0.5, 0.125)],
)
def test_covariate_shift(version: str, m1: float, s1: float, m2: float, s2: float, published: float) -> None:
    data = datasets.load("covariate_shift", n_samples=2 * N)
    half = data.subset((data.groups["version"] == version).to_numpy())
    assert len(half) == N
    assert np.allclose(half.X.mean(), [m1, m2], atol=4 * max(s1, s2) / np.sqrt(N))
    assert np.allclose(half.X.std(), [s1, s2], rtol=0.03)

    # Given x1, the score is Gaussian; so the rate of ones is one integral.
    def ones(x1: float) -> float:
        return stats.norm.pdf(x1, m1, s1) * stats.norm.cdf((x1**3 - m2 - 0.1) / np.hypot(s2, 0.1))

    rate = integrate.quad(ones, m1 - 8 * s1, m1 + 8 * s1)[0]
    assert abs(half.y.mean() - rate) < 4 * np.sqrt(rate * (1 - rate) / N)
    # The authors' published sample has 1,000 rows.
    assert abs(published - rate) < 4 * np.sqrt(rate * (1 - rate) / 1000)


@pytest.mark.parametrize(("version", "p"), [("original", 0.6), ("shifted", 0.3)])
def test_label_shift(version: str, p: float) -> None:
    data = datasets.load("label_shift", n_samples=2 * N)
    half = data.subset((data.groups["version"] == version).to_numpy())
    assert abs(half.y.mean() - p) < 4 * np.sqrt(p * (1 - p) / N)
    for label, center in ((0, -0.9), (1, 1.1)):
        cube = center**3 + 3 * center * 0.1**2  # E z^3 of a Gaussian
        known = [cube - center, cube + center - 3 * label]
        assert np.allclose(half.X[half.y == label].mean(), known, atol=0.03)
