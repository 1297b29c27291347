"""The infinitely wide two-layer ReLU network, by its neural tangent kernel."""

from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular

from holdtrue._types import Tensor
from holdtrue.models._base import AbstractArchitecture
from holdtrue.models._closed_form import AbstractClosedForm
from holdtrue.models._fit import Data, History
from holdtrue.parameters import Count, Finite, Positive, configured

BLOCK = 1024  # rows of a long table that meet all others at a time
JITTER = 1e-10  # of the landmarks' mean diagonal: keeps their factor from failing where two of them are one


@jax.jit
def ntk(x: Float[Array, " d"], rows: Float[Array, "n d"]) -> Float[Array, " n"]:
    r"""Kernel of one row with many: :math:`x^\top z\,(\pi - \angle(x, z)) / 2\pi` (Definition 2).

    It is the inner product of the gradients of ``sum_r a_r relu(w_r x) / sqrt(m)`` with respect to the first
    layer, as the width `m` grows. At ``z = c x`` it has a kink, where the derivative is taken as the mean of both
    sides; rows closer to it than the precision tells apart count as on it.
    """
    return _kernel(rows @ x, _norm(x) * jax.vmap(_norm)(rows), jnp)


def ntk_matrix(x: ArrayLike, z: ArrayLike) -> np.ndarray:
    """Kernel of every row of `x` with every row of `z`, in double precision."""
    left, right = np.asarray(x, np.float64), np.asarray(z, np.float64)
    lengths = np.linalg.norm(right, axis=1)
    out = np.empty((len(left), len(right)))
    for start in range(0, len(left), BLOCK):
        part = left[start : start + BLOCK]
        out[start : start + BLOCK] = _kernel(part @ right.T, np.linalg.norm(part, axis=1)[:, None] * lengths, np)
    return out


def _kernel(product: Tensor, length: Tensor, of: Tensor) -> Tensor:
    """Kernel from inner products and products of lengths; `of` is numpy or jax.numpy."""
    cosine = product / of.where(length > 0, length, 1.0)
    aside = 1.0 - cosine**2 > 8 * np.finfo(cosine.dtype).eps
    # Off the kink the slope of the arc cosine is finite; on it, it is left out.
    angle = of.where(aside, of.arccos(of.where(aside, cosine, 0.0)), of.where(cosine > 0, 0.0, np.pi))
    return product * (np.pi - angle) / (2 * np.pi)


def _norm(x: Float[Array, " d"]) -> Float[Array, ""]:
    square = jnp.sum(x**2)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def kernel_ridge(kernel: np.ndarray, y: np.ndarray, beta: float, weight: np.ndarray | None = None) -> np.ndarray:
    r"""Dual weights :math:`(K + \beta I)^{-1} y` by Cholesky, in double precision.

    With sample weights `W` they are :math:`(K + \beta W^{-1})^{-1} y`. They minimise
    :math:`\sum_i w_i (f(x_i) - y_i)^2 + \beta \|f\|^2`.
    """
    root = np.ones(len(kernel)) if weight is None else np.sqrt(np.asarray(weight, np.float64))
    system = root[:, None] * kernel * root
    system[np.diag_indices_from(system)] += beta
    right = (root * np.asarray(y, np.float64).T).T
    return (root * cho_solve(cho_factor(system, lower=True, overwrite_a=True), right).T).T


class Nystroem(NamedTuple):
    """Dual weights on landmarks, and the share of the kernel that the landmarks do not see."""

    weights: np.ndarray
    left_out: float


def nystroem(
    x: np.ndarray, y: np.ndarray, landmarks: np.ndarray, beta: float, weight: np.ndarray | None = None
) -> Nystroem:
    r"""Kernel ridge regression among functions :math:`\sum_j a_j K(\cdot, z_j)` of the landmarks `z` alone.

    Time grows with the rows times the square of the landmarks, memory with that square. `left_out` is the trace of
    :math:`K - K_{xz} K_{zz}^{-1} K_{zx}` over that of `K`: 0 where the landmarks span every row.
    """
    own = ntk_matrix(landmarks, landmarks)
    own[np.diag_indices_from(own)] += JITTER * np.trace(own) / len(own)
    factor = cholesky(own, lower=True, overwrite_a=True)
    weight = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    y = np.asarray(y, np.float64).reshape(len(x), -1)
    system, right = beta * np.eye(len(landmarks)), np.zeros((len(landmarks), y.shape[1]))
    seen = total = 0.0
    for start in range(0, len(x), BLOCK):
        part = slice(start, start + BLOCK)
        features = solve_triangular(factor, ntk_matrix(landmarks, x[part]), lower=True)
        system += (features * weight[part]) @ features.T
        right += (features * weight[part]) @ y[part]
        present = weight[part] > 0
        seen += float(np.sum(features[:, present] ** 2))
        total += float(np.sum(x[part][present] ** 2)) / 2  # K(x, x) = |x|^2 / 2
    inner = cho_solve(cho_factor(system, lower=True, overwrite_a=True), right)
    left_out = max(0.0, 1.0 - seen / total) if total > 0 else 0.0
    return Nystroem(solve_triangular(factor, inner, lower=True, trans=1), left_out)


class NTKModel(AbstractClosedForm):
    """Logits ``sum_j weights_j K(x, rows_j)``.

    Attributes
    ----------
    rows : training rows, or the landmarks that stand for them.
    weights : dual weights, one column per class.
    left_out : share of the kernel's trace that the landmarks do not see; 0 where every row is kept.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    rows: Float[Array, "n d"]
    weights: Float[Array, "n k"]
    left_out: Float[Array, ""]
    beta: float = eqx.field(static=True)
    constant: float = eqx.field(static=True)
    n_rows: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.weights.shape[-1]

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        return ntk(self._extended(x), self._extended(self.rows)) @ self.weights

    def kernel(self, x: ArrayLike) -> np.ndarray:
        """Kernel of people with the rows kept, of shape (people, n), in double precision."""
        return ntk_matrix(self._extended(np.asarray(x, np.float64)), self._extended(np.asarray(self.rows)))

    def solve(self, data: Data, key: PRNGKeyArray) -> tuple["NTKModel", History]:
        """Return the model solved for these rows in double precision; the losses are weighted mean squares."""
        x, weight = (np.asarray(part, np.float64) for part in (data.x, data.weight))
        y = np.eye(self.n_classes)[np.asarray(data.y)] - 1 / self.n_classes
        keep, left_out = np.arange(len(x)), 0.0
        extended = self._extended(x)
        if len(x) <= self.n_rows:
            dual = kernel_ridge(ntk_matrix(extended, extended), y, self.beta, weight)
        else:
            keep = np.sort(np.asarray(jax.random.choice(key, len(x), (self.n_rows,), replace=False)))
            dual, left_out = nystroem(extended, y, extended[keep], self.beta, weight)
        single = partial(jnp.asarray, dtype=jnp.float32)
        solved = NTKModel(single(x[keep]), single(dual), single(left_out), self.beta, self.constant, self.n_rows)
        after = np.concatenate(
            [ntk_matrix(extended[at : at + BLOCK], extended[keep]) @ dual for at in range(0, len(x), BLOCK)]
        )
        losses = [np.average(np.sum((y - f) ** 2, axis=1), weights=weight) for f in (np.zeros_like(y), after)]
        return solved, History(single(losses), jnp.full(2, jnp.nan), jnp.asarray(1))

    def _extended(self, x: Tensor) -> Tensor:
        """Rows with the constant column, where there is one."""
        if self.constant == 0:
            return x
        widths = [(0, 0)] * (x.ndim - 1) + [(0, 1)]
        pad = np.pad if isinstance(x, np.ndarray) else jnp.pad
        return pad(x, widths, constant_values=self.constant)


@configured
class NTK(AbstractArchitecture):
    r"""Two-layer ReLU network of infinite width, solved in closed form by its neural tangent kernel.

    With two classes the log-odds are :math:`f(x) = K(x, X)^\top (K(X, X) + \beta I)^{-1} Y` with labels
    :math:`Y = \pm 1` and the kernel of Definition 2: what gradient descent on the first layer of a wide network
    reaches under squared loss. More classes have a column of `Y` each. Good for theory, since cost and validity of
    recourse can be written down; every answer costs a pass over the training rows, and they are in the model file.

    Parameters
    ----------
    beta : float, default=1.0
        What is added to the kernel's diagonal; the paper calls it the bias. Larger is smoother. Two equal rows
        make the kernel singular, so it must be positive.
    constant : float, default=0.0
        Value of a further column that all rows share. Without it ``f(c x) = c f(x)``, as in the paper; with it
        the network has biases. A table of numbers alone needs it; the columns of a category add up to one anyway.
    n_rows : int, default=5000
        Rows kept. A longer table is answered for by so many of its rows, drawn at random (Nyström); the fitted
        model's `left_out` is the share of the kernel that they do not see.

    Notes
    -----
    Solved by StandardTraining, of which only `class_weight` then has a meaning, and by regimes that say how. The
    log-odds lie about -1 and 1, so that most probabilities lie between .27 and .73: they rank people and decide,
    and are not calibrated. `RecourseClassifier` makes equal rows one and gives weights a mean of 1: where n rows
    hold m different ones, the `beta` of Definition 2 is ``beta * n / m``. The seed has no part in it unless
    rows are drawn. The kernel has a kink at every training row: gradients there are a mean of two sides.

    References
    ----------
    [1] *On the trade-offs between adversarial robustness and actionable explanations*, Definition 2.
    [2] Du, Zhai, Poczos, Singh (2019), *Gradient descent provably optimizes over-parameterized neural networks*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.NTK(), random_state=0
    ... ).fit(bank.X[:300], bank.y[:300])
    >>> clf.predictor_.decision.model.rows.shape[0]
    300
    """

    beta: Positive = 1.0
    constant: Finite = 0.0
    n_rows: Count = 5000

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> NTKModel:
        """Build an unsolved model: no rows yet, and 0 for everybody."""
        self.check_parameters()
        return NTKModel(
            jnp.zeros((0, n_inputs)),
            jnp.zeros((0, n_classes)),
            jnp.zeros(()),
            float(self.beta),
            float(self.constant),
            int(self.n_rows),
        )
