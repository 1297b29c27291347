"""A pull towards people who got the wanted decision: a loss term that does not ask the model."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from holdtrue.models import AbstractAutoencoder
from holdtrue.search._problem import Problem

Prototype = Literal["mean", "last"]


class PrototypePull(eqx.Module):
    """``weight * |e(x') - prototype|_2^2``, with `e` the code of an autoencoder, or the row itself.

    The prototype is made once per person, of the `n_neighbours` points of the wanted decision nearest to the
    person: their mean, or the last of them alone.

    Attributes
    ----------
    weight : theta of the paper.
    points : encoded rows, or their codes where there is a `model`.
    decided : decision about each of them.
    """

    weight: Float[Array, ""]
    points: Float[Array, "m k"]
    decided: Int[Array, " m"]
    model: AbstractAutoencoder | None
    n_neighbours: int = eqx.field(static=True)
    prototype: Prototype = eqx.field(static=True)

    @jax.jit
    def find(self, problem: Problem) -> Float[Array, " k"]:
        """The person's prototype; where nobody has the wanted decision, their own point, which pulls nowhere."""
        here = self._point(problem.x)
        squares = jnp.sum((self.points - here) ** 2, axis=1)
        squares = jnp.where(self.decided == problem.target, squares, jnp.inf)
        negative, nearest = jax.lax.top_k(-squares, min(self.n_neighbours, self.points.shape[0]))
        there = jnp.isfinite(negative)
        n = jnp.sum(there)
        chosen = there if self.prototype == "mean" else there & (jnp.arange(there.shape[0]) == n - 1)
        total = jnp.sum(jnp.where(chosen[:, None], self.points[nearest], 0.0), axis=0)
        return jnp.where(n > 0, total / jnp.maximum(jnp.sum(chosen), 1), here)

    def __call__(self, x: Float[Array, " d"], prototype: Float[Array, " k"]) -> Float[Array, ""]:
        """What being at `x` costs."""
        return self.weight * jnp.sum((self._point(x) - prototype) ** 2)

    @jax.jit
    def slope(
        self, x: Float[Array, " d"], prototype: Float[Array, " k"]
    ) -> tuple[Float[Array, " d"], Float[Array, ""]]:
        """Gradient at `x`, and a bound on how fast it changes (of its Gauss-Newton part, for codes)."""
        if self.model is None:
            return 2 * self.weight * (x - prototype), 2 * self.weight
        jacobian = jax.jacrev(self._point)(x)
        slope = 2 * self.weight * (self._point(x) - prototype) @ jacobian
        return slope, 2 * self.weight * jnp.sum(jacobian**2)

    def _point(self, x: Float[Array, " d"]) -> Float[Array, " k"]:
        return x if self.model is None else self.model.encode(x)
