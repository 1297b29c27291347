"""Who judges recourse in training: the model as it is, or one that a shift of the data has led to."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdfast.metrics import AttackNorm
from holdfast.models import AbstractModel, Data
from holdfast.training._shift import Inner, virtual_data_shift

Schedule = Literal["linear", "static"]
Losses = Callable[[Any, Float[Array, "n d"], Int[Array, " n"], PRNGKeyArray | None], Float[Array, " n"]]
"""Of a model, rows, labels and a key that switches on dropout: the loss of every row."""
Judges = Callable[[Float[Array, " d"]], Float[Array, "m k"]]
"""Logits of one row under each of `m` models, all held fixed."""


class Scene(NamedTuple):
    """What an attacker sees of a minibatch.

    Attributes
    ----------
    predictor : the model that it attacks.
    batch : rows, labels and weights.
    learn : prediction loss of a model on the minibatch with other rows in place of its own.
    harm : validity loss, under a model, of the recourse at hand.
    done : share of the training that is over after this epoch.
    """

    predictor: AbstractModel
    batch: Data
    learn: Callable[[Any, Float[Array, "n d"]], Float[Array, ""]]
    harm: Callable[[Any], Float[Array, ""]]
    done: Float[Array, ""]


class AbstractAttacker(eqx.Module):
    """Gives the models under which recourse must be valid. One that learns keeps what it learns in its state."""

    own_weight: eqx.AbstractVar[Float[Array, ""]]
    """Weight of the validity under the model as it is, against 1 for that under the judges."""
    tail: eqx.AbstractVar[float]
    """Share of the judges, for each person the harshest, that count."""

    def init(self, predictor: AbstractModel) -> Any:
        """State at the outset."""
        return None

    def learn(self, state: Any, predictor: AbstractModel, batch: Data, losses: Losses, key: PRNGKeyArray) -> Any:
        """State after a minibatch was seen; `losses` are the prediction losses that the predictor descends on."""
        return state

    @abstractmethod
    def judges(self, state: Any, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Models that judge the recourse of this minibatch."""

    def held_out(self, state: Any, scene: Scene) -> Judges:
        """Models that were not judges, to measure by; the model as it is, where there are no others."""
        return _one(scene.predictor)


class NoShift(AbstractAttacker):
    """The model as it is: training without an attacker."""

    own_weight: Float[Array, ""]
    tail: float = eqx.field(static=True, default=1.0)

    def judges(self, state: Any, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Return the predictor."""
        return _one(scene.predictor)


class VirtualShift(AbstractAttacker):
    """The model that the worst small shift of the minibatch's rows leads to (`virtual_data_shift`)."""

    own_weight: Float[Array, ""]
    eps: Float[Array, ""]
    step_size: Float[Array, ""]
    bound: Float[Array, ""] | None
    movable: Float[Array, " d"]
    n_steps: int = eqx.field(static=True)
    n_inner: int = eqx.field(static=True)
    inner: Inner = eqx.field(static=True)
    norm: AttackNorm = eqx.field(static=True)
    schedule: Schedule = eqx.field(static=True)
    redraw: bool = eqx.field(static=True)
    tail: float = eqx.field(static=True, default=1.0)

    def judges(self, state: Any, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Run the attack on the minibatch."""
        eps = self.eps * scene.done if self.schedule == "linear" else self.eps
        shifted, _ = virtual_data_shift(
            scene.predictor, scene.batch.x, scene.learn, scene.harm, key,
            eps=eps, n_steps=self.n_steps, n_inner=self.n_inner, step_size=self.step_size, inner=self.inner,
            norm=self.norm, bound=self.bound, movable=self.movable, redraw=self.redraw,
        )  # fmt: skip
        return _one(shifted)


def _one(model: AbstractModel) -> Judges:
    return lambda row: model.logits(row)[None]


def harshest(losses: Float[Array, "m n"], tail: float) -> Float[Array, " n"]:
    """Mean of the largest losses of every row, a share `tail` of all: their mean at 1, the worst towards 0."""
    count = max(1, round(tail * losses.shape[0]))
    if count == losses.shape[0]:
        return jnp.mean(losses, axis=0)
    return jnp.mean(jax.lax.top_k(losses.T, count)[0], axis=1)
