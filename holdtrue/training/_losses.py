"""Logits and cross-entropies of a minibatch, as every regime takes them."""

import jax
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.models import AbstractGradientStep, AbstractModel, Data, weighted_mean


def training_logits(model: AbstractModel, x: Float[Array, "n d"], key: PRNGKeyArray | None) -> Float[Array, "n k"]:
    """Logits of every row; a `key` switches on what is random in training."""
    if key is None or not model.random_in_training:
        return jax.vmap(model.logits)(x)
    return jax.vmap(lambda row, k: model.logits(row, key=k))(x, jax.random.split(key, x.shape[0]))


def cross_entropies(
    model: AbstractModel, x: Float[Array, "n d"], y: Int[Array, " n"], key: PRNGKeyArray | None
) -> Float[Array, " n"]:
    """Cross-entropy of every row; a `key` switches on what is random in training."""
    return optax.losses.softmax_cross_entropy_with_integer_labels(training_logits(model, x, key), y)


class CrossEntropyStep(AbstractGradientStep):
    """Adam on the weighted mean cross-entropy."""

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]

    def loss(
        self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Weighted mean cross-entropy of a minibatch."""
        return weighted_mean(cross_entropies(model, batch.x, batch.y, key), batch.weight)
