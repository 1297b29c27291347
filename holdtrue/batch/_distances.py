"""The one distance, for many rows."""

import functools

import jax
import numpy as np
from jaxtyping import Array, Float

from holdtrue.batch._map import map_rows
from holdtrue.encoding import Encoder, Norm, distance, norm_weights


def distances(encoder: Encoder, factual: np.ndarray, recourse: np.ndarray, norm: Norm) -> np.ndarray:
    """Cost of every row of encoded people, under a norm."""
    run = functools.partial(_distances, norm=norm)
    if encoder.tails is not None:
        factual, recourse = (encoder.tails.rise(np.asarray(part)) for part in (factual, recourse))
    # The change itself in double precision: two large numbers may differ by little.
    return map_rows(
        run, (recourse - factual).astype(np.float32), _repeat(norm_weights(encoder, norm), len(factual))
    )


def _repeat(weights: np.ndarray, n: int) -> np.ndarray:
    return np.broadcast_to(weights, (n, len(weights)))


@functools.partial(jax.jit, static_argnames="norm")
def _distances(change: Float[Array, "n d"], weights: Float[Array, "n d"], norm: Norm) -> Float[Array, " n"]:
    return distance(change, 0.0 * change, norm, weights[0])
