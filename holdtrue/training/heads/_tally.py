"""What the rows of a training were like so far: how frequent every level is, and which numbers are usual."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from holdtrue.encoding import Permits
from holdtrue.models import Data, solve_positive

USUAL = 3.0  # standard deviations beyond its mean up to which a squared distance is usual
RIDGE = 1e-6  # of the variances, so that numbers which always go together have an inverse


class Tally(NamedTuple):
    """Sums over the rows of all minibatches so far: of weights, of columns, and of products of two numbers."""

    weight: Float[Array, ""]
    columns: Float[Array, " d"]
    products: Float[Array, "c c"]

    @staticmethod
    def begin(permits: Permits) -> "Tally":
        """Nobody seen."""
        n = len(permits.layout.numbers)
        return Tally(jnp.zeros(()), jnp.zeros(permits.layout.n_columns), jnp.zeros((n, n)))

    def after(self, batch: Data) -> "Tally":
        """The same after a minibatch."""
        numbers = batch.x[:, : self.products.shape[0]]
        return Tally(
            self.weight + jnp.sum(batch.weight),
            self.columns + batch.weight @ batch.x,
            self.products + (batch.weight[:, None] * numbers).T @ numbers,
        )

    def known(self, permits: Permits, rare: Float[Array, ""], ranks: Float[Array, "*g d"]) -> Float[Array, "*g d"]:
        """Columns that a model sees, as 1, and levels that are too rare for it, as 0.

        A level that a share `s` of people have is unknown to ``rare / (rare + s)`` of the models whose `ranks` are
        spread evenly between 0 and 1, and to a model with ranks of one half where `s` is below `rare`.
        """
        share = self.columns / jnp.maximum(self.weight, 1e-12) * permits.scale + permits.offset
        known = ranks >= rare / jnp.maximum(rare + jnp.maximum(share, 0.0), 1e-12)
        level = permits.layout.members[len(permits.layout.numbers) :].any(axis=0)
        return jnp.where(level, known, True).astype(jnp.float32)

    def strangeness(self, rows: Float[Array, "n d"], x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """How unlike anybody's the numbers of rows are, taken together.

        The squared Mahalanobis distance from the mean counts from where few people are, `USUAL` standard
        deviations beyond the mean of a chi-squared variable, or from where the person is (`x`) if that is farther:
        the logarithm of one more than what it is beyond, in those standard deviations.
        """
        n = self.products.shape[0]
        if n == 0:
            return jnp.zeros(rows.shape[0])
        weight = jnp.maximum(self.weight, 1e-12)
        mean = self.columns[:n] / weight
        cov = self.products / weight - jnp.outer(mean, mean)
        spread = jnp.sqrt(jnp.maximum(jnp.diagonal(cov), 0.0)) + 1e-6
        inverse = solve_positive(cov / jnp.outer(spread, spread) + RIDGE * jnp.eye(n), jnp.eye(n))

        def squared(at: Float[Array, "n d"]) -> Float[Array, " n"]:
            z = (at[:, :n] - mean) / spread
            return jnp.sum((z @ inverse) * z, axis=1)

        step = np.sqrt(2.0 * n)
        return jnp.log1p(jnp.maximum(squared(rows) - jnp.maximum(squared(x), n + USUAL * step), 0.0) / step)
