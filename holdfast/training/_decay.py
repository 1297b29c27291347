"""A step size that falls to zero along a cosine, for any regime's step."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdfast.models import AbstractModel, AbstractStep, Data


class CosineStep(AbstractStep):
    """A regime's step, of which a share is taken that falls from 1 to nearly 0 over the epochs.

    For Adam, whose update is linear in its step size, this is the usual cosine schedule, an epoch at a time. A
    loss with kinks, such as one with the norm of the weights in it, needs it: at a fixed step size the weights
    that should be zero go on trembling about it.
    """

    step: AbstractStep
    n_epochs: Float[Array, ""]

    def init(self, model: AbstractModel) -> Any:
        """State of the regime's own step."""
        return self.step.init(model)

    def update(
        self, model: AbstractModel, state: Any, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[AbstractModel, Any, Float[Array, ""]]:
        """One update of the regime, shortened."""
        updated, state, loss = self.step.update(model, state, batch, key, epoch)
        share = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(epoch / self.n_epochs, 1.0)))
        shorter = jax.tree.map(
            lambda old, new: old + share * (new - old),
            eqx.filter(model, eqx.is_inexact_array),
            eqx.filter(updated, eqx.is_inexact_array),
        )
        return eqx.combine(shorter, updated), state, loss

    def validate(self, model: AbstractModel, data: Data) -> Float[Array, ""]:
        """Loss on held-out rows, as the regime has it."""
        return self.step.validate(model, data)

    def prepare(self, data: Data, key: PRNGKeyArray) -> "AbstractStep":
        """The same about the regime's step when it is ready."""
        return eqx.tree_at(lambda s: s.step, self, self.step.prepare(data, key))

    @property
    def notes(self) -> tuple[str, ...]:
        """Names of the numbers that the regime tells of an epoch."""
        return self.step.notes

    def begin_epoch(
        self, model: AbstractModel, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Any, dict[str, Float[Array, ""]]]:
        """What the regime makes once per epoch."""
        return self.step.begin_epoch(model, data, n_batches, key, epoch)
