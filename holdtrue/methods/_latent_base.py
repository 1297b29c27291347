"""What methods share that search among the codes of an autoencoder learned from training rows."""

from abc import abstractmethod
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from holdtrue.encoding import Encoder
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.models import AbstractAutoencoder, Data, Rows, fit_autoencoder, to_arrays, with_arrays
from holdtrue.parameters import Count, configured


@configured
class AbstractGenerativeMethod(AbstractSolverMethod):
    """A method with an autoencoder of its own, learned in `fit` and kept in model files as arrays.

    Parameters
    ----------
    widths : tuple of int, default=(64, 32)
        Hidden layers of the autoencoder's encoder; its decoder mirrors them.
    n_latent : int, default=8
        Length of a code.
    n_epochs : int, default=50
        Passes over the rows, in learning the autoencoder.
    """

    needs_rows: ClassVar[bool] = True

    widths: tuple[Count, ...] = (64, 32)
    n_latent: Count = 8
    n_epochs: Count = 50

    @abstractmethod
    def build(self, rows: Rows, key: PRNGKeyArray) -> AbstractAutoencoder:
        """Untrained autoencoder."""

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the autoencoder to the rows."""
        seed = 0 if self.random_state is None else self.random_state
        build_key, fit_key = jax.random.split(jax.random.key(seed))
        model = self.build(Rows.of(self.predictor_.encoder, x), build_key)
        data = Data(jnp.asarray(x), jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))
        model = fit_autoencoder(model, data, fit_key, n_epochs=self.n_epochs)
        codes = np.asarray(jax.vmap(model.encode)(jnp.asarray(x)))
        # An autoencoder's codes have no scale of their own: how far a typical row lies from the middle.
        length = np.sqrt(np.sum(codes.var(axis=0)))
        return {**to_arrays(model, "array/"), "code_length": np.asarray(length, np.float32)}

    def generator(self) -> AbstractAutoencoder:
        """Return the fitted autoencoder, from `state_`."""
        encoder = self.predictor_.encoder
        blank = Rows.of(encoder, np.zeros((1, encoder.n_columns), np.float32))
        return with_arrays(self.build(blank, jax.random.key(0)), self.state_, "array/")


def fixed_columns(encoder: Encoder) -> tuple[int, ...]:
    """Columns nobody may change: fixed features, and indicators of missing values."""
    fixed = [s for s in encoder.layout.slots if encoder.schema[s.name].direction == "fixed"]
    slots = [*fixed, *encoder.layout.indicators]
    return tuple(column for slot in slots for column in range(slot.start, slot.stop))
