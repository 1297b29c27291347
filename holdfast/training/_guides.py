"""Guides: models of plausible other data, trained beside the predictor, that judge its recourse."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, UInt

from holdfast.encoding import Layout, Permits
from holdfast.models import AbstractModel, Data, MLPModel, adam, averaged, weighted_mean
from holdfast.training._attackers import AbstractAttacker, Judges, Losses, Scene
from holdfast.training._codes import Renumbering, hidden

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


class Guides(AbstractAttacker):
    """Models of the predictor's shape, each trained on its own reweighting of the rows (see `Tilts`).

    Some are held out: they judge nothing, so that what recourse is worth under them is an honest measure.

    Attributes
    ----------
    average : a guide is the running mean of its weights over this share of the updates so far.
    prior : difference of the largest class log-weights.
    rows, concept : standard deviations of the other log-weights.
    drop : share of people and categories that a guide is not told, in training.
    blind : share of guides that never see a category, for each category: neither in training nor as judges.
    renumber : chance that a judge reads a category in another coding (`Renumbering`), drawn for every minibatch.
    """

    own_weight: Float[Array, ""]
    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    average: Float[Array, ""]
    prior: Float[Array, ""]
    rows: Float[Array, ""]
    concept: Float[Array, ""]
    drop: Float[Array, ""]
    blind: Float[Array, ""]
    renumber: Float[Array, ""]
    permits: Permits
    n_guides: int = eqx.field(static=True)
    n_held: int = eqx.field(static=True)
    tail: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)

    def init(self, predictor: AbstractModel) -> Any:
        """Guides with first weights of their own, the same before averaging, and the state of Adam."""
        assert isinstance(predictor, MLPModel)
        init = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)

        def start(key: PRNGKeyArray) -> Any:
            keys = jax.random.split(key, len(predictor.weights))
            weights = tuple(init(k, w.shape, w.dtype) for k, w in zip(keys, predictor.weights, strict=True))
            biases = tuple(jnp.zeros_like(b) for b in predictor.biases)
            own = eqx.tree_at(lambda m: (m.weights, m.biases), predictor, (weights, biases))
            return eqx.filter(own, eqx.is_inexact_array)

        arrays = jax.vmap(start)(jax.random.split(jax.random.key(self.seed), self.n_guides + self.n_held))
        return arrays, arrays, optax.scale_by_adam().init(arrays)

    def learn(self, state: Any, predictor: AbstractModel, batch: Data, losses: Losses, key: PRNGKeyArray) -> Any:
        """One Adam update of every guide, on its own weights and with categories hidden at random."""
        means, arrays, moments = state
        static = eqx.filter(predictor, eqx.is_inexact_array, inverse=True)

        def slope(own: Any, weight: Float[Array, " n"], seen: Float[Array, " d"], own_key: PRNGKeyArray) -> Any:
            hide_key, drop_key = jax.random.split(own_key)
            x = hidden(batch, self.permits.layout, self.drop, hide_key) * seen

            def loss(params: Any) -> Float[Array, ""]:
                return weighted_mean(losses(eqx.combine(params, static), x, batch.y, drop_key), weight)

            return jax.grad(loss)(own)

        tilts = Tilts.of(self.permits.layout, predictor.n_classes, self.n_guides + self.n_held, self.seed)
        weights = tilts.weights(batch, self.prior, self.rows, self.concept)
        grads = jax.vmap(slope)(arrays, weights, self._seen(), jax.random.split(key, weights.shape[0]))
        arrays, moments = adam(arrays, grads, moments, self.step_size, self.weight_decay)
        return averaged(means, arrays, moments, self.average), arrays, moments

    def _seen(self) -> Float[Array, "g d"]:
        """Columns that each guide sees, as 1; the levels of a category it is blind to, as 0."""
        n, rng, layout = self.n_guides + self.n_held, np.random.default_rng(self.seed + 1), self.permits.layout
        if not layout.groups:
            return jnp.ones((n, layout.n_columns))
        # Evenly spread ranks, shuffled for every category: a share of 0.5 is half of the guides.
        ranks = np.stack([rng.permutation((np.arange(n) + 0.5) / n) for _ in layout.groups], axis=1)
        levels = np.zeros((len(layout.groups), layout.n_columns), np.float32)
        for row, group in zip(levels, layout.groups, strict=True):
            row[group.start : group.stop] = 1.0
        return 1.0 - (jnp.asarray(ranks) < self.blind).astype(jnp.float32) @ levels

    def judges(self, state: Any, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Guides that are not held out."""
        return self._asked(state, scene, slice(0, self.n_guides), key)

    def held_out(self, state: Any, scene: Scene) -> Judges:
        """Guides that are; without any, those that judge."""
        which = slice(self.n_guides if self.n_held else 0, None)
        return self._asked(state, scene, which, jax.random.key(self.seed))

    def _asked(self, state: Any, scene: Scene, which: slice, key: PRNGKeyArray) -> Judges:
        chosen = jax.lax.stop_gradient(jax.tree.map(lambda leaf: leaf[which], state[0]))
        static = eqx.filter(scene.predictor, eqx.is_inexact_array, inverse=True)
        seen = self._seen()[which]
        codings = Renumbering.draw(self.permits, self.renumber, seen.shape[0], key)

        def asked(row: Float[Array, " d"]) -> Float[Array, "m k"]:
            return jax.vmap(lambda own, read: eqx.combine(own, static).logits(read))(
                chosen, codings.read(row) * seen
            )

        return asked


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
