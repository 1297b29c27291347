"""Two heads on one network: a prediction, and the recourse that goes with it."""

from abc import abstractmethod
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.encoding import Feasible
from holdtrue.errors import DataError
from holdtrue.models._base import AbstractArchitecture, AbstractModel
from holdtrue.models._mlp import ACTIVATIONS, MLP, MLPModel
from holdtrue.models._vae import gaussian_kl
from holdtrue.parameters import Count, ProperShare, configured

Head = Literal["residual", "codes", "row", "vae"]
STAY = 3.0  # head start of a person's own level over all others together, in log-odds, in an untrained generator
REST = 0.05  # share of the way to a bound that counts as staying


class AbstractGenerator(eqx.Module):
    """A network that writes recourse: one number per encoded column, which `recourse_of` makes a permitted row."""

    residual: eqx.AbstractVar[bool]

    @abstractmethod
    def write(
        self,
        x: Float[Array, " d"],
        codes: Float[Array, " c"],
        wanted: Float[Array, " k"],
        key: PRNGKeyArray | None,
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Numbers for every column, and what the training charges for how they were made (0 for most).

        Parameters
        ----------
        x, codes : the row, and what the predictor makes of it.
        wanted : the wanted class, one-hot.
        key : switches on what is random in training.
        """


class Generator(AbstractGenerator):
    """One network from the codes, the row, or both, and the wanted class."""

    network: MLPModel
    sees_codes: bool = eqx.field(static=True)
    sees_row: bool = eqx.field(static=True)
    residual: bool = eqx.field(static=True)

    def write(
        self,
        x: Float[Array, " d"],
        codes: Float[Array, " c"],
        wanted: Float[Array, " k"],
        key: PRNGKeyArray | None,
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """One pass of the network."""
        seen = [wanted, *([codes] if self.sees_codes else []), *([x] if self.sees_row else [])]
        return self.network.logits(jnp.concatenate(seen), key=key), jnp.zeros(())


class VariationalGenerator(AbstractGenerator):
    """A Gaussian code of the row and the wanted class, and a decoder that is told the class again."""

    encoder: MLPModel
    decoder: MLPModel
    residual: bool = eqx.field(static=True)

    def write(
        self,
        x: Float[Array, " d"],
        codes: Float[Array, " c"],
        wanted: Float[Array, " k"],
        key: PRNGKeyArray | None,
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Decode the mean code, or with a key a drawn one; the charge is the code's divergence from its prior."""
        mean, log_variance = jnp.split(self.encoder.logits(jnp.concatenate([wanted, x])), 2)
        log_variance = jnp.clip(log_variance, -10.0, 10.0)
        z = mean if key is None else mean + jnp.exp(0.5 * log_variance) * jax.random.normal(key, mean.shape)
        return self.decoder.logits(jnp.concatenate([wanted, z])), gaussian_kl(mean, log_variance)


def recourse_of(
    out: Float[Array, " d"], feasible: Feasible, *, residual: bool, project: bool = True
) -> Float[Array, " d"]:
    """Make a row of a network's output that the person may relax to, whatever the output is.

    What may not move is the person's own; a number stays between the ends of its permitted interval, which is
    one-sided where it may move one way only; levels out of reach have a share of 0; rows of linear constraints
    are projected onto. With `residual` the output says how to leave the person's own place, and 0 hardly moves;
    without, it says where to be.
    """
    n = len(feasible.layout.numbers)
    own, box_low, box_high = (a[:n] for a in (feasible.x, feasible.lower, feasible.upper))
    movable = feasible.movable[:n]
    low = jnp.where(movable, jnp.minimum(box_low, own), own)
    high = jnp.where(movable, jnp.maximum(box_high, own), own)
    if not residual:
        numbers = jnp.clip(low + (high - low) * jax.nn.sigmoid(out[:n]), low, high)
        return feasible.relaxed(numbers, out, project=project)
    move = jnp.tanh(out[:n])
    # Small moves are none, so that few numbers change; the slope stays that of the move, so that none is stuck.
    kept = jnp.sign(move) * jnp.maximum(jnp.abs(move) - REST, 0.0) / (1.0 - REST)
    move = move + jax.lax.stop_gradient(kept - move)
    numbers = jnp.clip(own + jnp.where(move > 0, high - own, own - low) * move, low, high)
    ahead = np.zeros(feasible.layout.n_columns, np.float32)
    for group in feasible.layout.groups:
        ahead[group.start : group.stop] = STAY + np.log(group.stop - group.start)
    scores = out + ahead * (feasible.x * feasible.scale + feasible.offset)
    return feasible.relaxed(numbers, scores, project=project)


class CounterNetModel(AbstractModel):
    """A predictor, and a generator of recourse that is given the predictor's codes of the row."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"differentiable", "generator"})
    predictor: MLPModel
    generator: AbstractGenerator
    n_encoder: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.predictor.n_classes

    @property
    def random_in_training(self) -> bool:
        """Whether the predictor has dropout."""
        return self.predictor.random_in_training

    @property
    def first(self) -> tuple[Float[Array, "h d"], Float[Array, " h"]]:
        """First layer of the predictor."""
        return self.predictor.first

    def rest(self, hidden: Float[Array, " h"]) -> Float[Array, " k"]:
        """Logits from the first layer's sums."""
        return self.predictor.rest(hidden)

    @property
    def top(self) -> tuple[Float[Array, "k h"], Float[Array, " k"]]:
        """Last layer of the predictor."""
        return self.predictor.top

    def hidden(self, x: Float[Array, " d"]) -> Float[Array, " h"]:
        """Activations of the predictor's last hidden layer."""
        return self.predictor.hidden(x)

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row; with a `key`, dropout is on."""
        return self.predictor.logits(x, key=key)

    def codes(self, x: Float[Array, " d"]) -> Float[Array, " c"]:
        """What the generator is told of the prediction: the encoder's code, and the last hidden layer after it."""
        layers, parts = list(zip(self.predictor.weights[:-1], self.predictor.biases[:-1], strict=True)), []
        for i, (weight, bias) in enumerate(layers):
            x = ACTIVATIONS[self.predictor.activation](weight @ x + bias)
            if i + 1 in (self.n_encoder, len(layers)):
                parts.append(x)
        return jnp.concatenate(parts)

    def write(
        self,
        x: Float[Array, " d"],
        feasible: Feasible,
        target: Int[Array, ""],
        *,
        key: PRNGKeyArray | None = None,
        project: bool = True,
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """`generate`, and what the training charges for how it was made.

        Without `project`, linear constraints are left to the hardening.
        """
        wanted = jax.nn.one_hot(target, self.n_classes)
        out, charge = self.generator.write(x, self.codes(x), wanted, key)
        return recourse_of(out, feasible, residual=self.generator.residual, project=project), charge

    def generate(
        self, x: Float[Array, " d"], feasible: Feasible, target: Int[Array, ""], *, key: PRNGKeyArray | None = None
    ) -> Float[Array, " d"]:
        """Relaxed recourse of one encoded row: inside the person's limits, categories as shares.

        ``feasible.hard`` makes whole numbers whole and categories single. With a `key`, dropout is on.
        """
        return self.write(x, feasible, target, key=key)[0]


@configured
class CounterNet(AbstractArchitecture):
    """A classifier with a second head that writes recourse in one pass (Guo et al., 2023).

    An encoder makes a code of the row, a predictor makes logits of the code, and a generator makes recourse of the
    code, the predictor's last hidden layer and the wanted class. Whatever the weights, the recourse keeps to what
    the person may change. Train it with `CounterNetTraining`, `RoCourseNet`, `CFModel` or `VAECF`; under any other
    regime the predictor learns alone. Every method works on it; `Generated` uses the second head.

    Parameters
    ----------
    encoder : tuple of int, default=(50, 10)
        Layers of the encoder; the last is the code.
    predictor : tuple of int, default=(10,)
        Hidden layers between the code and the logits.
    generator : tuple of int, default=(50, 50)
        Hidden layers of the generator; with ``head="vae"`` of its encoder, which the decoder mirrors.
    dropout : float, default=0.3
        Share of hidden units dropped in training.
    generator_dropout : float, optional
        The same of the generator; that of the predictor when omitted, as in the paper. Without, recourse
        is cheaper and less often valid for people who were not seen.
    head : {"residual", "codes", "row", "vae"}, default="residual"
        What the generator is given and writes. ``residual``: codes and the row itself; it writes the change.
        ``codes``: codes alone, and it writes the row, as in the paper; people with like codes then get the same
        recourse, in the end one per class. ``row``: the row alone, and the change. ``vae``: a variational
        autoencoder of the row, which writes the row.
    n_latent : int, default=5
        Length of the code of ``vae``.

    Notes
    -----
    Differs from the paper in: `head`; numbers cannot leave their bounds (its public code lets 11 to 92 of 100 do
    so); the wanted class is an input, for more than two classes; weights start Glorot-uniform; the generator sees
    the predictor's codes without dropout.

    References
    ----------
    [1] Guo, Nguyen, Yadav (2023), *CounterNet: end-to-end training of prediction aware counterfactual
        explanations*.

    Examples
    --------
    >>> import jax
    >>> CounterNet(encoder=(8,)).build(3, 2, jax.random.key(0)).logits(jax.numpy.ones(3)).shape
    (2,)
    """

    encoder: tuple[Count, ...] = (50, 10)
    predictor: tuple[Count, ...] = (10,)
    generator: tuple[Count, ...] = (50, 50)
    dropout: ProperShare = 0.3
    generator_dropout: ProperShare | None = None
    head: Head = "residual"
    n_latent: Count = 5

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> CounterNetModel:
        """Build an untrained model; the predictor does not depend on the head."""
        self.check_parameters()
        encoder, predictor = tuple(self.encoder), tuple(self.predictor)
        if not encoder:
            raise DataError(
                "CounterNet: `encoder` needs at least one layer; got none. Write for example (50, 10)."
            )
        predict_key, write_key = jax.random.split(key)
        network = self._network(encoder + predictor, self.dropout).build(n_inputs, n_classes, predict_key)
        n_codes = encoder[-1] + (predictor[-1] if predictor else 0)
        generator = self._generator(n_inputs, n_classes, n_codes, write_key)
        return CounterNetModel(network, generator, len(encoder))

    def _network(self, widths: tuple[int, ...], dropout: float) -> MLP:
        return MLP(widths=widths, activation="leaky_relu", dropout=dropout)

    def _generator(self, n_inputs: int, n_classes: int, n_codes: int, key: PRNGKeyArray) -> AbstractGenerator:
        widths = tuple(self.generator)
        dropout = self.dropout if self.generator_dropout is None else self.generator_dropout
        if self.head == "vae":
            down, up = jax.random.split(key)
            encoder = self._network(widths, dropout).build(n_inputs + n_classes, 2 * self.n_latent, down)
            decoder = self._network(widths[::-1], dropout).build(self.n_latent + n_classes, n_inputs, up)
            return VariationalGenerator(encoder=encoder, decoder=decoder, residual=False)
        codes, row = self.head != "row", self.head != "codes"
        width = n_classes + codes * n_codes + row * n_inputs
        network = self._network(widths, dropout).build(width, n_inputs, key)
        return Generator(network=network, sees_codes=codes, sees_row=row, residual=self.head != "codes")
