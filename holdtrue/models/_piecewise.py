"""A network that sees every number piece by piece, so that neither units nor tails matter to it."""

from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.encoding import Layout
from holdtrue.models._base import AbstractArchitecture, AbstractModel
from holdtrue.models._fit import Data
from holdtrue.models._mlp import MLP, Activation, MLPModel
from holdtrue.parameters import Count, ProperShare


class PiecewiseModel(AbstractModel):
    """A network on the row and, of each number, on how much of every piece between two knots lies below it."""

    network: MLPModel
    # Bits of float32: whole numbers to an optimiser, so that nothing learns them and no weight decay moves them.
    knots: Int[Array, "numbers knots"]

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """A gradient; and that columns add up, where no hidden layer mixes them."""
        return frozenset({"differentiable"} | ({"additive"} if len(self.network.weights) == 1 else set()))

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.network.n_classes

    @property
    def random_in_training(self) -> bool:
        """Whether dropout is on in training."""
        return self.network.random_in_training

    @property
    def top(self) -> tuple[Float[Array, "k h"], Float[Array, " k"]]:
        """Last layer."""
        return self.network.top

    @property
    def knots_seen(self) -> np.ndarray:
        """The knots as numbers."""
        return np.asarray(self.knots).view(np.float32).astype(np.float64)

    def pieces(self, x: Float[Array, " d"]) -> Float[Array, " inputs"]:
        """What the network is given of a row."""
        knots = jax.lax.bitcast_convert_type(self.knots, jnp.float32).astype(x.dtype)
        low, high = knots[:, :-1], knots[:, 1:]
        wide = high > low  # where many people have one value, knots coincide, and the piece is empty
        width = jnp.where(wide, high - low, jnp.ones_like(low))
        shares = jnp.where(wide, jnp.clip((x[: len(knots), None] - low) / width, 0.0, 1.0), jnp.zeros_like(low))
        return jnp.concatenate([x, shares.ravel()])

    def hidden(self, x: Float[Array, " d"]) -> Float[Array, " h"]:
        """Activations of the last hidden layer."""
        return self.network.hidden(self.pieces(x))

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row; with a `key`, dropout is on."""
        return self.network.logits(self.pieces(x), key=key)

    def prepared(self, data: Data) -> Self:
        """With knots at the rows' quantiles; a row of weight 0 is as good as absent."""
        n, k = self.knots.shape
        x = np.asarray(data.x, np.float32)[np.asarray(data.weight) > 0, :n]
        knots = np.stack([knots_of(column, k) for column in x.T]) if n else np.zeros((0, k), np.float32)
        return self._with(jnp.asarray(knots.view(np.int32)))

    def prepared_as(self, other: AbstractModel) -> Self:
        """With the knots of another model of this build."""
        return self._with(other.knots) if isinstance(other, PiecewiseModel) else self

    def _with(self, knots: Array) -> Self:
        return eqx.tree_at(lambda model: model.knots, self, knots)


def knots_of(values: np.ndarray, k: int) -> np.ndarray:
    """`k` knots in rising order: quantiles, and where those coincide, quantiles of the rows in between.

    Nine in ten people may have no capital gains at all: what the tenth has is to be told apart all the same.
    """
    knots = np.unique(np.quantile(values, np.linspace(0, 1, k), method="nearest"))
    while len(knots) < k:
        rest = values[~np.isin(values, knots)]
        if not len(rest):
            break
        shares = np.linspace(0, 1, k - len(knots) + 2)[1:-1]
        knots = np.union1d(knots, np.quantile(rest, shares, method="nearest"))
    return np.pad(knots, (0, k - len(knots)), mode="edge").astype(np.float32)


def even_knots(n_numbers: int, n_pieces: int) -> np.ndarray:
    """Bits of the knots of even pieces of what is encoded from 0 to 1: those of a model that has seen no rows."""
    return np.tile(np.linspace(0, 1, n_pieces + 1, dtype=np.float32), (n_numbers, 1)).view(np.int32)


class PiecewiseMLP(AbstractArchitecture):
    """Multi-layer perceptron on piecewise linear shares of every number: what `EarlyStopping` takes by default.

    Between quantiles of the training rows, a number is told as the shares of the pieces that lie below it. A
    tail of a few large values is then one piece among others, whatever its units, and what happens in a small part
    of the range is as easy to learn as what happens in all of it. The encoder, and with it costs and limits, stay
    as they are. Piecewise linear encodings are those of Gorishniy, Rubachev, Babenko (2022), *On embeddings for
    numerical features in tabular deep learning*, beside the number itself.

    Parameters
    ----------
    n_pieces : int, default=16
        Pieces of every number.
    widths : sequence of int, default=(64, 32)
        Hidden layers.
    activation : {"relu", "tanh", "leaky_relu"}, default="relu"
        After every hidden layer.
    dropout : float, default=0.2
        Share of hidden units dropped in training.

    Examples
    --------
    >>> import jax
    >>> PiecewiseMLP(n_pieces=4).build(3, 2, jax.random.key(0)).logits(jax.numpy.ones(3)).shape
    (2,)
    """

    def __init__(
        self,
        *,
        n_pieces: Count = 16,
        widths: tuple[Count, ...] = (64, 32),
        activation: Activation = "relu",
        dropout: ProperShare = 0.2,
    ) -> None:
        self.n_pieces = n_pieces
        self.widths = widths
        self.activation: Activation = activation
        self.dropout = dropout

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> PiecewiseModel:
        """Build an untrained model of numbers alone."""
        return self._build(n_inputs, n_inputs, n_classes, key)

    def build_on(self, layout: Layout, n_classes: int, key: PRNGKeyArray) -> PiecewiseModel:
        """Build an untrained model that tells numbers from levels of categories."""
        return self._build(len(layout.numbers), layout.n_columns, n_classes, key)

    def _build(self, n_numbers: int, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> PiecewiseModel:
        self.check_parameters()
        inner: Any = MLP(widths=self.widths, activation=self.activation, dropout=self.dropout)
        network = inner.build(n_inputs + n_numbers * self.n_pieces, n_classes, key)
        return PiecewiseModel(network, jnp.asarray(even_knots(n_numbers, self.n_pieces)))
