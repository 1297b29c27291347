r"""How far a model's influence moves when its top layer is fine-tuned.

The influence of a row is the gradient of the model's answer, averaged over a *distribution of interest* about the
row (Black et al., 2022, Definition 4). A ReLU network is linear in pieces, so the gradient is the normal of a
boundary nearby, and Theorem 2 bounds how far these normals turn under a fine-tuning of the top layer.

The theorem does not stand as printed. Write :math:`f = w^\top h + b`, :math:`s = \sigma'(f)` for the slope of the
sigmoid and :math:`\Delta` for how far the top layer moves. Then

* its :math:`K`, the Lipschitz constant of :math:`h` *on the support* (Definition 3), bounds slopes along the
  support only, while the proof uses it for the norm of the whole Jacobian (eq. 61). On the path from zero to the
  row it can be the smaller number, and the inequality can fail. The proof is right for
  :math:`K = \sup_z \|J_h(z)\|_2`, the largest spectral norm on the support.
* with that :math:`K`, the printed right side is larger than what the triangle inequality gives for any two models
  whose weights differ by :math:`\Delta`, sure or not: :math:`K(\|w\|/2 + \Delta/4)`. It does not vanish with
  :math:`\Delta`.

What the argument can give, keeping the two models together instead of bounding each, is here the *corrected* form:

.. math:: K \, E_z\left[\Delta\, s(z) + (\|w\| + \Delta) \max_{|u| \le \Delta \|(h(z), 1)\|}
          |\sigma'(f(z) + u) - \sigma'(f(z))|\right]

since :math:`\|s w - s' w'\| \le s \|w - w'\| + |s - s'| \|w'\|` and the logit moves by at most
:math:`\Delta \|(h(z), 1)\|`. It vanishes with :math:`\Delta`, is never above the printed one, and is never above
the triangle inequality's while :math:`\Delta \le \|w\|`. Confidence enters over the whole distribution, not at the
row alone. Nothing in it asks for ReLUs.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpy.typing import ArrayLike
from scipy.special import expit

from holdtrue.batch import map_rows
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import AbstractModel, EnsembleModel

Output = Literal["probability", "logit"]
Distribution = Literal["path", "ball"]
Form = Literal["corrected", "triangle", "printed", "along"]
ROUNDING = 1e-9  # relative; both sides are computed in double precision from the same Jacobians


def distributional_influence(
    model: AbstractModel,
    x: ArrayLike,
    *,
    target: int = 1,
    output: Output = "probability",
    distribution: Distribution = "path",
    n_points: int = 50,
    spread: float = 0.1,
    random_state: int = 0,
) -> np.ndarray:
    r"""Gradient of a model's answer, averaged over points about each row (Black et al., 2022, Definition 4).

    :math:`\chi(x) = E_{z \sim D_x}[\partial q(z) / \partial z]`. On the path it is the integrated gradient before
    it is multiplied by the row, so that :math:`\chi(x)^\top x = q(x) - q(0)`.

    Parameters
    ----------
    model : AbstractModel
        Differentiable.
    x : array of shape (people, columns)
        Encoded rows.
    target : int, default=1
        Index of the class of interest.
    output : {"probability", "logit"}
        What is differentiated: the class's probability, or its logit. Of two classes only the difference of the
        logits means anything; it is taken as the logit then.
    distribution : {"path", "ball"}
        ``path``: uniform between zero and the row, by the midpoint rule. ``ball``: normal about the row.
    n_points : int, default=50
        Points per row.
    spread : float, default=0.1
        Standard deviation of ``ball``, in encoded units.
    random_state : int, default=0
        Of ``ball``; everyone gets the same offsets.

    Returns
    -------
    array of shape (people, columns)

    References
    ----------
    [1] Black, Wang, Datta, Fredrikson (2022), *Consistent counterfactuals for deep models*, Definition 4.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> from holdtrue.models import LinearModel
    >>> model = LinearModel(jnp.array([[0.0, 0.0], [2.0, -1.0]]), jnp.zeros(2))
    >>> distributional_influence(model, [[0.5, 3.0]], output="logit").tolist()
    [[2.0, -1.0]]
    """
    rows = _rows("distributional_influence", x)
    if "differentiable" not in model.capabilities:
        raise CapabilityError(f"distributional_influence: {type(model).__name__} has no gradient.")
    if output not in ("probability", "logit"):
        raise DataError(
            f"distributional_influence: `output` is not known; got {output!r}. Write 'probability' or 'logit'."
        )
    if not 0 <= target < model.n_classes:
        raise DataError(
            f"distributional_influence: `target` must be a class index below {model.n_classes}; got {target!r}."
        )
    points = _Points.of(distribution, rows.shape[1], n_points, spread, random_state)
    return map_rows(lambda some: _influence(model, points, some, target, output), rows)


class InfluenceBound(NamedTuple):
    """Both sides of Theorem 2, each of shape (models, people), and what they were made of.

    Attributes
    ----------
    change : norm of the change of the influence.
    corrected : right side as corrected (see the module).
    triangle : what the triangle inequality gives for any two models: ``K (|w| / 2 + radius / 4)``.
    printed : right side with the constants of A.2 and the largest spectral norm as ``K``.
    along : the same with the Lipschitz constant on the support (Definition 3) as ``K``: the theorem as stated.
    lipschitz, lipschitz_along : these two constants, of shape (people,).
    radius : how far each top layer may move, weights and bias together, of shape (models,).
    weight_norm : norm of the top layer's weight.
    """

    change: np.ndarray
    corrected: np.ndarray
    triangle: np.ndarray
    printed: np.ndarray
    along: np.ndarray
    lipschitz: np.ndarray
    lipschitz_along: np.ndarray
    radius: np.ndarray
    weight_norm: float

    def held(self, form: Form = "corrected") -> np.ndarray:
        """Whether the change stays within the right side, for every model and person."""
        return self.change <= getattr(self, form) * (1 + ROUNDING)

    def tightness(self, form: Form = "corrected") -> np.ndarray:
        """Change over right side: 1 is tight. NaN where both are 0."""
        right = getattr(self, form)
        return np.divide(self.change, right, out=np.full_like(right, np.nan), where=right > 0)


def influence_bound(
    model: AbstractModel,
    tuned: EnsembleModel,
    x: ArrayLike,
    *,
    radius: float | None = None,
    distribution: Distribution = "path",
    n_points: int = 50,
    spread: float = 0.1,
    random_state: int = 0,
) -> InfluenceBound:
    """Both sides of Theorem 2 for a model, fine-tunings of its top layer, and people.

    Parameters
    ----------
    model : AbstractModel
        Of two classes, with an affine `top` layer. Its logit is the difference of the two.
    tuned : EnsembleModel
        As ``retrain(clf, vary="finetune").ensemble``: all but the top layer must be the model's own.
    x : array of shape (people, columns)
        Encoded rows.
    radius : float, optional
        How far a top layer may move (weights and bias together, l2); one that moved farther is an error. By
        default each fine-tuning's own distance, which makes the right sides smallest.
    distribution, n_points, spread, random_state
        As in `distributional_influence`. The points are taken as the distribution itself, and the Lipschitz
        constants are the largest on them: for that distribution both sides are exact but for rounding.

    Notes
    -----
    The influence is the probability's, as in the proof. The logit's needs no theorem:
    ``|E[J^T (w - w')]| <= K radius``.

    References
    ----------
    [1] Black, Wang, Datta, Fredrikson (2022), *Consistent counterfactuals for deep models*, Theorem 2 and A.2.
    """
    rows = _rows("influence_bound", x)
    weight, bias = _top("influence_bound", model)
    weights, biases = _top("influence_bound", tuned.members)
    _check_frozen(model, tuned.members)
    moved = np.hypot(np.linalg.norm(weights - weight, axis=1), np.abs(biases - bias))
    if radius is not None and (moved > radius * (1 + ROUNDING)).any():
        raise DataError(
            f"influence_bound: a top layer moved beyond `radius`; got {moved.max():.6g} for {radius!r}."
        )
    delta = moved if radius is None else np.full(len(moved), float(radius))
    points = _Points.of(distribution, rows.shape[1], n_points, spread, random_state)
    people = [_person(model, points, row, weight, bias, weights, biases, delta) for row in rows]
    change, corrected, slope, steep, along = (np.array([p[i] for p in people]).T for i in range(5))
    norm = float(np.linalg.norm(weight))
    printed = _printed(slope, norm, delta[:, None])
    triangle = (norm / 2 + delta / 4)[:, None]
    return InfluenceBound(
        change, corrected, steep * triangle, steep * printed, along * printed, steep, along, delta, norm
    )


def _printed(slope: np.ndarray, norm: float, delta: np.ndarray) -> np.ndarray:
    """Right side of Theorem 2 but for K; `slope` is the sigmoid's at the row."""
    c1 = 0.75 * norm + 0.5 * delta  # eq. 59
    c2 = 0.25 * (2.5 * norm + 1.25 * delta) ** 2  # eq. 60
    return np.sqrt((slope * norm + c1) ** 2 + c2)  # eq. 67; C2 is under the root


def _person(
    model: AbstractModel,
    points: "_Points",
    row: np.ndarray,
    weight: np.ndarray,
    bias: float,
    weights: np.ndarray,
    biases: np.ndarray,
    delta: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, float, float, float]:
    """Change and corrected right side per model; the sigmoid's slope at the row; the two Lipschitz constants."""
    at_row, hidden, jacobian = (np.asarray(a, np.float64) for a in _layers_below(model, points, jnp.asarray(row)))
    logit = hidden @ weight + bias
    slope, slopes = _slope(logit), _slope(hidden @ weights.T + biases)  # (points,), (points, models)
    # eq. 36: everything below the top layer is shared, so that only the top layers are subtracted.
    apart = slope[:, None, None] * weight - slopes[:, :, None] * weights
    change = np.linalg.norm(np.einsum("zmp,zpd->md", apart, jacobian) / len(logit), axis=1)
    steep = np.linalg.norm(jacobian, 2, axis=(1, 2)).max()
    reach = np.sqrt(np.sum(hidden**2, axis=1) + 1)[:, None] * delta  # how far the logit may move
    near, far = np.maximum(np.abs(logit)[:, None] - reach, 0), np.abs(logit)[:, None] + reach
    # The slope falls with the distance of the logit from 0: over an interval it is extreme at the ends, or at 0.
    turned = np.maximum(_slope(near) - slope[:, None], slope[:, None] - _slope(far))
    corrected = steep * (delta * slope[:, None] + (np.linalg.norm(weight) + delta) * turned).mean(axis=0)
    along = steep
    if points.kind == "path":
        length = np.linalg.norm(row)
        along = np.linalg.norm(jacobian @ (row / length), axis=1).max() if length > 0 else 0.0
    return change, corrected, float(_slope(at_row @ weight + bias)), float(steep), float(along)


class RadialSlope(NamedTuple):
    """Both sides of Proposition 1, each of shape (people, points).

    Attributes
    ----------
    norm : of the gradient at ``x' = t x``.
    printed : ``|dq(r x')/dr| / |x|`` at r = 1, the proposition's right side.
    sharper : ``|dq(r x')/dr| / |x'|``, which is larger by 1 / t and still holds. It is ``|dq(t x)/dt| / |x|``,
        with which the paper goes on in eq. 4.
    """

    norm: np.ndarray
    printed: np.ndarray
    sharper: np.ndarray


def radial_slope(
    function: Callable[[Float[Array, " d"]], Float[Array, ""]], x: ArrayLike, *, n_points: int = 50
) -> RadialSlope:
    """Norm of a function's gradient on the way from zero to `x`, and its slope along that way (Proposition 1).

    The slope is a lower bound of the norm. A search that lowers it, as SNS does, need not lower the norm.

    Parameters
    ----------
    function : callable
        One row to one number, differentiable by jax.
    x : array of shape (people, columns)
    n_points : int, default=50
        Points on the way, ``t = 1 / n_points, ..., 1``.

    References
    ----------
    [1] Black, Wang, Datta, Fredrikson (2022), *Consistent counterfactuals for deep models*, Proposition 1 and A.3.

    Examples
    --------
    >>> sides = radial_slope(lambda z: z[0] ** 2, [[3.0, 4.0]], n_points=1)
    >>> [float(side[0, 0]) for side in sides]
    [6.0, 3.5999999046325684, 3.5999999046325684]
    """
    rows = _rows("radial_slope", x)
    shares = jnp.arange(1, n_points + 1) / n_points

    @jax.jit
    def both(row: Array) -> tuple[Array, Array]:
        def one(t: Array) -> tuple[Array, Array]:
            z = t * row
            along = jax.jvp(lambda r: function(r * z), (jnp.ones(()),), (jnp.ones(()),))[1]
            return jnp.linalg.norm(jax.grad(function)(z)), jnp.abs(along)

        return jax.vmap(one)(shares)

    norms, along = (np.array(a) for a in zip(*(both(jnp.asarray(row)) for row in rows), strict=True))
    length = np.linalg.norm(rows, axis=1)[:, None]
    # At the zero vector there is no way to go, and both right sides are 0.
    printed = np.divide(along, length, out=np.zeros_like(along), where=length > 0)
    return RadialSlope(norms, printed, printed / np.asarray(shares))


# ---- points of the distribution, and what is below the top layer -------------------------------------


class _Points(eqx.Module):
    """A distribution of interest as equally likely points ``share * x + offset``."""

    share: Float[Array, " points"]
    offset: Float[Array, "points d"]
    kind: str = eqx.field(static=True)

    @staticmethod
    def of(kind: str, d: int, n: int, spread: float, random_state: int) -> "_Points":
        if n < 1:
            raise DataError(f"influence: `n_points` must be a positive whole number; got {n!r}.")
        if kind == "path":
            return _Points((jnp.arange(n) + 0.5) / n, jnp.zeros((n, d)), kind)
        if kind == "ball":
            if not spread > 0:
                raise DataError(f"influence: `spread` must be positive; got {spread!r}.")
            offset = spread * np.random.RandomState(random_state).standard_normal((n, d))
            return _Points(jnp.ones(n), jnp.asarray(offset, jnp.float32), kind)
        raise DataError(f"influence: `distribution` is not known; got {kind!r}. Write 'path' or 'ball'.")

    def about(self, x: Float[Array, " d"]) -> Float[Array, "points d"]:
        return self.share[:, None] * x + self.offset


@eqx.filter_jit
def _influence(model: AbstractModel, points: _Points, x: Float[Array, "n d"], target: int, output: str) -> Array:
    def answer(z: Array) -> Array:
        logits = model.logits(z)
        if output == "probability":
            return jax.nn.softmax(logits)[target]
        return logits[target] - logits[1 - target] if model.n_classes == 2 else logits[target]

    return jax.lax.map(lambda row: jax.vmap(jax.grad(answer))(points.about(row)).mean(axis=0), x)


@eqx.filter_jit
def _layers_below(model: AbstractModel, points: _Points, row: Float[Array, " d"]) -> tuple[Array, Array, Array]:
    z = points.about(row)
    return model.hidden(row), jax.vmap(model.hidden)(z), jax.vmap(jax.jacrev(model.hidden))(z)


def _top(where: str, model: AbstractModel) -> tuple[np.ndarray, PyTree]:
    """The one logit's weight and bias: the difference of the two; with a leading axis for stacked models."""
    if model.top is None or model.n_classes != 2:
        raise CapabilityError(
            f"{where}: needs a model of two classes with an affine top layer; got {type(model).__name__} with "
            f"{model.n_classes} classes."
        )
    weight, bias = (np.asarray(part, np.float64) for part in model.top)
    return weight[..., 1, :] - weight[..., 0, :], bias[..., 1] - bias[..., 0]


def _check_frozen(model: AbstractModel, members: AbstractModel) -> None:
    def below(m: AbstractModel) -> list[PyTree]:
        return jax.tree.leaves(eqx.tree_at(lambda at: at.top, m, (None, None), is_leaf=lambda leaf: leaf is None))

    ours, theirs = below(model), below(members)
    if len(ours) != len(theirs) or not all(
        np.array_equal(b, np.broadcast_to(a, b.shape)) for a, b in zip(ours, theirs, strict=True)
    ):
        raise DataError(
            "influence_bound: `tuned` differs from the model below the top layer. Use "
            "retrain(clf, vary='finetune', layers='top')."
        )


def _slope(logit: np.ndarray) -> np.ndarray:
    return expit(logit) * expit(-logit)


def _rows(where: str, x: ArrayLike) -> np.ndarray:
    rows = np.asarray(x, np.float32)
    if rows.ndim != 2:
        raise DataError(f"{where}: `x` must have shape (people, columns); got {rows.shape}.")
    return rows
