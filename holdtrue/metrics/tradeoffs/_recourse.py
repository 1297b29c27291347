"""Recourse by SCFE in closed form, for a model that is linear or taken as linear at the person."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from holdtrue.errors import CapabilityError
from holdtrue.models import AbstractModel, double_precision, in_double

CHUNK = 256  # people whose slopes are found at a time


class Scores(NamedTuple):
    """A model's scores (log-odds of the favourable class) of people, and their slopes there."""

    value: np.ndarray
    slope: np.ndarray

    @property
    def steepness(self) -> np.ndarray:
        """Length of the slope."""
        return np.linalg.norm(self.slope, axis=-1)

    def at(self, change: np.ndarray) -> np.ndarray:
        """Score after a change, by the slope."""
        return self.value + np.sum(self.slope * change, axis=-1)


def affine(weight: ArrayLike, x: ArrayLike, bias: ArrayLike = 0.0) -> Scores:
    """Scores of a linear model ``weight @ x + bias``; leading axes broadcast."""
    weight, x = np.asarray(weight, np.float64), np.asarray(x, np.float64)
    value = np.sum(weight * x, axis=-1) + np.asarray(bias, np.float64)
    return Scores(value, np.broadcast_to(weight, (*value.shape, weight.shape[-1])))


def scores_of(model: AbstractModel, x: ArrayLike, favourable: int = 1) -> Scores:
    """Scores of people under a differentiable model of two classes, in double precision."""
    if "differentiable" not in model.capabilities or model.n_classes != 2:
        raise CapabilityError(
            f"scores_of: needs a differentiable model of two classes; got {type(model).__name__} with "
            f"{model.n_classes} classes."
        )
    with double_precision():
        double = in_double(model)
        rows = jnp.asarray(x, jnp.float64)
        parts = [_scores(double, rows[i : i + CHUNK], favourable) for i in range(0, len(rows), CHUNK)]
        return Scores(*(np.concatenate([np.asarray(part[i]) for part in parts]) for i in range(2)))


@eqx.filter_jit
def _scores(model: AbstractModel, x: jax.Array, favourable: int) -> tuple[jax.Array, jax.Array]:
    def score(row: jax.Array) -> jax.Array:
        logits = model.logits(row)
        return logits[favourable] - logits[1 - favourable]

    return jax.vmap(jax.value_and_grad(score))(x)


def scfe(scores: Scores, *, score: ArrayLike, cost_weight: ArrayLike) -> np.ndarray:
    r"""The change that minimises :math:`(f(x + \zeta) - s)^2 + \lambda \|\zeta\|^2` for a linear score.

    :math:`\zeta = m w / (\lambda + \|w\|^2)` with :math:`m = s - f(x)`; for other models, of their linearisation
    at the person. The paper's Definition 1 has a further factor of :math:`\lambda`, which no minimiser has.

    Parameters
    ----------
    scores : Scores
    score : float
        The score `s` that is aimed at.
    cost_weight : float
        :math:`\lambda`.

    Examples
    --------
    >>> scfe(affine([1.0, 0.0], [-1.0, 0.0]), score=1.0, cost_weight=1.0).tolist()
    [1.0, 0.0]
    """
    residual = np.asarray(score) - scores.value
    share = residual / (np.asarray(cost_weight) + scores.steepness**2)
    return share[..., None] * scores.slope


def scfe_score(scores: Scores, *, score: ArrayLike, cost_weight: ArrayLike) -> np.ndarray:
    r"""Score that SCFE ends at: :math:`s - m\lambda / (\lambda + \|w\|^2)`, short of `s` for any cost weight."""
    aim, weight = np.asarray(score, np.float64), np.asarray(cost_weight, np.float64)
    return aim - (aim - scores.value) * weight / (weight + scores.steepness**2)
