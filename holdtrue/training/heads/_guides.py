"""Guides: models of plausible other data, trained beside the predictor, that judge its recourse."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from holdtrue.encoding import Permits
from holdtrue.models import AbstractModel, Data, MLPModel, adam, averaged, weighted_mean
from holdtrue.parameters import Count, NonNegative, PositiveShare, ProperShare, Share, Whole, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._space import Range, Space
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._codes import Renumbering, hidden
from holdtrue.training.heads._panels import AbstractPanel, Judges, Losses, Scene
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._tally import Tally
from holdtrue.training.heads._tilts import Tilts


class GuidePanel(AbstractPanel):
    """Models of the predictor's shape, each trained on its own reweighting of the rows (see `Tilts`).

    Some are held out: they judge nothing, so that what recourse is worth under them is an honest measure.

    Attributes
    ----------
    average : a guide is the running mean of its weights over this share of the updates so far.
    prior : difference of the largest class log-weights.
    rows, concept : standard deviations of the other log-weights.
    drop : share of people and categories that a guide is not told, in training.
    blind : share of guides that never see a category, for each category: neither in training nor as judges.
    rare : share of people below which half of the guides do not know a level, and fewer the more people have it;
        nobody has such a level in their data.
    renumber : chance that a judge reads a category in another coding (`Renumbering`), drawn for every minibatch.
    """

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    average: Float[Array, ""]
    prior: Float[Array, ""]
    rows: Float[Array, ""]
    concept: Float[Array, ""]
    drop: Float[Array, ""]
    blind: Float[Array, ""]
    rare: Float[Array, ""]
    renumber: Float[Array, ""]
    permits: Permits
    n_guides: int = eqx.field(static=True)
    n_held: int = eqx.field(static=True)
    tail: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)

    def init(self, predictor: AbstractModel) -> PyTree:
        """Guides with first weights of their own, the same before averaging, and the state of Adam."""
        assert isinstance(predictor, MLPModel)
        init = jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)

        def start(key: PRNGKeyArray) -> PyTree:
            keys = jax.random.split(key, len(predictor.weights))
            weights = tuple(init(k, w.shape, w.dtype) for k, w in zip(keys, predictor.weights, strict=True))
            biases = tuple(jnp.zeros_like(b) for b in predictor.biases)
            own = eqx.tree_at(lambda m: (m.weights, m.biases), predictor, (weights, biases))
            return eqx.filter(own, eqx.is_inexact_array)

        arrays = jax.vmap(start)(jax.random.split(jax.random.key(self.seed), self.n_guides + self.n_held))
        return arrays, arrays, optax.scale_by_adam().init(arrays)

    def learn(
        self,
        state: PyTree,
        predictor: AbstractModel,
        batch: Data,
        tally: Tally,
        losses: Losses,
        key: PRNGKeyArray,
    ) -> PyTree:
        """One Adam update of every guide, on its own weights and with categories hidden at random."""
        means, arrays, moments = state
        static = eqx.filter(predictor, eqx.is_inexact_array, inverse=True)

        def slope(
            own: PyTree, weight: Float[Array, " n"], seen: Float[Array, " d"], own_key: PRNGKeyArray
        ) -> PyTree:
            hide_key, drop_key = jax.random.split(own_key)
            x = hidden(batch, self.permits.layout, self.drop, hide_key) * seen

            def loss(params: PyTree) -> Float[Array, ""]:
                return weighted_mean(losses(eqx.combine(params, static), x, batch.y, drop_key), weight)

            return jax.grad(loss)(own)

        tilts = Tilts.of(self.permits.layout, predictor.n_classes, self.n_guides + self.n_held, self.seed)
        weights = tilts.weights(batch, self.prior, self.rows, self.concept)
        grads = jax.vmap(slope)(arrays, weights, self._seen(tally), jax.random.split(key, weights.shape[0]))
        arrays, moments = adam(arrays, grads, moments, self.step_size, self.weight_decay)
        return averaged(means, arrays, moments, self.average), arrays, moments

    def _seen(self, tally: Tally) -> Float[Array, "g d"]:
        """Columns that each guide sees, as 1; levels that it does not know or is blind to, as 0."""
        n, rng, layout = self.n_guides + self.n_held, np.random.default_rng(self.seed + 1), self.permits.layout
        if not layout.groups:
            return jnp.ones((n, layout.n_columns))
        # Evenly spread ranks, shuffled for every category: a share of 0.5 is half of the guides.
        ranks = np.stack([rng.permutation((np.arange(n) + 0.5) / n) for _ in layout.groups], axis=1)
        levels = layout.members[len(layout.numbers) :].astype(np.float32)
        seen = 1.0 - (jnp.asarray(ranks) < self.blind).astype(jnp.float32) @ levels
        ranks = np.stack([rng.permutation((np.arange(n) + 0.5) / n) for _ in range(layout.n_columns)], axis=1)
        return seen * tally.known(self.permits, self.rare, jnp.asarray(ranks, jnp.float32))

    def judges(self, state: PyTree, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Guides that are not held out."""
        return self._asked(state, scene, slice(0, self.n_guides), key)

    def held_out(self, state: PyTree, scene: Scene) -> Judges:
        """Guides that are; without any, those that judge."""
        which = slice(self.n_guides if self.n_held else 0, None)
        return self._asked(state, scene, which, jax.random.key(self.seed))

    def _asked(self, state: PyTree, scene: Scene, which: slice, key: PRNGKeyArray) -> Judges:
        chosen = jax.lax.stop_gradient(jax.tree.map(lambda leaf: leaf[which], state[0]))
        static = eqx.filter(scene.predictor, eqx.is_inexact_array, inverse=True)
        seen = self._seen(scene.tally)[which]
        codings = Renumbering.draw(self.permits, self.renumber, seen.shape[0], key)

        def asked(row: Float[Array, " d"]) -> Float[Array, "m k"]:
            return jax.vmap(lambda own, read: eqx.combine(own, static).logits(read))(
                chosen, codings.read(row) * seen
            )

        return asked


@configured
class Guides(AbstractAttacker):
    """Models of plausible other data, trained beside the predictor. Ours.

    Each learns from the same minibatches with rows weighted as another year might weight them, by class, by
    features, by both, and resampled. Some are held out: they judge nothing, and a regime's `goal` is measured on
    them. A guide helps as far as its shift is the one that comes.

    Parameters
    ----------
    n_guides, n_held : int, default=12, 6
        Guides that judge, and guides that are held out to measure by.
    tilt, row_tilt, concept_tilt : float, default=3.0, 0.5, 0.5
        Largest difference of the classes' log-weights; standard deviations of log-weights that depend on a few
        features, and on a few features and the class.
    weight_decay : float, optional
        Of the guides; the predictor's when left out.
    drop : float, default=0.2
        Share of people whose level of a category is hidden from a guide in training.
    blind : float, default=0.0
        Share of guides that never see a category, for each category: neither in training nor as judges. Where
        categories may come to mean nothing, recourse has to hold without them.
    rare : float, default=0.0
        Share of people that makes a level rare: half of the guides do not know a level that so many have, more of
        them do not know a rarer one, and fewer one that more people have. Other data may lack such levels, and
        what few people's outcomes say of a level may be chance.
    renumber : float, default=0.0
        Chance that a judge reads a category in another coding, in which each level means another one, drawn for
        every minibatch. Where codes may be renumbered, recourse has to hold against what its categories then
        say; with a small `tail`, against the worst of it.
    tail : float, default=1.0
        Share of the guides, for each person the harshest, that count; 1 is their mean.

    Notes
    -----
    Guides are networks of the predictor's shape and share the regime's `step_size` and the head's
    `average`.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.Robust(regime=ht.CFModel(), attacker=ht.Guides(n_guides=8, tilt=4.0)).attacker
    Guides(n_guides=8, tilt=4.0)
    """

    search_space: ClassVar[Space] = {"tilt": Range(0.0, 6.0)}

    n_guides: Count = 12
    n_held: Whole = 6
    tilt: NonNegative = 3.0
    row_tilt: NonNegative = 0.5
    concept_tilt: NonNegative = 0.5
    weight_decay: NonNegative | None = None
    drop: ProperShare = 0.2
    blind: Share = 0.0
    rare: Share = 0.0
    renumber: Share = 0.0
    tail: PositiveShare = 1.0

    def panel(self, context: TrainingContext, trained: AbstractGeneratorRegime) -> GuidePanel:
        """Return the guides."""
        self.check_parameters()
        f32 = jnp.float32
        weight_decay = trained.weight_decay if self.weight_decay is None else self.weight_decay
        return GuidePanel(
            step_size=jnp.asarray(trained.step_size, f32),
            weight_decay=jnp.asarray(weight_decay, f32),
            average=jnp.asarray(trained.head_settings.average, f32),
            prior=jnp.asarray(self.tilt, f32),
            rows=jnp.asarray(self.row_tilt, f32),
            concept=jnp.asarray(self.concept_tilt, f32),
            drop=jnp.asarray(self.drop, f32),
            blind=jnp.asarray(self.blind, f32),
            rare=jnp.asarray(self.rare, f32),
            renumber=jnp.asarray(self.renumber, f32),
            permits=context.permits,
            n_guides=int(self.n_guides),
            n_held=int(self.n_held),
            tail=float(self.tail),
        )
