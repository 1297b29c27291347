"""Gaussian kernel densities whose kernels may move and widen a little: the most, and the least, they can say."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

N_NODES = 128  # distances at which the worst kernel is found; between them it is interpolated
SIDE, LEVELS = 9, 6  # points per axis of a grid, and grids, each a quarter as wide as the one before

Sense = Literal["most", "least"]


class Kernel(eqx.Module):
    """What a Gaussian kernel can say about a point, if it may differ by a 2-Wasserstein distance of `radius`.

    The kernel is ``N(centre, sigma^2 I)`` in `n_free` dimensions; any Gaussian within the radius that is nowhere
    narrower may take its place. The one that says the ``most`` about a point moves towards it and widens along the
    way to it; the one that says the ``least`` moves away, and widens across (Nguyen et al., 2022). Both depend on
    the point's distance alone, so they are found once for a range of distances.

    Attributes
    ----------
    sigma : width of the kernel.
    radius : how far it may move and widen.
    n_free : dimensions; a number, since people differ in what they may change.
    reach : largest distance asked about.
    nodes : shares of shift and widening at distances from 0 to `reach`, see `_most` and `_least`; none for
        a kernel that stays as it is.
    """

    sigma: Float[Array, ""]
    radius: Float[Array, ""]
    n_free: Float[Array, ""]
    reach: Float[Array, ""]
    nodes: Float[Array, "n s"]
    sense: Sense = eqx.field(static=True)

    @staticmethod
    @partial(jax.jit, static_argnames="sense")
    def of(sigma: Array, radius: Array | None, n_free: Array, reach: Array, sense: Sense) -> "Kernel":
        """Find the extreme kernels for distances up to `reach`; without a radius, the Gaussian itself."""
        none = jnp.zeros((0, 1 if sense == "most" else 2))
        blank = Kernel(sigma, jnp.zeros_like(sigma) if radius is None else radius, n_free, reach, none, sense)
        if radius is None:
            return blank
        distances = reach * jnp.linspace(0.0, 1.0, N_NODES)
        sign = -1.0 if sense == "most" else 1.0
        nodes = jax.vmap(lambda c: least_on_unit_box(lambda s: sign * blank.at(c, s), blank.nodes.shape[1]))
        return eqx.tree_at(lambda k: k.nodes, blank, nodes(distances))

    @jax.jit
    def log(self, distance: Float[Array, ""]) -> Float[Array, ""]:
        """Log-density at this distance from the centre, without the constant ``-n_free / 2 log(2 pi)``.

        The gradient is taken at the extreme kernel held fixed, which is the gradient of the extreme itself.
        """
        if not self.nodes.shape[0]:
            return self.at(distance, jnp.zeros(self.nodes.shape[1]))
        where = jnp.clip(distance / jnp.maximum(self.reach, 1e-12), 0.0, 1.0) * (N_NODES - 1)
        left = jnp.clip(where.astype(jnp.int32), 0, N_NODES - 2)
        before, after = self.nodes[left], self.nodes[left + 1]
        # Also the nodes themselves: where the extreme jumps from one kernel to another, the mean of both is poor.
        tried = jnp.stack([before, before + (where - left) * (after - before), after])
        values = jax.vmap(lambda shares: self.at(distance, shares))(jax.lax.stop_gradient(tried))
        return jnp.max(values) if self.sense == "most" else jnp.min(values)

    def at(self, distance: Float[Array, ""], shares: Float[Array, " s"]) -> Float[Array, ""]:
        """Log-density of the kernel with these shares of shift and widening."""
        return (self._most if self.sense == "most" else self._least)(distance, shares)

    def _most(self, distance: Float[Array, ""], shares: Float[Array, " 1"]) -> Float[Array, ""]:
        # Whatever is not spent on width is spent on the shift, up to the point itself.
        angle = shares[0] * jnp.pi / 2
        along = self.sigma + self.radius * jnp.sin(angle)
        left = jnp.maximum(distance - self.radius * jnp.cos(angle), 0.0)
        return -jnp.log(along) - left**2 / (2 * along**2) - (self.n_free - 1) * jnp.log(self.sigma)

    def _least(self, distance: Float[Array, ""], shares: Float[Array, " 2"]) -> Float[Array, ""]:
        # It never pays to widen more along than across, since width along brings the point nearer.
        angle = shares[0] * jnp.pi / 2
        shift, rest = self.radius * jnp.sin(angle), self.radius * jnp.cos(angle)
        wider = shares[1] * rest / jnp.sqrt(self.n_free)
        across = rest * jnp.sqrt((1 - shares[1] ** 2 / self.n_free) / jnp.maximum(self.n_free - 1, 1.0))
        along = self.sigma + wider
        flat = (self.n_free - 1) * jnp.log(self.sigma + across)
        return -jnp.log(along) - (distance + shift) ** 2 / (2 * along**2) - flat


@jax.jit
def log_density(
    kernel: Kernel, points: Float[Array, "m d"], present: Bool[Array, " m"], x: Float[Array, " d"]
) -> Float[Array, ""]:
    """Logarithm of the sum of kernels at the points that are `present`."""
    squares = jnp.sum((points - x) ** 2, axis=1)
    # The root has no slope at 0, where a point lies on a centre.
    distances = jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)
    return jax.nn.logsumexp(jnp.where(present, jax.vmap(kernel.log)(distances), -jnp.inf))


def least_on_unit_box(value: Callable[[Array], Array], n_axes: int) -> Float[Array, " a"]:
    """Where a function of one or two variables in [0, 1] is least, by grids that narrow."""
    axis = jnp.linspace(-1.0, 1.0, SIDE)
    grid = jnp.stack(jnp.meshgrid(*[axis] * n_axes, indexing="ij"), axis=-1).reshape(-1, n_axes)

    def narrower(_: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        centre, half = carry
        points = jnp.clip(centre + half * grid, 0.0, 1.0)
        return points[jnp.argmin(jax.vmap(value)(points))], half * 2 / (SIDE - 1)

    start = (jnp.full(n_axes, 0.5), jnp.asarray(0.5))
    return jax.lax.fori_loop(0, LEVELS, narrower, start)[0]
