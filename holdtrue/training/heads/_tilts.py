"""How the data of guides differ from the rows that there are: by class, by features, by both, and resampled."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt

from holdtrue.encoding import Layout
from holdtrue.models import Data

POISSON = np.cumsum([0.36788, 0.36788, 0.18394, 0.06131, 0.01533, 0.00307, 0.00051])
SLOTS = 3  # features that a guide's tilts depend on
LARGEST = 3.0  # standard deviations of a tilt that count


class Tilts(eqx.Module):
    """How each guide's data differ from the rows: log-weights that depend on the class, on features, and on both.

    Attributes
    ----------
    prior : log-weight of every class.
    rows : unit direction in the encoded columns along which people become more or less frequent.
    concept : unit direction along which one label becomes more, and the other less, frequent.
    sides : sign of every class for `concept`.
    salt : of the bootstrap.
    """

    prior: Float[Array, "g k"]
    rows: Float[Array, "g d"]
    concept: Float[Array, "g d"]
    sides: Float[Array, "g k"]
    salt: UInt[Array, " g"]

    @staticmethod
    def of(layout: Layout, n_classes: int, n_guides: int, seed: int) -> "Tilts":
        """Draw the tilts of `n_guides`, each of size 1."""
        rng = np.random.default_rng(seed)
        # Spread evenly, then shuffled: a few guides should not all lean one way.
        levels = np.linspace(-1.0, 1.0, n_guides)
        prior = np.stack([rng.permutation(levels) for _ in range(n_classes)], axis=1)
        sides = rng.choice([-1.0, 1.0], (n_guides, n_classes))
        if n_classes == 2:
            prior[:, 0], sides[:, 0] = -prior[:, 1], -sides[:, 1]
        rows, concept = (np.stack([_direction(layout, rng) for _ in range(n_guides)]) for _ in range(2))
        prior, rows, concept, sides = (jnp.asarray(a, jnp.float32) for a in (prior, rows, concept, sides))
        return Tilts(prior, rows, concept, sides, jnp.asarray(rng.integers(1, 2**31, n_guides), jnp.uint32))

    def weights(self, batch: Data, prior: Array, rows: Array, concept: Array) -> Float[Array, "g n"]:
        """Weight of every row for every guide, with tilts of these sizes."""
        total = jnp.maximum(jnp.sum(batch.weight), 1e-12)

        def standard(direction: Float[Array, " d"]) -> Float[Array, " n"]:
            score = batch.x @ direction
            score = score - jnp.sum(batch.weight * score) / total
            spread = jnp.sqrt(jnp.sum(batch.weight * score**2) / total + 1e-6)
            return jnp.clip(score / spread, -LARGEST, LARGEST)

        def one(own: Tilts) -> Float[Array, " n"]:
            tilt = 0.5 * prior * own.prior[batch.y] + rows * standard(own.rows)
            tilt = tilt + concept * own.sides[batch.y] * standard(own.concept)
            return batch.weight * jnp.exp(tilt) * _copies(batch.x, own.salt)

        return jax.vmap(one)(self)


def _direction(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Unit vector over the columns of a few features drawn at random."""
    out, slots = np.zeros(layout.n_columns), layout.slots
    for i in rng.choice(len(slots), min(SLOTS, len(slots)), replace=False):
        width = slots[i].stop - slots[i].start
        out[slots[i].start : slots[i].stop] = rng.normal(size=width)
    return out / max(np.linalg.norm(out), 1e-12)


def _copies(x: Float[Array, "n d"], salt: UInt[Array, ""]) -> Float[Array, " n"]:
    """How often each row is in a bootstrap sample, by the row's own content.

    The loop shuffles rows, so that only what a row holds tells it again in the next epoch.
    """
    bits = jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
    odd = jnp.asarray(np.random.default_rng(7).integers(0, 2**31, x.shape[1]) * 2 + 1, jnp.uint32)
    mixed = jnp.sum(bits * odd, axis=1, dtype=jnp.uint32) ^ salt
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):  # the finaliser of MurmurHash3: every bit counts
        mixed = (mixed ^ (mixed >> shift)) * jnp.uint32(factor)
    uniform = (mixed ^ (mixed >> 16)).astype(jnp.float32) / 2.0**32
    return jnp.sum(uniform[:, None] > jnp.asarray(POISSON, jnp.float32), axis=1).astype(jnp.float32)
