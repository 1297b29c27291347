"""ElliCE: recourse that every near-optimal top layer accepts."""

import functools
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.linalg import solve_triangular

from holdtrue.batch import map_rows
from holdtrue.errors import CapabilityError
from holdtrue.methods._criterion import climbing
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.models import AbstractModel
from holdtrue.parameters import Count, Positive, configured
from holdtrue.search import Ellipsoid, StableSolver


@configured
class ElliCE(AbstractClimbingMethod):
    """Recourse that all models accept whose training loss is nearly as low (Turbal et al., 2025).

    Near its minimum the loss is ``L + v' H v / 2``, where v is a change of the top layer's weights and H the
    Hessian of the mean cross-entropy in them plus `ridge` times the identity. Models that lose at most `tolerance`
    more are an ellipsoid, and the worst of them lowers the log-odds at x' by ``sqrt(2 tolerance h' H^-1 h)`` with
    the last hidden layer's values h. From the base's recourse the log-odds less that are climbed until they pass
    the threshold, and the cost is brought down again as long as they do. Costs one Hessian in place of retrained
    models; what a retraining does to the layers below is not in it.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is the start; ``Wachter()`` when omitted. The cost is counted in its norm.
    tolerance : float, default=0.01
        How much higher the mean training loss may be (`epsilon`).
    ridge : float, default=0.0001
        Added to the Hessian: of directions in which no training row says anything.
    n_steps : int, default=600
        Steps of a climb at most.
    random_state : int, optional
        Seed of the base; the climb has no randomness.

    Notes
    -----
    Needs a differentiable model with an affine top layer (linear models, MLPs), training rows, and what the base
    needs. The decision's own threshold is the one that the worst model must pass. With more than two classes the
    margin over each other class has its own worst model, and the smallest counts. The paper descends on a hinge
    of the worst log-odds plus the distance; here the worst log-odds are a condition, and the cheapest point found
    that meets it is returned. The worst-case log-odds are those of the authors' package `ellice` 0.1.4, to within
    0.0001 on a logistic model and on a small MLP (``benchmarks/ellice.py``).

    A person whose worst-case log-odds cannot be brought there keeps the valid point that lacks least.

    References
    ----------
    [1] Turbal, Voitsitska, Semenova (2025), *ElliCE: efficient and provably robust algorithmic recourse via the
        Rashomon sets*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.ElliCE(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> refused = bank.X[clf.predict(bank.X) == 0][:5]
    >>> sure, near = clf.recourse(refused), clf.recourse(refused, method=ht.Wachter())
    >>> bool((sure.after > near.after).all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    needs_rows: ClassVar[bool] = True

    tolerance: Positive = 0.01
    ridge: Positive = 0.0001
    n_steps: Count = 600
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Take the Hessian at the training rows, and fit the base."""
        model = self.predictor_.decision.model.alone
        if model.top is None:
            raise CapabilityError(
                f"ElliCE: needs a model with an affine top layer; got {type(model).__name__}. Use PROBE or TRex."
            )
        return {"factor": inverse_root(model, x, self.ridge)} | self._learn_base(x, y)

    def solver(self) -> StableSolver:
        """Ascent of the worst-case margin."""
        factor = jnp.asarray(self.state_["factor"], jnp.float32)
        radius = jnp.asarray(np.sqrt(2 * self.tolerance), jnp.float32)
        return climbing(self, Ellipsoid(factor, radius), self.n_steps)


def inverse_root(model: AbstractModel, x: np.ndarray, ridge: float) -> np.ndarray:
    """A matrix F with ``F' F = H^-1``, H the Hessian of the mean cross-entropy in the top layer, biases included.

    The Hessian of a softmax does not depend on the labels. A margin is a difference of two logits, whose weights
    have twice the curvature of a logistic regression's: twice the ridge makes `ridge` that of its weights.
    """
    assert model.top is not None
    weight, bias = (np.asarray(part, np.float64) for part in model.top)
    inner = map_rows(functools.partial(_hidden, model), np.asarray(x, np.float32)).astype(np.float64)
    inner = np.column_stack([inner, np.ones(len(inner))])
    logits = inner @ np.column_stack([weight, bias]).T
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    k, h = p.shape[1], inner.shape[1]
    hessian = 2 * ridge * np.eye(k * h)
    for i in range(k):
        for j in range(k):
            curvature = p[:, i] * ((i == j) - p[:, j])
            hessian[i * h : (i + 1) * h, j * h : (j + 1) * h] += (inner * curvature[:, None]).T @ inner / len(x)
    root = np.linalg.cholesky(hessian)
    return solve_triangular(root, np.eye(k * h), lower=True).astype(np.float32)


@eqx.filter_jit
def _hidden(model: AbstractModel, x: Array) -> Array:
    return jax.vmap(model.hidden)(x)
