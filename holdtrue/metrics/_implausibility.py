"""How far recourse lies from the rows of the class it leads to, as a cloud and point by point."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist

from holdtrue.errors import DataError
from holdtrue.metrics._plausibility import METRICS
from holdtrue.models import AbstractModel
from holdtrue.search import LangevinSampler

MEDIAN_ROWS = 1000  # of which all pairs are looked at; more do not move a median


def implausibility(points: ArrayLike, rows: ArrayLike, *, norm: Literal["l1", "l2"] = "l1") -> np.ndarray:
    """Mean distance of each point to all rows of the class it leads to (IP, eq. 6); less is more plausible.

    Unlike `neighbour_distance` it is least in the middle of the class, not next to one of its rows. Parameters are
    those of `neighbour_distance`.

    Examples
    --------
    >>> implausibility([[0.0], [1.0]], [[0.0], [3.0]])
    array([1.5, 1.5])
    """
    points, rows = _clouds("implausibility", points, rows, 0, 1)
    if norm not in METRICS:
        raise DataError(f"implausibility: `norm` is not known; got {norm!r}. Known are {list(METRICS)!r}.")
    if len(points) == 0:
        return np.zeros(0)
    if norm == "l1":
        return _mean_l1(points, rows)
    from sklearn.metrics import pairwise_distances  # here, not above: it takes time to load

    return np.asarray(pairwise_distances(points, rows, metric=METRICS[norm])).mean(axis=1)


def _mean_l1(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Column by column: rows sorted once, those below a value and those above it summed up to where it falls."""
    n, out = len(rows), np.zeros(len(points))
    for own, column in zip(points.T, np.sort(rows, axis=0).T, strict=True):
        below = np.searchsorted(column, own)
        sums = np.concatenate([[0.0], np.cumsum(column)])
        out += own * (2 * below - n) + sums[n] - 2 * sums[below]
    return out / n


def median_distance(rows: ArrayLike, *, random_state: int = 0) -> float:
    """Median Euclidean distance between rows: a length-scale for `mmd` that fits any number of columns.

    Take it from the target rows, once for all models that are compared.
    """
    rows = np.asarray(rows, np.float64)
    if len(rows) > MEDIAN_ROWS:
        rows = np.random.default_rng(random_state).permutation(rows)[:MEDIAN_ROWS]
    if len(rows) < 2:
        raise DataError(f"median_distance: at least two rows are needed; got {len(rows)}.")
    return float(np.median(pdist(rows)))


def mmd(points: ArrayLike, rows: ArrayLike, *, length_scale: float | Literal["median"] = 0.5) -> float:
    """Unbiased estimate of the squared maximum mean discrepancy between two clouds (IP*, eq. 7-8).

    0 in expectation where both are drawn from one distribution, and then as often below 0 as above it.

    Parameters
    ----------
    points, rows : arrays of shape (n, d)
        Recourse, and rows of the class it leads to; two of each at least.
    length_scale : float or "median", default=0.5
        Of the Gaussian kernel ``exp(-|a - b|^2 / (2 length_scale^2))``. The paper's 0.5 is blind in tens of
        columns, where every kernel value is about 0; "median" is the `median_distance` of `rows`.

    Examples
    --------
    >>> round(mmd([[0.0], [0.0]], [[9.0], [9.0]]), 6)
    2.0
    """
    points, rows = _clouds("mmd", points, rows, 2, 2)
    scale = median_distance(rows) if length_scale == "median" else float(length_scale)
    if not scale > 0:
        raise DataError(f"mmd: `length_scale` must be positive; got {scale!r}. Rows that are all alike have none.")

    def kernel(squares: np.ndarray) -> np.ndarray:
        return np.exp(-squares / (2 * scale**2))

    among = [kernel(pdist(cloud, "sqeuclidean")).mean() for cloud in (points, rows)]  # i < j is half of i != j
    return float(sum(among) - 2 * kernel(cdist(points, rows, "sqeuclidean")).mean())


def model_samples(
    model: AbstractModel,
    target: int,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    n: int = 100,
    n_steps: int = 200,
    step_size: float = 0.05,
    noise: float = 0.01,
    random_state: int = 0,
) -> np.ndarray:
    """Rows that the model itself holds for likely in a class: Langevin steps down ``-logit(target)`` in a box.

    `implausibility` of recourse against these instead of people is how unfaithful it is to what the model learned.
    """
    f32 = jnp.float32
    sampler = LangevinSampler(
        jnp.asarray(lower, f32), jnp.asarray(upper, f32), jnp.asarray(step_size, f32), jnp.asarray(noise, f32),
        int(n_steps), marginal=False,
    )  # fmt: skip
    keys = jax.random.split(jax.random.key(random_state), n)
    return np.asarray(_samples(sampler, model, jnp.asarray(target), keys))


@eqx.filter_jit
def _samples(sampler: LangevinSampler, model: AbstractModel, target: Array, keys: PRNGKeyArray) -> Array:
    return jax.vmap(lambda key: sampler.sample(model, target, key))(keys)


def _clouds(
    where: str, points: ArrayLike, rows: ArrayLike, least: int, rows_least: int
) -> tuple[np.ndarray, np.ndarray]:
    points, rows = np.asarray(points, np.float64), np.asarray(rows, np.float64)
    if points.ndim != 2 or rows.ndim != 2 or points.shape[1] != rows.shape[1]:
        raise DataError(
            f"{where}: `points` and `rows` must have the same columns; got shapes {points.shape} and {rows.shape}."
        )
    if len(points) < least or len(rows) < rows_least:
        raise DataError(
            f"{where}: needs {least} `points` and {rows_least} `rows` at least; got {len(points)} and {len(rows)}."
        )
    return points, rows
