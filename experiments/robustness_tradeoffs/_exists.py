"""Answers that need no search budget: whether any accepted point exists, and the nearest one for linear models."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from holdtrue.encoding import Layout
from holdtrue.metrics import pgd
from holdtrue.models import AbstractModel, Decision, LinearModel, MLPModel

Answer = Literal["yes", "no", "unknown"]


def coefficients(model: AbstractModel) -> tuple[np.ndarray, float]:
    """Weights and intercept of the favourable log-odds of a linear model, in double precision."""
    assert isinstance(model, LinearModel)
    weight, bias = np.asarray(model.weight, np.float64), np.asarray(model.bias, np.float64)
    return weight[1] - weight[0], float(bias[1] - bias[0])


def linear_cost(weight: np.ndarray, bias: float, x: np.ndarray, movable: np.ndarray | None = None) -> np.ndarray:
    """Exact l2 distance of every row to the accepted half-space within [0, 1]^d; inf where none of it is there.

    The nearest point is ``clip(x + t w)`` for the smallest t that reaches the boundary: the score rises with t,
    with a slope that loses ``w_j^2`` where column j meets its bound.
    """
    w = weight if movable is None else np.where(movable, weight, 0.0)
    room = np.where(w > 0, 1 - x, x)  # how far each column can go the right way
    safe = np.where(w == 0, 1.0, np.abs(w))
    until = np.where(w == 0, 0.0, np.maximum(room, 0) / safe)  # the t at which a column meets its bound
    order = np.argsort(until, axis=1)
    ends = np.take_along_axis(until, order, axis=1)
    squares = np.take_along_axis(np.broadcast_to(w**2, x.shape), order, axis=1)
    left = squares[:, ::-1].cumsum(axis=1)[:, ::-1]  # slope before each end
    rises = np.diff(np.concatenate([np.zeros((len(x), 1)), ends], axis=1), axis=1) * left
    reached = rises.cumsum(axis=1)
    need = np.maximum(-(x @ weight + bias), 0.0)
    possible = need <= reached[:, -1] * (1 + 1e-12) + 1e-12
    at = np.minimum((reached < need[:, None]).sum(axis=1), x.shape[1] - 1)
    rows = np.arange(len(x))
    before = np.where(at > 0, ends[rows, at - 1], 0.0)
    missing = need - np.where(at > 0, reached[rows, at - 1], 0.0)
    t = before + missing / np.maximum(left[rows, at], 1e-300)
    change = np.minimum(np.minimum(t, ends[rows, -1])[:, None] * np.abs(w), np.maximum(room, 0)) * (w != 0)
    return np.where(possible, np.linalg.norm(change, axis=1), np.inf)


def best_hardened(
    weight: np.ndarray, bias: float, x: np.ndarray, layout: Layout, movable: np.ndarray
) -> np.ndarray:
    """Exact: the largest score of a linear model over every row's hardened points, one level for each category."""
    n = len(layout.numbers)
    ends = np.maximum(weight[:n], 0.0)
    score = np.where(movable[:n], ends, x[:, :n] * weight[:n]).sum(axis=1) + bias
    for group in layout.groups:
        part = slice(group.start, group.stop)
        score += weight[part].max() if movable[part].all() else x[:, part] @ weight[part]
    return score


def upper_bound(model: MLPModel) -> float:
    """A bound above the favourable log-odds over [0, 1]^d: below 0, the model accepts nothing there.

    With one hidden layer each unit that may be on or off is replaced by a line above or below its ReLU, whichever
    the output weight asks for, and the sum of the lines is largest in a corner. Deeper models get interval bounds.
    """
    weights = [np.asarray(w, np.float64) for w in model.weights]
    biases = [np.asarray(b, np.float64) for b in model.biases]
    weights[-1], biases[-1] = weights[-1][1:] - weights[-1][:1], biases[-1][1:] - biases[-1][:1]
    d = weights[0].shape[1]
    lower, upper = np.zeros(d), np.ones(d)
    bound = np.inf
    for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        centre, half = weight @ ((lower + upper) / 2) + bias, np.abs(weight) @ ((upper - lower) / 2)
        bound = (centre + half)[0]
        lower, upper = centre - half, centre + half
        if i == 0 and len(weights) == 2:
            chord = np.where(upper > 0, upper / np.maximum(upper - np.minimum(lower, 0), 1e-12), 0.0)
            below = np.where(lower >= 0, 1.0, np.where((upper <= 0) | (upper < -lower), 0.0, 1.0))
            rises = weights[1][0] > 0
            slope = np.where(rises, np.where(lower >= 0, 1.0, chord), below)
            shift = np.where(rises & (lower < 0) & (upper > 0), -chord * lower, 0.0)
            line = (weights[1][0] * slope) @ weight
            level = weights[1][0] @ (slope * bias + shift) + biases[1][0]
            tighter = level + np.maximum(line, 0).sum()
            plain = (
                biases[1][0]
                + (np.maximum(weights[1][0], 0) @ np.maximum(upper, 0))
                + (np.minimum(weights[1][0], 0) @ np.maximum(lower, 0))
            )
            return float(min(tighter, plain))
        lower, upper = np.maximum(lower, 0), np.maximum(upper, 0)
    return float(bound)


@eqx.filter_jit
def climb(decision: Decision, x: Float[Array, "n d"], movable: Float[Array, " d"]) -> Float[Array, " n"]:
    """Largest favourable margin found for each row in [0, 1]^d, columns that are not movable held.

    The box is an linf ball of radius 1/2 about its middle, so this is an attack on the refusal.
    """

    def one(row: Array, key: Array) -> Array:
        def margin(at: Array) -> Array:
            return decision.margin(at, jnp.asarray(1))

        middle = jnp.where(movable > 0, 0.5, row)
        return margin(pgd(margin, middle, 0.5, key, movable=movable, n_steps=60, n_restarts=4))

    return jax.vmap(one)(x, jax.random.split(jax.random.key(0), x.shape[0]))


def exists(model: AbstractModel, decision: Decision, x: np.ndarray, accepted: bool) -> Answer:
    """Whether the model accepts any point of [0, 1]^d: exact for linear models, else proven, refuted or unknown.

    An accepted row, or a point found by climbing, proves it; an upper bound below 0 refutes it.
    """
    if accepted:
        return "yes"
    if isinstance(model, LinearModel):
        weight, bias = coefficients(model)
        return "yes" if bias + np.maximum(weight, 0).sum() >= 0 else "no"
    if float(jnp.max(climb(decision, jnp.asarray(x[:64]), jnp.ones(x.shape[1])))) >= 0:
        return "yes"
    return "no" if isinstance(model, MLPModel) and upper_bound(model) < 0 else "unknown"
