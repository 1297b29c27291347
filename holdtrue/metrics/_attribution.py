"""What a model's score of one row is owed to: slopes and integrated gradients. For jit and vmap."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from holdtrue.errors import DataError
from holdtrue.models import AbstractModel

Score = Callable[[Float[Array, " d"]], Float[Array, ""]]


def integrated_gradients(
    score: Score, x: Float[Array, " d"], baseline: Float[Array, " d"], *, n_steps: int = 50
) -> Float[Array, " d"]:
    """Each column's part in the difference of scores between a row and a baseline (Sundararajan et al., 2017).

    ``(x - baseline) * integral of the slope along the line between them``, by the midpoint rule. The parts add up
    to ``score(x) - score(baseline)``, up to the rule's error: none for a linear score or a quadratic one.

    Parameters
    ----------
    score : callable
        Of one encoded row: a logit, as a rule.
    x, baseline : arrays
        The row and what it is held against.
    n_steps : int, default=50
        Points of the rule.
    """
    at = (jnp.arange(n_steps) + 0.5) / n_steps
    slopes = jax.vmap(lambda share: jax.grad(score)(baseline + share * (x - baseline)))(at)
    return (x - baseline) * jnp.mean(slopes, axis=0)


def undecided_baseline(
    model: AbstractModel, start: Float[Array, " d"], *, n_steps: int = 100, step_size: float = 0.1
) -> Float[Array, " d"]:
    """A point near `start` at which the model can tell the classes apart least: steps up the entropy.

    A baseline for `integrated_gradients`; the other in use is a draw from the uniform distribution on (-1, 1).
    """

    def surprise(at: Float[Array, " d"]) -> Float[Array, ""]:
        logs = jax.nn.log_softmax(model.logits(at))
        return jnp.sum(jnp.exp(logs) * logs)

    def step(at: Float[Array, " d"], _: None) -> tuple[Float[Array, " d"], None]:
        return at - step_size * jax.grad(surprise)(at), None

    return jax.lax.scan(step, start, None, length=n_steps)[0]


def sensitivity_share(values: ArrayLike, columns: ArrayLike) -> np.ndarray:
    """Share of every row's sensitivity that falls on some columns: ``sum |v| there / sum |v|``.

    Parameters
    ----------
    values : array of shape (rows, columns)
        Slopes of a score, or integrated gradients.
    columns : indices of columns
        Those of protected features, say.

    Returns
    -------
    array of shape (rows,); NaN for a row on which nothing falls at all.

    Examples
    --------
    >>> sensitivity_share([[1.0, -3.0], [0.0, 2.0]], [0])
    array([0.25, 0.  ])
    """
    sizes = np.abs(np.asarray(values, np.float64))
    chosen = np.unique(np.asarray(columns, int))
    if sizes.ndim != 2 or (len(chosen) and not (chosen[0] >= 0 and chosen[-1] < sizes.shape[1])):
        raise DataError(
            f"sensitivity_share: `columns` must be columns of `values`; got {columns!r} and shape {sizes.shape}."
        )
    total = sizes.sum(axis=1)
    part = sizes[:, chosen].sum(axis=1)
    return np.divide(part, total, out=np.full(len(sizes), np.nan), where=total > 0)
