"""A step size that falls to zero along a cosine, for any regime's step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.models import AbstractModel, AbstractStep, Data
from holdtrue.training._wrapped_step import AbstractStepAround


class CosineStep(AbstractStepAround):
    """A regime's step, of which a share is taken that falls from 1 to nearly 0 over the epochs.

    For Adam, whose update is linear in its step size, this is the usual cosine schedule, an epoch at a time. A
    loss with kinks, such as one with the norm of the weights in it, needs it: at a fixed step size the weights
    that should be zero go on trembling about it.
    """

    step: AbstractStep
    n_epochs: Float[Array, ""]

    def update(
        self, model: AbstractModel, state: PyTree, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[AbstractModel, PyTree, Float[Array, ""]]:
        """One update of the regime, shortened."""
        updated, state, loss = self.step.update(model, state, batch, key, epoch)
        share = 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(epoch / self.n_epochs, 1.0)))
        shorter = jax.tree.map(
            lambda old, new: old + share * (new - old),
            eqx.filter(model, eqx.is_inexact_array),
            eqx.filter(updated, eqx.is_inexact_array),
        )
        return eqx.combine(shorter, updated), state, loss


def grown(ramp_epochs: Float[Array, ""], epoch: Int[Array, ""]) -> Float[Array, ""]:
    """Share of its value that a radius has in an epoch, if it grows from 0 over the first so many."""
    ramp = jnp.where(ramp_epochs > 0, ramp_epochs, 1.0)
    return jnp.where(ramp_epochs > 0, jnp.minimum(epoch / ramp, 1.0), 1.0)
