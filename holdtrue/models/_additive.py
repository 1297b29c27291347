"""A sum of one curve per column: a model that is solved for, and that a retraining moves little."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray
from threadpoolctl import threadpool_limits

from holdtrue.encoding import Layout
from holdtrue.models._base import AbstractArchitecture
from holdtrue.models._fit import Data, History
from holdtrue.models._mlp import MLPModel
from holdtrue.models._piecewise import PiecewiseModel, even_knots
from holdtrue.parameters import Count

STRAIGHT, BEND, LEVEL, BIAS = 2.0, 32.0, 4.0, 0.01
"""Penalties of squared weights, in rows: of a number's straight line, of a piece of it, of a level, of the bias.
Chosen by AUC and by how much resampled rows move the answers, on splits that no reported figure is of."""
WIDEST = 3000
"""Weights of all classes together for which the matrix of second derivatives is made."""


class Additive(AbstractArchitecture):
    """One curve per number and one height per level, added up: what a classifier takes by default.

    The curve of a number is a straight line plus, between quantiles of the training rows, a bend wherever the rows
    ask for one. What a column does is the same whatever the other columns are, as in a scorecard: such a model is
    fitted at once, to one solution, and rows drawn anew move it far less than they move a network.

    Parameters
    ----------
    n_pieces : int, default=8
        Pieces of every number's curve.

    Notes
    -----
    What only a combination of columns tells is not learned. `fit` warns where boosting, which learns it, does
    better on rows held out; ``PiecewiseMLP()`` with ``EarlyStopping()`` learns it too.

    Examples
    --------
    >>> import jax
    >>> Additive(n_pieces=4).build(3, 2, jax.random.key(0)).logits(jax.numpy.ones(3)).shape
    (2,)
    """

    def __init__(self, *, n_pieces: Count = 8) -> None:
        self.n_pieces = n_pieces

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> PiecewiseModel:
        """Build an untrained model of numbers alone; the problem is convex, so it starts at zero."""
        return self._build(n_inputs, n_inputs, n_classes)

    def build_on(self, layout: Layout, n_classes: int, key: PRNGKeyArray) -> PiecewiseModel:
        """Build an untrained model that tells numbers from levels of categories."""
        return self._build(len(layout.numbers), layout.n_columns, n_classes)

    def _build(self, n_numbers: int, n_inputs: int, n_classes: int) -> PiecewiseModel:
        self.check_parameters()
        return _with_weights(
            np.zeros((n_classes, n_inputs + n_numbers * self.n_pieces)),
            np.zeros(n_classes),
            even_knots(n_numbers, self.n_pieces),
        )


def _with_weights(weight: np.ndarray, bias: np.ndarray, knots: np.ndarray) -> PiecewiseModel:
    layers = (jnp.asarray(weight, jnp.float32),), (jnp.asarray(bias, jnp.float32),)
    return PiecewiseModel(MLPModel(*layers, "relu", 0.0), jnp.asarray(knots))


def solve_additive(model: PiecewiseModel, data: Data, penalty: float) -> tuple[PiecewiseModel, History]:
    """Return the additive model of least penalised cross-entropy, and the cross-entropy before and after.

    In double precision by Newton's method, outside jit. A row of weight 0 is as good as absent.

    Parameters
    ----------
    penalty : float
        Times the penalties of weights above.
    """
    present = np.asarray(data.weight) > 0
    x, y, weight = (np.asarray(part)[present] for part in (data.x, data.y, data.weight))
    knots, k = np.asarray(model.knots), model.n_classes
    n_numbers, n_pieces = knots.shape[0], knots.shape[1] - 1
    kinds = [(STRAIGHT, n_numbers), (LEVEL, x.shape[1] - n_numbers), (BEND, n_numbers * n_pieces), (BIAS, 1)]
    # A penalty of p is one of 1 where the column is divided by the root of p.
    scale = np.concatenate([np.full(n, (p if p == BIAS else p * penalty) ** -0.5) for p, n in kinds])
    inputs = np.concatenate([pieces_of(x, knots.view(np.float32)), np.ones((len(x), 1))], axis=1) * scale
    # Every class is named, also one that a resample lacks.
    named = np.concatenate([inputs, np.zeros((k, inputs.shape[1]))]), np.concatenate([y, np.arange(k)])
    width = inputs.shape[1] * (1 if k == 2 else k)
    from sklearn.linear_model import LogisticRegression  # 0.2 s that an answer does not need

    solver = LogisticRegression(
        solver="newton-cholesky" if width <= WIDEST else "lbfgs", fit_intercept=False, tol=1e-5, max_iter=200
    )
    with threadpool_limits(1):  # other models are solved beside this one
        solver.fit(*named, sample_weight=np.concatenate([weight, np.zeros(k)]))
        coefficients = solver.coef_ if k > 2 else np.concatenate([-solver.coef_, solver.coef_]) / 2
        logits = inputs @ coefficients.T
    weights = coefficients * scale
    peak = logits.max(axis=1)
    after = peak + np.log(np.exp(logits - peak[:, None]).sum(axis=1)) - logits[np.arange(len(y)), y]
    losses = jnp.asarray([np.log(k), np.average(after, weights=weight)], jnp.float32)
    return _with_weights(weights[:, :-1], weights[:, -1], knots), History(
        losses, jnp.full(2, jnp.nan), jnp.asarray(1)
    )


def pieces_of(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """What `PiecewiseModel.pieces` makes of every row, in double precision on the host."""
    low, high = np.asarray(knots[:, :-1], np.float64), np.asarray(knots[:, 1:], np.float64)
    wide = high > low
    shares = np.clip((x[:, : len(knots), None] - low) / np.where(wide, high - low, 1.0), 0.0, 1.0) * wide
    return np.concatenate([x, shares.reshape(len(x), -1)], axis=1)
