"""Linear models that stand in for another model near one person: its tangent, and LIME."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.encoding import Encoder, Layout
from holdtrue.models._base import AbstractModel
from holdtrue.models._linear import LinearModel

LARGEST_LOGIT = 13.8  # a probability of 1e-6: a sure black box must not drown its neighbours


def linearise(model: AbstractModel, x: Float[Array, " d"]) -> LinearModel:
    """Tangent of the logits at `x`; a linear model is its own."""
    weight = jax.jacrev(model.logits)(x)
    return LinearModel(weight, model.logits(x) - weight @ x)


def solve_positive(matrix: Float[Array, "n n"], right: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """Solve ``matrix @ x = right`` for a positive definite matrix, by elimination.

    In plain operations: `jnp.linalg.solve` calls LAPACK, and on a CPU two threads that do so inside compiled
    programs, as a batch of searches does, wait for each other for ever.
    """
    n = matrix.shape[0]

    def eliminate(k: Array, rows: Array) -> Array:
        pivot = rows[k] / rows[k, k]
        return (rows - rows[:, k][:, None] * pivot[None, :]).at[k].set(pivot)

    return jax.lax.fori_loop(0, n, eliminate, jnp.concatenate([matrix, right], axis=1))[:, n:]


class Neighbourhood(eqx.Module):
    """Where LIME draws a person's neighbours: numbers about their own, categories as frequent as in training.

    Attributes
    ----------
    share : frequency of each level among the training rows.
    low, high : range of each number there.
    spread : standard deviation of a neighbour's number, in encoded units.
    """

    share: Float[Array, " d"]
    low: Float[Array, " d"]
    high: Float[Array, " d"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    spread: Float[Array, ""]
    layout: Layout = eqx.field(static=True)

    @staticmethod
    def statistics(encoder: Encoder, rows: np.ndarray) -> dict[str, np.ndarray]:
        """What must be learned from encoded training rows: one summary per column, for `state_`."""
        raw = rows * encoder.scale + encoder.offset
        parts = {"lime_share": raw.mean(axis=0), "lime_low": rows.min(axis=0), "lime_high": rows.max(axis=0)}
        return {name: part.astype(np.float32) for name, part in parts.items()}

    @staticmethod
    def of(encoder: Encoder, state: dict[str, np.ndarray], spread: float) -> "Neighbourhood":
        """Neighbourhood from what `statistics` learned."""

        def leaf(values: object) -> Array:
            return jnp.asarray(values, jnp.float32)

        return Neighbourhood(
            share=leaf(state["lime_share"]),
            low=leaf(state["lime_low"]),
            high=leaf(state["lime_high"]),
            scale=leaf(encoder.scale),
            offset=leaf(encoder.offset),
            spread=leaf(spread),
            layout=encoder.layout,
        )

    def draw(self, x: Float[Array, " d"], key: PRNGKeyArray) -> Float[Array, " d"]:
        """One neighbour."""
        n = len(self.layout.numbers)
        keys = jax.random.split(key, 1 + len(self.layout.groups))
        moved = x[:n] + self.spread * jax.random.normal(keys[0], (n,))
        parts = [jnp.clip(moved, jnp.minimum(self.low[:n], x[:n]), jnp.maximum(self.high[:n], x[:n]))]
        for group, own_key in zip(self.layout.groups, keys[1:], strict=True):
            part = slice(group.start, group.stop)
            level = jax.random.categorical(own_key, jnp.log(jnp.maximum(self.share[part], 1e-9)))
            unit = (jnp.arange(group.stop - group.start) == level).astype(jnp.float32)
            parts.append((unit - self.offset[part]) / self.scale[part])
        return jnp.concatenate([*parts, x[self.layout.n_columns - len(self.layout.indicators) :]])


def lime(
    model: AbstractModel, x: Float[Array, " d"], key: PRNGKeyArray, around: Neighbourhood, n_samples: int
) -> LinearModel:
    """Weighted ridge regression of the logits on neighbours of `x` (Ribeiro et al., 2016), in closed form.

    A neighbour at distance `D` weighs ``sqrt(exp(-D^2 / width^2))`` with ``width = 0.75 sqrt(d)``; the ridge is
    1, on columns of unit variance. The regression is centred, and passes through the logits at `x` itself, where
    the search begins.
    """
    neighbours = jax.vmap(lambda k: around.draw(x, k))(jax.random.split(key, n_samples))
    here = model.logits(x)
    logits = jax.vmap(model.logits)(neighbours)
    # Only differences of logits matter; clipped about their mean.
    shift = logits - jnp.mean(logits, axis=1, keepdims=True)
    shift = jnp.clip(shift, -LARGEST_LOGIT, LARGEST_LOGIT)
    away = neighbours - x
    width = 0.75 * jnp.sqrt(x.shape[0])
    weight = jnp.exp(-0.5 * jnp.sum(away**2, axis=1) / width**2)[:, None]
    mean = jnp.sum(weight * away, axis=0) / jnp.sum(weight)
    centred, targets = away - mean, shift - jnp.sum(weight * shift, axis=0) / jnp.sum(weight)
    # One unit of ridge means the same in every column: a narrow one is not shrunk more than a wide one.
    size = jnp.sqrt(jnp.sum(weight * centred**2, axis=0) / jnp.sum(weight))
    size = jnp.where(size > 1e-6, size, 1.0)
    scaled = centred / size
    normal = scaled.T @ (weight * scaled) + jnp.eye(x.shape[0])
    slope = (solve_positive(normal, scaled.T @ (weight * targets)) / size[:, None]).T
    return LinearModel(slope, here - slope @ x)


def local_model(
    model: AbstractModel, x: Float[Array, " d"], key: PRNGKeyArray, around: Neighbourhood | None, n_samples: int
) -> LinearModel:
    """LIME in a neighbourhood, or the tangent where none is given."""
    return linearise(model, x) if around is None else lime(model, x, key, around, n_samples)
