"""The decision a classifier takes: the one place that turns logits into a yes or a no."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdtrue.models._base import AbstractModel

MORE_THAN_HALF = np.nextafter(np.float32(0.5), np.float32(1))
"""A threshold that says: the most probable of two classes, a tie going to the first. In float32 it is the smallest
probability above one half."""


class Decision(eqx.Module):
    """A model with its threshold and its favourable class.

    Binary: the favourable class is decided when its probability reaches `threshold`. More classes: the
    largest logit decides.

    Attributes
    ----------
    model : AbstractModel
    threshold : scalar, compared with the favourable class's probability.
    favourable : index of the favourable class.
    """

    model: AbstractModel
    threshold: Float[Array, ""]
    favourable: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.model.n_classes

    def of(self, model: AbstractModel) -> "Decision":
        """The same decision of another model."""
        return Decision(model, self.threshold, self.favourable)

    def margin_of(self, logits: Float[Array, " k"], target: Int[Array, ""]) -> Float[Array, ""]:
        """How far, in logits, the decision is inside `target`; negative outside.

        Binary: log-odds of the favourable class minus the threshold's. More classes: the target's logit
        minus the largest other.
        """
        if self.n_classes == 2:
            gap = logits[self.favourable] - logits[1 - self.favourable]
            score = gap - jax.scipy.special.logit(self.threshold)
            return jnp.where(target == self.favourable, score, -score)
        is_target = jnp.arange(self.n_classes) == target
        return logits[target] - jnp.max(jnp.where(is_target, -jnp.inf, logits))

    def margin(self, x: Float[Array, " d"], target: Int[Array, ""]) -> Float[Array, ""]:
        """`margin_of` the model's logits of one row."""
        return self.margin_of(self.model.logits(x), target)

    def decide_of(self, logits: Float[Array, " k"]) -> Int[Array, ""]:
        """Index of the class decided."""
        if self.n_classes == 2:
            yes = self.margin_of(logits, jnp.asarray(self.favourable)) >= 0
            return jnp.where(yes, self.favourable, 1 - self.favourable)
        return jnp.argmax(logits)

    def decide_in_double(
        self, logits: Float[np.ndarray, "n k"], threshold: float | None = None
    ) -> Int[np.ndarray, " n"]:
        """`decide_of` many rows of logits that a model made elsewhere gave in float64, without rounding them.

        `threshold` is the decision's own, before it was rounded.
        """
        if self.n_classes != 2:
            return logits.argmax(axis=1)
        gap = logits[:, self.favourable] - logits[:, 1 - self.favourable]
        if threshold is None and np.float32(self.threshold) == MORE_THAN_HALF:
            yes = gap > 0
        else:
            level = np.float64(self.threshold) if threshold is None else threshold
            yes = gap >= np.log(level) - np.log1p(-level)
        return np.where(yes, self.favourable, 1 - self.favourable)

    def margins_of(
        self, logits: Float[np.ndarray, "n k"], targets: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """`margin_of` many rows of logits that were computed outside of a compiled program."""
        if self.n_classes == 2:
            level = np.float64(self.threshold)
            gap = logits[:, self.favourable] - logits[:, 1 - self.favourable] - (np.log(level) - np.log1p(-level))
            return np.where(targets == self.favourable, gap, -gap)
        own = np.arange(self.n_classes) == targets[:, None]
        return logits[own] - np.where(own, -np.inf, logits).max(axis=1)

    def is_target(self, x: Float[Array, " d"], target: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether one row is decided as `target`, by the model alone where it has guides."""
        return self.decide_of(self.model.alone.logits(x)) == target


@eqx.filter_jit
def batch_logits(model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, "n k"]:
    """Logits of many rows."""
    return jax.vmap(model.logits)(x)


@eqx.filter_jit
def batch_decide(decision: Decision, logits: Float[Array, "n k"]) -> Int[Array, " n"]:
    """Decisions of many rows of logits."""
    return jax.vmap(decision.decide_of)(logits)
