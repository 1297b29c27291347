"""Simulated sets: four shapes in the plane, and two data shifts. Every draw follows from the seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from holdtrue._types import JsonObject
from holdtrue.datasets._columns import fixed, number
from holdtrue.datasets._registry import Parts, register
from holdtrue.errors import DataError
from holdtrue.schema import Schema

_CENTERS = ((-2.0, -2.0), (2.0, 2.0))
_SHAPE: JsonObject = {
    "rows": 3600,
    "features": 2,
    "target": "y",
    "favourable": 1,
    "source": "simulated as in Counterfactual Training (Altmeyer et al.), section IV",
    "licence": "none needed, simulated",
}
_SHIFT: JsonObject = {
    "rows": 2000,
    "features": 2,
    "target": "y",
    "favourable": 1,
    "source": "simulated as in RoCourseNet (Guo et al.), appendix B.3",
    "licence": "none needed, simulated",
}


@register("linearly_separable", **_SHAPE)
def linearly_separable(
    *,
    n_samples: int = 3600,
    random_state: int | None = 0,
    centers: Sequence[Sequence[float]] | None = _CENTERS,
    protect: bool = False,
) -> Parts:
    """Two Gaussian clusters with standard deviation 0.5 that a line separates; class 1 is favourable.

    The centres are (-2, -2) and (2, 2), 5.7 standard deviations from the line between them. The reference
    code draws them anew from the square [-10, 10]^2 for each seed, which may put them side by side;
    ``centers=None`` does so. ``protect=True`` fixes `x1`, as the paper does for its cost figures.
    """
    return _blobs(0.5, n_samples, random_state, centers, protect)


@register("overlapping", **_SHAPE)
def overlapping(
    *,
    n_samples: int = 3600,
    random_state: int | None = 0,
    centers: Sequence[Sequence[float]] | None = _CENTERS,
    protect: bool = False,
) -> Parts:
    """Two Gaussian clusters with standard deviation 2.0 that overlap; class 1 is favourable.

    No classifier errs less than 7.9% of the time with the centres (-2, -2) and (2, 2). Options as for
    `linearly_separable`.
    """
    return _blobs(2.0, n_samples, random_state, centers, protect)


@register("circles", **_SHAPE)
def circles(*, n_samples: int = 3600, random_state: int | None = 0, protect: bool = False) -> Parts:
    """A ring of radius 1 (class 1, favourable) around a disc (class 0), noise 0.15, ratio of radii 0.01."""
    from sklearn.datasets import make_circles

    _check_size(n_samples)
    points, y = make_circles(n_samples, noise=0.15, factor=0.01, random_state=random_state)
    return _plane(points, 1 - np.asarray(y), protect)  # scikit-learn calls the inner one 1


@register("moons", **_SHAPE)
def moons(*, n_samples: int = 3600, random_state: int | None = 0, protect: bool = False) -> Parts:
    """Two interlocking half circles with noise 0.1; the lower one is class 1, favourable.

    The lower circle has its centre at (1, 0.3), the default of the reference code's generator; scikit-learn's
    would be at (1, 0.5).
    """
    from sklearn.datasets import make_moons

    _check_size(n_samples)
    points, y = make_moons(n_samples, noise=0.1, random_state=random_state)
    points[y == 1, 1] -= 0.5 - 0.3
    return _plane(points, y, protect)


@register("covariate_shift", **_SHIFT)
def covariate_shift(*, n_samples: int = 2000, random_state: int | None = 0) -> Parts:
    """Features move, the rule stays: y = 1 (favourable) where x1^3 - x2 + noise is positive.

    x1 ~ N(m1, s1), x2 ~ N(m2, s2), noise ~ N(-0.1, 0.1), with (m1, s1, m2, s2) = (0.5, 0.5, 0, 0.3) in the
    original half and (0, 0.3, 0.5, 0.5) in the shifted one; the second argument is a standard deviation.
    The paper leaves unsaid where y turns from number to label; the zero fits the rates of its published
    samples. `groups` holds `version`, "original" or "shifted".
    """

    def draw(rng: np.random.Generator, n: int, m1: float, s1: float, m2: float, s2: float) -> tuple:
        x1, x2 = rng.normal(m1, s1, n), rng.normal(m2, s2, n)
        score = -x2 + x1**3 + rng.normal(-0.1, 0.1, n)
        return x1, x2, score > 0

    return _two_halves(draw, (0.5, 0.5, 0.0, 0.3), (0.0, 0.3, 0.5, 0.5), n_samples, random_state)


@register("label_shift", **_SHIFT)
def label_shift(*, n_samples: int = 2000, random_state: int | None = 0) -> Parts:
    """The share of y = 1 (favourable) falls from 0.6 to 0.3; what a label looks like stays.

    z = 2y - 1 + N(0.1, 0.1), x1 ~ N(z^3 - z, 0.3), x2 ~ N(z^3 + z - 3y, 0.3); the second argument is a
    standard deviation. `groups` holds `version`, "original" or "shifted".
    """

    def draw(rng: np.random.Generator, n: int, p: float) -> tuple:
        y = rng.binomial(1, p, n)
        z = 2 * y - 1 + rng.normal(0.1, 0.1, n)
        return rng.normal(-z + z**3, 0.3), rng.normal(z + z**3 - 3 * y, 0.3), y

    return _two_halves(draw, (0.6,), (0.3,), n_samples, random_state)


def _blobs(
    sd: float,
    n_samples: int,
    random_state: int | None,
    centers: Sequence[Sequence[float]] | None,
    protect: bool,
) -> Parts:
    from sklearn.datasets import make_blobs

    _check_size(n_samples)
    if centers is not None and np.shape(centers) != (2, 2):
        raise DataError(
            f"datasets.load: `centers` must be two points of the plane; got {centers!r}. Write for example "
            "((-2, -2), (2, 2)), or None for random ones."
        )
    around = 2 if centers is None else np.asarray(centers, np.float64)
    points, y = make_blobs(n_samples, 2, centers=around, cluster_std=sd, random_state=random_state)[:2]
    return _plane(points, y, protect)


def _two_halves(draw: Any, first: tuple, second: tuple, n_samples: int, random_state: int | None) -> Parts:
    _check_size(n_samples)
    rng = np.random.default_rng(random_state)
    sizes = (n_samples - n_samples // 2, n_samples // 2)
    halves = [draw(rng, n, *settings) for n, settings in zip(sizes, (first, second), strict=True)]
    x1, x2, y = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    groups = pd.DataFrame({"version": np.repeat(["original", "shifted"], sizes)})
    return _plane(np.column_stack([x1, x2]), y, False, groups)


def _plane(points: object, y: object, protect: bool, groups: pd.DataFrame | None = None) -> Parts:
    X = pd.DataFrame(points, columns=["x1", "x2"])
    x1, x2 = number("x1"), number("x2")
    schema = Schema([*(fixed([x1]) if protect else [x1]), x2])
    return Parts(X=X, y=np.asarray(y).astype(np.int64), schema=schema.resolve(X), groups=groups)


def _check_size(n_samples: object) -> None:
    if not isinstance(n_samples, (int, np.integer)) or isinstance(n_samples, bool) or n_samples < 4:
        raise DataError(f"datasets.load: `n_samples` must be a whole number from 4 upwards; got {n_samples!r}.")
