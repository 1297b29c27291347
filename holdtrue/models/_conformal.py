"""Split-conformal sets of classes, and a size of theirs that has a slope."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


class ConformalSets(eqx.Module):
    """Of each row all classes that are probable enough, so that a given share of rows has its own class inside.

    Attributes
    ----------
    threshold : least probability of a class in the set.
    """

    threshold: Float[Array, ""]

    @staticmethod
    def calibrate(logits: np.ndarray, labels: np.ndarray, coverage: float) -> np.ndarray:
        """Threshold from rows the model has not learned from and the indices of their classes.

        It is the k-th smallest probability of a row's own class, ``k = floor((1 - coverage) (n + 1))``; with too
        few rows for the coverage it is 0, and every class is in every set.
        """
        own = np.asarray(jax.nn.softmax(jnp.asarray(logits), axis=-1))[np.arange(len(labels)), labels]
        # 0.05 * 20 is a little above or below 1 in floating point; a rank must not depend on that.
        rank = int(np.floor((1 - coverage) * (len(own) + 1) + 1e-9))
        return np.asarray(np.sort(own)[rank - 1] if rank > 0 else 0.0, np.float32)

    def contains(self, logits: Float[Array, " k"]) -> Bool[Array, " k"]:
        """Which classes are in the set of one row."""
        return jax.nn.softmax(logits) >= self.threshold

    def smooth_size(self, logits: Float[Array, " k"], temperature: Float[Array, ""]) -> Float[Array, ""]:
        """Size of the set, a class at the threshold counting one half; exact in the limit of no temperature."""
        return jnp.sum(jax.nn.sigmoid((jax.nn.softmax(logits) - self.threshold) / temperature))
