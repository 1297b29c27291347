"""Who judges recourse in training: the model as it is, or those that an attacker brings."""

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.models import AbstractModel, Data
from holdtrue.training.heads._tally import Tally

Losses = Callable[[PyTree, Float[Array, "n d"], Int[Array, " n"], PRNGKeyArray | None], Float[Array, " n"]]
"""Of a model, rows, labels and a key that switches on dropout: the loss of every row."""
Judges = Callable[[Float[Array, " d"]], Float[Array, "m k"]]
"""Logits of one row under each of `m` models, all held fixed."""


class Scene(NamedTuple):
    """What a panel sees of a minibatch.

    Attributes
    ----------
    predictor : the model as it is.
    batch : rows, labels and weights.
    tally : what rows were like so far.
    learn : prediction loss of a model on the minibatch with other rows in place of its own.
    harm : validity loss, under a model, of the recourse at hand; or of what is written anew for that model and the
        classes that it makes people want.
    done : share of the training that is over after this epoch.
    """

    predictor: AbstractModel
    batch: Data
    tally: Tally
    learn: Callable[[PyTree, Float[Array, "n d"]], Float[Array, ""]]
    harm: Callable[[PyTree, bool], Float[Array, ""]]
    done: Float[Array, ""]


class AbstractPanel(eqx.Module):
    """Gives the models under which recourse must be valid: inside the loop, what an attacker is to its user. One
    that learns keeps what it learns in its state."""

    tail: eqx.AbstractVar[float]
    """Share of the judges, for each person the harshest, that count."""

    def init(self, predictor: AbstractModel) -> PyTree:
        """State at the outset."""
        return None

    def learn(
        self,
        state: PyTree,
        predictor: AbstractModel,
        batch: Data,
        tally: Tally,
        losses: Losses,
        key: PRNGKeyArray,
    ) -> PyTree:
        """State after a minibatch was seen; `losses` are the prediction losses that the predictor descends on."""
        return state

    @abstractmethod
    def judges(self, state: PyTree, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Models that judge the recourse of this minibatch."""

    def held_out(self, state: PyTree, scene: Scene) -> Judges:
        """Models that were not judges, to measure by; the model as it is, where there are no others."""
        return one(scene.predictor)


class OwnPanel(AbstractPanel):
    """The model as it is: training without an attacker."""

    tail: float = eqx.field(static=True, default=1.0)

    def judges(self, state: PyTree, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Return the predictor."""
        return one(scene.predictor)


def one(model: AbstractModel) -> Judges:
    """The judge that one model is."""
    return lambda row: model.logits(row)[None]


def harshest(losses: Float[Array, "m n"], tail: float) -> Float[Array, " n"]:
    """Mean of the largest losses of every row, a share `tail` of all: their mean at 1, the worst towards 0."""
    count = max(1, round(tail * losses.shape[0]))
    if count == losses.shape[0]:
        return jnp.mean(losses, axis=0)
    return jnp.mean(jax.lax.top_k(losses.T, count)[0], axis=1)
