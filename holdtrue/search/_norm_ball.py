"""Balls of a weighted norm: the steepest way in them, and the way back into them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.encoding import Norm, distance
from holdtrue.search._problem import Problem

TINY = 1e-12


class NormBall(eqx.Module):
    """The unit ball of a weighted norm: ways to step in it and back into it.

    Attributes
    ----------
    weights : weight of each column; where 0, the column does not move.
    norm : l1 (or mad), l2 or linf.
    """

    weights: Float[Array, " d"]
    norm: Norm = eqx.field(static=True)

    def steepest(self, slope: Float[Array, " d"]) -> Float[Array, " d"]:
        """The change of norm 1 along which a function of this gradient rises fastest."""
        scale = jnp.where(self.weights > 0, self.weights, 1.0)
        slope = jnp.where(self.weights > 0, slope, 0.0)
        if self.norm == "l2":
            direction = slope / scale**2
        elif self.norm == "linf":
            direction = jnp.sign(slope) / scale
        else:
            worth = jnp.abs(slope) / scale
            direction = jnp.where(jnp.arange(slope.shape[0]) == jnp.argmax(worth), jnp.sign(slope), 0.0)
        return direction / jnp.maximum(self.size(direction), TINY)

    def size(self, change: Float[Array, " d"]) -> Float[Array, ""]:
        """Norm of a change."""
        return distance(change, jnp.zeros_like(change), self.norm, self.weights)

    def into(self, change: Float[Array, " d"], radius: Float[Array, ""]) -> Float[Array, " d"]:
        """A change in the ball of this radius: the nearest, under equal weights or in l1 and linf under any."""
        change = jnp.where(self.weights > 0, change, 0.0)
        if self.norm == "linf":
            most = radius / jnp.where(self.weights > 0, self.weights, 1.0)
            return jnp.clip(change, -most, most)
        if self.norm == "l2":
            return change * jnp.minimum(1.0, radius / jnp.maximum(self.size(change), TINY))
        # Shrink by `cut` times the weights: the least cut at which the norm is the radius.
        worth = jnp.where(self.weights > 0, jnp.abs(change) / jnp.where(self.weights > 0, self.weights, 1.0), 0.0)
        order = jnp.argsort(-worth)
        weights = self.weights[order]
        sizes, squares = jnp.cumsum(weights * jnp.abs(change)[order]), jnp.cumsum(weights**2)
        cut = jnp.maximum(jnp.max((sizes - radius) / jnp.maximum(squares, TINY)), 0.0)
        return jnp.sign(change) * jnp.maximum(jnp.abs(change) - cut * self.weights, 0.0)

    def draw(self, key: PRNGKeyArray, radius: Float[Array, ""]) -> Float[Array, " d"]:
        """A change drawn uniformly from the ball of this radius (l2, linf)."""
        scale = jnp.where(self.weights > 0, self.weights, 1.0)
        inside = self.weights > 0
        shape = self.weights.shape
        if self.norm == "linf":
            return jnp.where(inside, jax.random.uniform(key, shape, minval=-1.0), 0.0) * radius / scale
        way, far = jax.random.split(key)
        normal = jnp.where(inside, jax.random.normal(way, shape), 0.0)
        unit = normal / jnp.maximum(jnp.linalg.norm(normal), TINY)
        share = jax.random.uniform(far) ** (1 / jnp.maximum(jnp.sum(inside), 1))
        return unit * share * radius / scale


def movable_ball(problem: Problem, weights: Float[Array, " d"], norm: Norm) -> NormBall:
    """The ball of the columns in which this person may move."""
    return NormBall(jnp.where(problem.feasible.movable, weights, 0.0), norm)
