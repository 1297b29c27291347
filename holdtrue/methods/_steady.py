"""What methods share that ask for stability: that the model is sure at a point and near it."""

from abc import abstractmethod
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from holdtrue.methods._criterion import noise_of, stability_of
from holdtrue.methods._kept_rows import kept_rows
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.parameters import Count, Positive, Probability, Seed, configured
from holdtrue.search import AbstractStability


@configured
class AbstractSteadyMethod(AbstractClimbingMethod):
    """A method that moves its base's recourse to where the model is steadily sure, by noisy neighbours of a point.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is the start; ``SparseSearch()`` when omitted. The cost is counted in its norm.
    min_stability : float, default=0.5
        Stability that is asked for (`tau`); the paper chooses it for each data set.
    sigma : float, default=0.1
        Deviation of the noise, in encoded units.
    n_samples : int, default=100
        Noisy neighbours of a point (`k`).
    n_rows : int, default=2000
        Training rows kept, of the favourable decision and of the others; a random sample where there are more.
    random_state : int, optional
        Seed of the noise, which is the same for everyone, and of the base.
    """

    needs_rows: ClassVar[bool] = True

    min_stability: Probability = 0.5
    sigma: Positive = 0.1
    n_samples: Count = 100
    n_rows: Count = 2000
    random_state: Seed = None

    @abstractmethod
    def stability(self, noise: Array, least: Array) -> AbstractStability:
        """The method's own measure of stability, with the noise and what is asked for."""

    def _criterion(self) -> AbstractStability:
        return self.stability(noise_of(self), jnp.asarray(self.min_stability, jnp.float32))

    def _kept(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Rows with their stability, for `state_`."""
        own = kept_rows(self, x)
        own["stability"] = stability_of(self._criterion(), self.predictor_.decision, own["rows"])
        return own

    def _conservative(self) -> np.ndarray:
        """Boolean (rows, classes): whether a kept row is decided as the class, and stable enough in it."""
        stability = self.state_["stability"]
        wanted = np.arange(stability.shape[1])
        return (stability >= self.min_stability) & (self.state_["decided"][:, None] == wanted)
