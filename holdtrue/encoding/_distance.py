"""The one distance: between a factual and a recourse, in encoded units."""

from typing import Literal, get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from holdtrue.encoding._encoder import Encoder

Norm = Literal["l0", "l1", "l2", "linf", "mad"]
NORMS: tuple[Norm, ...] = get_args(Norm)


def norm_weights(encoder: Encoder, norm: Norm) -> np.ndarray:
    """Weight of each encoded column under a norm: the schema's `cost_weight`, over the spread for ``mad``."""
    weights = np.ones(encoder.n_columns)
    for slot in encoder.layout.slots:
        weights[slot.start : slot.stop] = encoder.schema[slot.name].cost_weight
    for slot in encoder.layout.indicators:
        weights[slot.start] = 0.0
    if norm == "mad":
        weights = weights / encoder.spread
    if norm == "l0":
        # A changed category moves two columns of its group; half of each counts it once.
        for slot in encoder.layout.groups:
            weights[slot.start : slot.stop] /= 2.0
    return weights.astype(np.float32)


def distance(
    x: Float[Array, "*batch d"], factual: Float[Array, "*batch d"], norm: Norm, weights: Float[Array, " d"]
) -> Float[Array, "*batch"]:
    """Weighted l0, l1, l2 or l-infinity norm of the change; ``mad`` is l1 with other weights.

    A weight multiplies its column's change before the norm is taken, so that linf <= l2 <= l1 under any weights.
    A changed category counts 2 in l1 (one column falls, one rises), 1 in l0 and ``mad``.
    """
    change = jnp.abs(x - factual)
    weights = jnp.broadcast_to(weights, change.shape)
    if norm == "l0":
        return jnp.sum(jnp.where(change > 1e-6, weights, 0.0), axis=-1)
    if norm == "l2":
        # The gradient of a square root at zero is infinite; a search starts there.
        squares = jnp.sum((weights * change) ** 2, axis=-1)
        return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
    if norm == "linf":
        return jnp.max(weights * change, axis=-1)
    return jnp.sum(weights * change, axis=-1)
