"""Multi-layer perceptron."""

import functools
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.models._base import AbstractArchitecture, AbstractModel
from holdtrue.parameters import Count, ProperShare, configured

Activation = Literal["relu", "tanh", "leaky_relu"]
ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "leaky_relu": jax.nn.leaky_relu,
}


KINKED = {"relu": 0.0, "leaky_relu": 0.01}
"""Activations of two straight pieces, and the slope of the first."""


class MLPModel(AbstractModel):
    """Dense layers with an activation and dropout after every hidden one."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    activation: str = eqx.field(static=True)
    dropout: float = eqx.field(static=True)

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """A gradient; and layers of straight pieces, where the activation is made of such."""
        return frozenset({"differentiable"} | ({"layers"} if self.activation in KINKED else set()))

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.biases[-1].shape[-1]

    @property
    def random_in_training(self) -> bool:
        """Whether dropout is on in training."""
        return self.dropout > 0

    @property
    def first(self) -> tuple[Float[Array, "h d"], Float[Array, " h"]]:
        """First layer, before its activation."""
        return self.weights[0], self.biases[0]

    def rest(self, hidden: Float[Array, " h"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits from the first layer's sums; with a `key`, dropout is on."""
        for i, (weight, bias) in enumerate(zip(self.weights[1:], self.biases[1:], strict=True)):
            hidden = ACTIVATIONS[self.activation](hidden)
            if key is not None and self.dropout > 0:
                keep = jax.random.bernoulli(jax.random.fold_in(key, i), 1 - self.dropout, hidden.shape)
                hidden = jnp.where(keep, hidden / (1 - self.dropout), 0.0)
            hidden = weight @ hidden + bias
        return hidden

    @property
    def top(self) -> tuple[Float[Array, "k h"], Float[Array, " k"]]:
        """Last layer."""
        return self.weights[-1], self.biases[-1]

    def hidden(self, x: Float[Array, " d"]) -> Float[Array, " h"]:
        """Activations of the last hidden layer."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = ACTIVATIONS[self.activation](weight @ x + bias)
        return x

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row; with a `key`, dropout is on."""
        return self.rest(self.weights[0] @ x + self.biases[0], key=key)


@configured
class MLP(AbstractArchitecture):
    """Multi-layer perceptron.

    Parameters
    ----------
    widths : sequence of int, default=(64, 32)
        Hidden layers.
    activation : {"relu", "tanh", "leaky_relu"}, default="relu"
        After every hidden layer.
    dropout : float, default=0.0
        Share of hidden units dropped in training.

    Notes
    -----
    Weights start Glorot-uniform and biases at zero, as in the consistent-counterfactuals paper's Keras models.

    Examples
    --------
    >>> import jax
    >>> MLP(widths=(8,)).build(3, 2, jax.random.key(0)).logits(jax.numpy.ones(3)).shape
    (2,)
    """

    widths: tuple[Count, ...] = (64, 32)
    activation: Activation = "relu"
    dropout: ProperShare = 0.0

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> MLPModel:
        """Build an untrained model."""
        self.check_parameters()
        widths = (n_inputs, *(int(w) for w in self.widths), n_classes)
        weights, biases = _start(key, widths)
        return MLPModel(weights, biases, self.activation, float(self.dropout))


@functools.partial(jax.jit, static_argnames="widths")  # one program in place of several for every layer
def _start(key: PRNGKeyArray, widths: tuple[int, ...]) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    init = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)
    keys = jax.random.split(key, len(widths) - 1)
    weights = tuple(init(k, (o, i), jnp.float32) for k, i, o in zip(keys, widths[:-1], widths[1:], strict=True))
    return weights, tuple(jnp.zeros(o) for o in widths[1:])
