"""Attacks: the worst point for a model in a small ball about a row. Functions of one row, for jit and vmap."""

import functools
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from holdtrue.models import AbstractModel, Decision, LinearModel

AttackNorm = Literal["linf", "l2"]
ATTACK_NORMS: tuple[AttackNorm, ...] = ("linf", "l2")
STRIDE = 2.5  # radii that the steps of `pgd` add up to: enough to reach any point of the ball, and to turn round
Loss = Callable[[Float[Array, " d"]], Float[Array, ""]]


def fgsm(
    loss: Loss,
    x: Float[Array, " d"],
    radius: Float[Array, ""] | float,
    *,
    norm: AttackNorm = "linf",
    movable: Float[Array, " d"] | None = None,
) -> Float[Array, " d"]:
    """One step of full length up the gradient (Goodfellow et al., 2015): the exact maximum of a linear loss.

    Parameters
    ----------
    loss : callable
        Of one row; what is to be made large.
    x : array
        The row, encoded.
    radius : float
        Of the ball, in encoded units.
    norm : {"linf", "l2"}, default="linf"
        Shape of the ball.
    movable : array of 0 and 1, optional
        Columns that the attack may move; all by default.
    """
    return x + radius * steepest(jax.grad(loss)(x) * _mask(x, movable), norm)


def pgd(
    loss: Loss,
    x: Float[Array, " d"],
    radius: Float[Array, ""] | float,
    key: PRNGKeyArray | None = None,
    *,
    norm: AttackNorm = "linf",
    movable: Float[Array, " d"] | None = None,
    n_steps: int = 20,
    n_restarts: int = 1,
) -> Float[Array, " d"]:
    """Steps up the gradient, each followed by a projection onto the ball (Madry et al., 2018).

    Steps have length ``2.5 * radius / n_steps``. With a `key` every start is drawn from the ball; of several
    restarts the one that ends worst is returned. Parameters are those of `fgsm`, and these:

    Parameters
    ----------
    key : PRNG key, optional
        Of the random starts; without it the search starts at the row itself.
    n_steps : int, default=20
        Steps.
    n_restarts : int, default=1
        Starts; more than one needs a key.
    """
    mask = _mask(x, movable)
    stride = STRIDE * radius / n_steps

    def ascend(start: Float[Array, " d"]) -> Float[Array, " d"]:
        def step(change: Float[Array, " d"], _: None) -> tuple[Float[Array, " d"], None]:
            slope = jax.grad(loss)(x + change) * mask
            return into_ball(change + stride * steepest(slope, norm), radius, norm), None

        return x + jax.lax.scan(step, start, None, length=n_steps)[0]

    if key is None:
        return ascend(jnp.zeros_like(x))
    draw = functools.partial(draw_in_ball, x=x, radius=radius, norm=norm, mask=mask)
    if n_restarts == 1:
        return ascend(draw(key))
    ends = jax.vmap(lambda k: ascend(draw(k)))(jax.random.split(key, n_restarts))
    return ends[jnp.argmax(jax.vmap(loss)(ends))]


def linear_rise(
    weight: Float[Array, " d"],
    radius: Float[Array, ""] | float,
    *,
    norm: AttackNorm = "linf",
    movable: Float[Array, " d"] | None = None,
) -> Float[Array, ""]:
    """How much ``weight @ x`` can rise within the ball: the radius times the dual norm of the weights."""
    moved = weight * _mask(weight, movable)
    if norm == "linf":
        return radius * jnp.sum(moved * jnp.sign(moved))  # jax takes the slope of |0| as 1; at a kink 0 is fairer
    return radius * optax.safe_norm(moved, 0.0)


def collapse_radius(
    x: np.ndarray,
    y: np.ndarray,
    *,
    norm: AttackNorm = "linf",
    movable: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> float:
    """Radius from which adversarial training leaves a linear model of two classes with no weights at all.

    With a free intercept, ``w = 0`` minimises the logistic loss under attack exactly when the radius is at least
    half the distance between the two classes' means: the largest gap of any column for an linf ball, the Euclidean
    distance for an l2 ball. (At ``w = 0`` the loss falls along the gap g by ``p (1 - p) |g|`` and the attack takes
    ``2 radius p (1 - p)`` times the dual norm of the weights away.) Infinite where the classes differ in a column
    that the attack may not move. `y` holds class indices; `weight`, one number per row, counts rows.
    """
    counts = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)
    rows, second = np.asarray(x, np.float64), np.asarray(y) == 1
    means = [np.average(rows[part], axis=0, weights=counts[part]) for part in (second, ~second)]
    gap = np.abs(means[0] - means[1])
    held = np.zeros(len(gap), bool) if movable is None else np.asarray(movable) == 0
    if gap[held].any():
        return float("inf")
    return float(gap.max() if norm == "linf" else np.linalg.norm(gap)) / 2


def is_linear(model: AbstractModel) -> bool:
    """Whether the worst of a ball is known in closed form: a linear model of two classes."""
    return isinstance(model, LinearModel) and model.n_classes == 2


def withstands(
    decision: Decision,
    x: Float[Array, "n d"],
    y: Int[Array, " n"],
    radius: Float[Array, ""] | float,
    key: PRNGKeyArray,
    *,
    norm: AttackNorm = "linf",
    movable: Float[Array, " d"] | None = None,
    n_steps: int = 20,
    n_restarts: int = 1,
) -> Bool[Array, " n"]:
    """Which rows are decided as `y` (class indices) and stay so under attack.

    Exact for linear models of two classes. Otherwise the margin of `y` is attacked by `pgd` and the row itself is
    asked too, so the share of rows that withstand is an upper bound of the robust accuracy.
    """

    def linear(row: Array, label: Array) -> Array:
        model = decision.model
        assert isinstance(model, LinearModel)
        rise = linear_rise(model.weight[1] - model.weight[0], radius, norm=norm, movable=movable)
        return _stays(decision, decision.margin(row, label) - rise, label)

    def attacked(row: Array, label: Array, row_key: PRNGKeyArray) -> Array:
        worst = pgd(
            lambda at: -decision.margin(at, label), row, radius, row_key,
            norm=norm, movable=movable, n_steps=n_steps, n_restarts=n_restarts,
        )  # fmt: skip
        return decision.is_target(worst, label) & decision.is_target(row, label)

    if is_linear(decision.model):
        return jax.vmap(linear)(x, y)
    return jax.vmap(attacked)(x, y, jax.random.split(key, x.shape[0]))


def robust_accuracy(
    decision: Decision,
    x: np.ndarray,
    y: np.ndarray,
    radius: float,
    *,
    norm: AttackNorm = "linf",
    movable: np.ndarray | None = None,
    n_steps: int = 20,
    n_restarts: int = 1,
    random_state: int = 0,
) -> float:
    """Share of rows that are decided rightly and stay so under attack (see `withstands`)."""
    rows = jnp.asarray(x, jnp.float32)
    mask = None if movable is None else jnp.asarray(movable, jnp.float32)
    held = _withstands(
        decision, rows, jnp.asarray(y, jnp.int32), jnp.asarray(radius, jnp.float32), jax.random.key(random_state),
        mask, norm, n_steps, n_restarts,
    )  # fmt: skip
    return float(held.mean())


@eqx.filter_jit
def _withstands(
    decision: Decision, x: Array, y: Array, radius: Array, key: PRNGKeyArray, movable: Array | None,
    norm: AttackNorm, n_steps: int, n_restarts: int,
) -> Bool[Array, " n"]:  # fmt: skip
    return withstands(
        decision, x, y, radius, key, norm=norm, movable=movable, n_steps=n_steps, n_restarts=n_restarts
    )


def _stays(decision: Decision, margin: Array, label: Array) -> Array:
    # A margin of 0 is a yes: the favourable class keeps it, the other loses it.
    return jnp.where(label == decision.favourable, margin >= 0, margin > 0)


def _mask(x: Float[Array, " d"], movable: Float[Array, " d"] | None) -> Float[Array, " d"]:
    return jnp.ones_like(x) if movable is None else movable


def steepest(slope: Float[Array, " d"], norm: AttackNorm) -> Float[Array, " d"]:
    """Direction of length 1 along which a linear function rises fastest; none where it does not rise."""
    if norm == "linf":
        return jnp.sign(slope)
    length = optax.safe_norm(slope, 0.0)
    return slope / jnp.where(length > 0, length, 1.0)


def into_ball(change: Float[Array, " d"], radius: Array | float, norm: AttackNorm) -> Float[Array, " d"]:
    """Nearest point of the ball about 0."""
    if norm == "linf":
        return jnp.clip(change, -radius, radius)
    length = optax.safe_norm(change, 0.0)
    return change * jnp.minimum(1.0, radius / jnp.where(length > 0, length, 1.0))


def draw_in_ball(
    key: PRNGKeyArray, *, x: Float[Array, " d"], radius: Array | float, norm: AttackNorm, mask: Float[Array, " d"]
) -> Float[Array, " d"]:
    """A random change within the ball: uniform for linf; for l2, a uniform direction and a uniform length."""
    if norm == "linf":
        return radius * mask * jax.random.uniform(key, x.shape, minval=-1.0, maxval=1.0)
    direction, length = jax.random.split(key)
    return radius * jax.random.uniform(length) * steepest(mask * jax.random.normal(direction, x.shape), norm)
