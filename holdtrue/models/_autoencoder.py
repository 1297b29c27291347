"""Autoencoders of mixed rows: numbers, categories, and what is given."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.encoding import Encoder, Layout
from holdtrue.errors import DataError
from holdtrue.models._fit import AbstractGradientStep, Data, Learner, fit_inside, weighted_mean
from holdtrue.models._mlp import MLP, MLPModel


class Rows(eqx.Module):
    """How a network reads and writes encoded rows, and what a wrong row costs.

    Numbers are read and written in standard units of the training rows; a category is read as 0s and one 1, and
    written as logits. Indicators of missing values are read, and not written: nobody can change them.
    """

    mean: Float[Array, " n"]
    spread: Float[Array, " n"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    layout: Layout = eqx.field(static=True)

    @classmethod
    def of(cls, encoder: Encoder, x: np.ndarray) -> "Rows":
        """Learn the numbers' mean and spread from encoded training rows."""
        n = len(encoder.layout.numbers)
        mean, spread = x[:, :n].mean(axis=0), x[:, :n].std(axis=0)
        spread = np.where(spread > 1e-6, spread, 1.0)
        arrays = (jnp.asarray(a, jnp.float32) for a in (mean, spread, encoder.scale, encoder.offset))
        return cls(*arrays, layout=encoder.layout)

    @classmethod
    def weighted(
        cls, layout: Layout, scale: Array, offset: Array, x: Float[Array, "n d"], weight: Array
    ) -> "Rows":
        """The same inside a compiled program, of rows that count by their weight."""
        numbers, share = x[:, : len(layout.numbers)], (weight / jnp.sum(weight))[:, None]
        mean = jnp.sum(share * numbers, axis=0)
        spread = jnp.sqrt(jnp.sum(share * (numbers - mean) ** 2, axis=0))
        return cls(mean, jnp.where(spread > 1e-6, spread, 1.0), scale, offset, layout=layout)

    @property
    def n_written(self) -> int:
        """Columns a network writes."""
        return self.layout.n_columns - len(self.layout.indicators)

    def read(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return what the network sees of a row."""
        rows, n = jax.lax.stop_gradient(self), len(self.layout.numbers)
        unit = x * rows.scale + rows.offset
        return jnp.concatenate([(x[:n] - rows.mean) / rows.spread, unit[n:]])

    def write(self, out: Float[Array, " w"]) -> Float[Array, " d"]:
        """Row that the network's output stands for; categories are shares that add up to 1."""
        rows, n = jax.lax.stop_gradient(self), len(self.layout.numbers)
        parts = [rows.mean + rows.spread * out[:n]]
        for group in self.layout.groups:
            here = slice(group.start, group.stop)
            parts.append((jax.nn.softmax(out[here]) - rows.offset[here]) / rows.scale[here])
        return jnp.concatenate([*parts, jnp.zeros(len(self.layout.indicators))])

    def loss(self, out: Float[Array, " w"], x: Float[Array, " d"]) -> Float[Array, ""]:
        """Negative log-likelihood: half the squared error of numbers, the cross-entropy of categories.

        The Gaussian's constant is left out. Measured in the spread of its own column, a number weighs as much
        against the rest as a category does, whatever its scale.
        """
        n, seen = len(self.layout.numbers), self.read(x)
        total = 0.5 * jnp.sum((out[:n] - seen[:n]) ** 2)
        for group in self.layout.groups:
            here = slice(group.start, group.stop)
            total = total - jnp.sum(seen[here] * jax.nn.log_softmax(out[here]))
        return total


class AbstractAutoencoder(eqx.Module):
    """Rows to codes and back. `given` columns are known on both sides, so codes need not hold them."""

    encoder: eqx.AbstractVar[MLPModel]
    decoder: eqx.AbstractVar[MLPModel]
    rows: eqx.AbstractVar[Rows]
    given: eqx.AbstractVar[tuple[int, ...]]

    @abstractmethod
    def encode(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Code of one row."""

    @abstractmethod
    def loss(self, x: Float[Array, " d"], key: PRNGKeyArray | None, beta: Float[Array, ""]) -> Float[Array, ""]:
        """Training loss of one row."""

    def decode(self, z: Float[Array, " k"], x: Float[Array, " d"]) -> Float[Array, " d"]:
        """Row of a code, for somebody with the given columns of `x`."""
        return self.rows.write(self.outputs(z, x))

    def outputs(self, z: Float[Array, " k"], x: Float[Array, " d"]) -> Float[Array, " w"]:
        """Return what the decoder writes, before it is a row."""
        known = self.rows.read(x)[np.asarray(self.given, int)]
        return self.decoder.logits(jnp.concatenate([z, known]))


class Autoencoder(AbstractAutoencoder):
    """A deterministic code, fitted to give the row back."""

    encoder: MLPModel
    decoder: MLPModel
    rows: Rows
    given: tuple[int, ...] = eqx.field(static=True)

    def encode(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Code of one row."""
        return self.encoder.logits(self.rows.read(x))

    def loss(self, x: Float[Array, " d"], key: PRNGKeyArray | None, beta: Float[Array, ""]) -> Float[Array, ""]:
        """How badly the row comes back."""
        return self.rows.loss(self.outputs(self.encode(x), x), x)


def networks(
    rows: Rows, widths: tuple[int, ...], n_latent: int, n_codes: int, given: tuple[int, ...], key: PRNGKeyArray
) -> tuple[MLPModel, MLPModel]:
    """Untrained encoder to `n_codes` numbers and mirrored decoder from `n_latent`."""
    if n_latent < 1:
        raise DataError(f"Autoencoder: `n_latent` must be at least 1; got {n_latent!r}.")
    down, up = jax.random.split(key)
    encoder = MLP(widths=tuple(widths)).build(rows.layout.n_columns, n_codes, down)
    decoder = MLP(widths=tuple(widths)[::-1]).build(n_latent + len(given), rows.n_written, up)
    return encoder, decoder


def build_autoencoder(
    rows: Rows, widths: tuple[int, ...], n_latent: int, given: tuple[int, ...], key: PRNGKeyArray
) -> Autoencoder:
    """Untrained autoencoder; the same key gives the same weights. No `widths` make it linear."""
    return Autoencoder(*networks(rows, widths, n_latent, n_latent, given, key), rows=rows, given=given)


class ReconstructionStep(AbstractGradientStep):
    """Adam on an autoencoder's mean loss; the weight `beta` of a code's prior rises in equal steps every epoch."""

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    beta: Float[Array, ""]
    n_epochs: Int[Array, ""]

    def loss(
        self, model: PyTree, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Weighted mean loss of a minibatch."""
        beta = self.beta * epoch / self.n_epochs
        if key is None:
            losses = jax.vmap(lambda x: model.loss(x, None, beta))(batch.x)
        else:
            keys = jax.random.split(key, batch.x.shape[0])
            losses = jax.vmap(lambda x, k: model.loss(x, k, beta))(batch.x, keys)
        return weighted_mean(losses, batch.weight)


# As in CARLA: rows per update, Adam's step, and the weight that the prior of a code has in the end.
BATCH_SIZE, STEP_SIZE, BETA = 32, 1e-3, 0.3


def fit_autoencoder(
    model: Learner, data: Data, key: PRNGKeyArray, *, n_epochs: int, batch_size: int = BATCH_SIZE
) -> Learner:
    """Fit an autoencoder to encoded rows; also inside a compiled program."""
    f32 = jnp.float32
    step = ReconstructionStep(
        step_size=jnp.asarray(STEP_SIZE, f32),
        weight_decay=jnp.asarray(0.0, f32),
        beta=jnp.asarray(BETA, f32),
        n_epochs=jnp.asarray(n_epochs),
    )
    return fit_inside(model, step, data, key, n_epochs=n_epochs, batch_size=batch_size)[0]
