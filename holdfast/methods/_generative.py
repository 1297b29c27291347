"""What methods share that search among the codes of an autoencoder learned from training rows."""

from abc import abstractmethod
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from holdfast.encoding import Encoder
from holdfast.methods._base import AbstractSolverMethod
from holdfast.models import AbstractAutoencoder, Data, ReconstructionStep, Rows, fit, to_arrays, with_arrays

# As in CARLA: rows per update, Adam's step, and the weight that the prior of a code has in the end.
BATCH_SIZE, STEP_SIZE, BETA = 32, 1e-3, 0.3


class AbstractGenerativeMethod(AbstractSolverMethod):
    """A method with an autoencoder of its own, learned in `fit` and kept in model files as arrays."""

    needs_rows: ClassVar[bool] = True

    widths: tuple[int, ...]
    n_latent: int
    n_epochs: int

    @abstractmethod
    def build(self, rows: Rows, key: Any) -> AbstractAutoencoder:
        """Untrained autoencoder."""

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the autoencoder to the rows."""
        seed = 0 if self.random_state is None else self.random_state
        build_key, fit_key = jax.random.split(jax.random.key(seed))
        model: Any = self.build(Rows.of(self.predictor_.encoder, x), build_key)
        step = ReconstructionStep(
            step_size=jnp.asarray(STEP_SIZE, jnp.float32),
            weight_decay=jnp.asarray(0.0, jnp.float32),
            beta=jnp.asarray(BETA, jnp.float32),
            n_epochs=jnp.asarray(self.n_epochs),
        )
        data = Data(jnp.asarray(x), jnp.zeros(len(x), jnp.int32), jnp.ones(len(x)))
        model, _ = fit(model, step, data, fit_key, n_epochs=self.n_epochs, batch_size=BATCH_SIZE)
        codes = np.asarray(jax.vmap(model.encode)(jnp.asarray(x)))
        # An autoencoder's codes have no scale of their own: how far a typical row lies from the middle.
        length = np.sqrt(np.sum(codes.var(axis=0)))
        return {**to_arrays(model, "array/"), "code_length": np.asarray(length, np.float32)}

    def generator(self) -> Any:
        """Return the fitted autoencoder, from `state_`."""
        encoder = self.predictor_.encoder
        blank = Rows.of(encoder, np.zeros((1, encoder.n_columns), np.float32))
        return with_arrays(self.build(blank, jax.random.key(0)), self.state_, "array/")


def fixed_columns(encoder: Encoder) -> tuple[int, ...]:
    """Columns nobody may change: fixed features, and indicators of missing values."""
    fixed = [s for s in encoder.layout.slots if encoder.schema[s.name].direction == "fixed"]
    slots = [*fixed, *encoder.layout.indicators]
    return tuple(column for slot in slots for column in range(slot.start, slot.stop))
