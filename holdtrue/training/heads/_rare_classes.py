"""A watch over the classes of a training: one that is rare must not vanish from the decisions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from holdtrue.models import Data

WATCHED = 0.02  # share of the running frequencies of classes that a minibatch renews
EVENING = 0.002  # largest change, per minibatch, of how much classes are evened out


class Watch(NamedTuple):
    """What keeps a class from vanishing: running shares of decisions and labels, and how even classes are made.

    At 0 rows weigh as they are, at 1 all classes weigh equally. It moves slowly, so that the predictor can follow:
    a guard that switches between the two swings between deciding a rare class never and for everybody near it.
    """

    given: Float[Array, " k"]
    true: Float[Array, " k"]
    evened: Float[Array, ""]

    @staticmethod
    def begin(n_classes: int) -> "Watch":
        """Every class as frequent as any."""
        return Watch(jnp.full(n_classes, 1.0 / n_classes), jnp.full(n_classes, 1.0 / n_classes), jnp.zeros(()))

    def weights(self) -> Float[Array, " k"]:
        """Weights of the classes."""
        return (1.0 / (self.true.shape[0] * jnp.maximum(self.true, 1e-6))) ** self.evened

    def after(self, decided: Int[Array, " n"], batch: Data, guard: Float[Array, ""]) -> "Watch":
        """The same after a minibatch."""
        k, total = self.true.shape[0], jnp.sum(batch.weight)
        share = batch.weight / jnp.maximum(total, 1e-12)
        pace = jnp.where(total > 0, WATCHED, 0.0)
        given = self.given + pace * (share @ jax.nn.one_hot(decided, k) - self.given)
        true = self.true + pace * (share @ jax.nn.one_hot(batch.y, k) - self.true)
        # Evening helps those that are rarer than others alone: of a frequent class it would make still less.
        least = jnp.where(true < 1.0 / k, guard * true, 0.0)
        lacking = jnp.where(least > 1e-6, 1.0 - given / jnp.maximum(least, 1e-6), -1.0)
        evened = self.evened + EVENING * jnp.clip(jnp.max(lacking), -1.0, 1.0)
        return Watch(given, true, jnp.clip(evened, 0.0, 1.0))
