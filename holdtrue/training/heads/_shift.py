"""Virtual data shift: the worst model that training on slightly shifted rows would lead to."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from holdtrue.metrics import AttackNorm, draw_in_ball, into_ball, steepest
from holdtrue.models import AbstractModel

Inner = Literal["sgd", "adam"]
STRIDE = 2.5  # radii that the steps add up to (Madry et al., 2018)
CLIP = 1.0  # largest entry of an inner gradient under "adam"
# Under the root of Adam's denominator. Without it the slope of that root is infinite where an inner gradient is
# exactly zero, as with saturated logits, and the gradient through the unrolled steps is NaN.
EPS_ROOT = 1e-12
LEAST = 0.01  # length that a vector of zeros counts as, where its change is bounded


class Follower(NamedTuple):
    """How a shifted model follows its rows: `n_steps` updates on `learn`, never far from where it started."""

    start: PyTree
    static: PyTree
    learn: Callable[[PyTree, Float[Array, "n d"]], Float[Array, ""]]
    descend: optax.GradientTransformation
    bound: Float[Array, ""] | float | None
    n_steps: int

    def __call__(self, params: PyTree, state: PyTree, rows: Float[Array, "n d"]) -> tuple[PyTree, PyTree]:
        """Weights and the optimiser's state after the updates; differentiable in the rows."""
        for _ in range(self.n_steps):
            slope = jax.grad(lambda p: self.learn(eqx.combine(p, self.static), rows))(params)
            updates, state = self.descend.update(slope, state, params)
            params = self._near(optax.apply_updates(params, updates))
        return params, state

    def _near(self, params: PyTree) -> PyTree:
        bound = self.bound
        if bound is None:
            return params

        def one(p: Array, p0: Array) -> Array:
            moved, length = p - p0, optax.safe_norm(p0, 0.0) + LEAST
            return p0 + moved * jnp.minimum(1.0, bound * length / optax.safe_norm(moved, 1e-12))

        return jax.tree.map(one, params, self.start)


def virtual_data_shift(
    model: AbstractModel,
    x: Float[Array, "n d"],
    learn: Callable[[PyTree, Float[Array, "n d"]], Float[Array, ""]],
    harm: Callable[[PyTree], Float[Array, ""]],
    key: PRNGKeyArray,
    *,
    eps: Float[Array, ""] | float,
    n_steps: int = 7,
    n_inner: int = 2,
    step_size: Float[Array, ""] | float = 0.03,
    inner: Inner = "sgd",
    norm: AttackNorm = "linf",
    bound: Float[Array, ""] | float | None = None,
    movable: Float[Array, " d"] | None = None,
    redraw: bool = False,
) -> tuple[PyTree, Float[Array, "n d"]]:
    """Shift rows so that a model that learns from them does most harm (Algorithm 1).

    Each of `n_steps` attack steps first lets the shifted model take `n_inner` steps on the shifted rows, then
    moves the shift up the gradient of `harm`, which is taken through those steps (what earlier attack steps
    made of the model is a constant), and back into the ball. Steps have length ``2.5 * eps / n_steps``. Inside
    jit.

    Parameters
    ----------
    model : AbstractModel
        Where the shifted model starts.
    x : array
        Rows, encoded.
    learn : callable
        Of a model and rows: the prediction loss that the shifted model descends on.
    harm : callable
        Of a model: what the shift is to make large, such as the loss of recourse that is held fixed.
    key : PRNG key
        Of the start, which is uniform in the ball.
    eps : float
        Radius of every row's ball, in encoded units.
    n_steps, n_inner : int
        Attack steps (T), and steps of the model in each (K).
    step_size : float, default=0.03
        Of the model's steps (eta).
    inner : {"sgd", "adam"}, default="sgd"
        Plain gradient descent, as printed; or Adam on clipped gradients, as in the paper's public code.
    norm : {"linf", "l2"}, default="linf"
        Shape of a row's ball.
    bound : float, optional
        Largest change of a weight matrix or bias vector, as a share of its own length. Many steps of Adam make
        another model altogether, to which nothing can be robust. Without an end when omitted.
    movable : array of 0 and 1, optional
        Columns that may be shifted; all by default.
    redraw : bool, default=False
        Draw the shift anew in every step in place of moving it: the random attacker.

    Returns
    -------
    model, shift
        The shifted model, and the shift after the last step.
    """
    start, static = eqx.partition(model, eqx.is_inexact_array)
    mask = jnp.ones(x.shape[1]) if movable is None else movable
    follower = Follower(start, static, learn, _inner(inner, step_size), bound, n_inner)

    def draw(own: PRNGKeyArray) -> Float[Array, "n d"]:
        keys = jax.random.split(own, x.shape[0])
        return jax.vmap(lambda k, row: draw_in_ball(k, x=row, radius=eps, norm=norm, mask=mask))(keys, x)

    def attack(carry: PyTree, own: PRNGKeyArray) -> tuple[PyTree, None]:
        params, state, shift = carry
        if redraw:
            shift = draw(own)
            return (*follower(params, state, x + shift), shift), None

        def after(at: Float[Array, "n d"]) -> tuple[Array, PyTree]:
            moved = follower(params, state, x + at)
            return harm(eqx.combine(moved[0], static)), moved

        slope, (params, state) = jax.grad(after, has_aux=True)(shift)
        stride = STRIDE * eps / n_steps
        shift = jax.vmap(lambda at, s: into_ball(at + stride * steepest(s * mask, norm), eps, norm))(shift, slope)
        return (params, state, shift), None

    first, later = jax.random.split(key)
    begun = (start, follower.descend.init(start), draw(first))
    (params, _, shift), _ = jax.lax.scan(attack, begun, jax.random.split(later, n_steps))
    return jax.lax.stop_gradient((eqx.combine(params, static), shift))


def _inner(inner: Inner, step_size: Float[Array, ""] | float) -> optax.GradientTransformation:
    if inner == "sgd":
        return optax.scale(-step_size)
    return optax.chain(optax.clip(CLIP), optax.scale_by_adam(eps_root=EPS_ROOT), optax.scale(-step_size))
