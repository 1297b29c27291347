"""Logistic regression."""

from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.models._base import AbstractArchitecture, AbstractModel


class LinearModel(AbstractModel):
    """Logits ``weight @ x + bias``."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"differentiable", "layers", "linear"})
    weight: Float[Array, "k d"]
    bias: Float[Array, " k"]

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.bias.shape[-1]

    @property
    def first(self) -> tuple[Float[Array, "k d"], Float[Array, " k"]]:
        """The model itself."""
        return self.weight, self.bias

    def rest(self, hidden: Float[Array, " k"]) -> Float[Array, " k"]:
        """Nothing is left to do."""
        return hidden

    @property
    def top(self) -> tuple[Float[Array, "k d"], Float[Array, " k"]]:
        """The model itself."""
        return self.weight, self.bias

    def hidden(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The row as it is."""
        return x

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        return self.weight @ x + self.bias


class Linear(AbstractArchitecture):
    """Logistic (softmax) regression.

    Starts at zero: the problem is convex, so the start carries no information.

    Examples
    --------
    >>> import jax
    >>> Linear().build(3, 2, jax.random.key(0)).logits(jax.numpy.ones(3)).shape
    (2,)
    """

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> LinearModel:
        """Build an untrained model."""
        weight, bias = np.zeros((n_classes, n_inputs), np.float32), np.zeros(n_classes, np.float32)
        return LinearModel(*jax.device_put((weight, bias)))
