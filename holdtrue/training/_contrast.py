"""The step of counterfactual training: recourse searched once per epoch, and what the model is told about it."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from holdtrue.encoding import Feasible, Permits
from holdtrue.metrics import pgd
from holdtrue.models import AbstractGradientStep, AbstractModel, Data, Decision, weighted_mean
from holdtrue.search import AbstractSampler
from holdtrue.training._base import TrainingContext
from holdtrue.training._losses import cross_entropies

Immature = Literal["neighbour", "drop", "keep"]
ATTACK_STEPS = 7  # as in `AdversarialTraining`


class Contrasts(NamedTuple):
    """What one epoch's searches gave: recourse beside a row of its class, nascent recourse with its true label."""

    recourse: Float[Array, "n d"]
    neighbour: Float[Array, "n d"]
    target: Int[Array, " n"]
    nascent: Float[Array, "n d"]
    label: Int[Array, " n"]
    mature: Bool[Array, " n"]
    held: Bool[Array, " n"]
    weight: Float[Array, " n"]


class ContrastStep(AbstractGradientStep):
    """Adam on cross-entropy plus divergence, adversarial loss and ridge (eq. 2).

    The search of an epoch runs as one batch, on the model as the epoch finds it; its points are shared out among
    the minibatches and held fixed while the loss is differentiated. Weights are arrays: a sweep compiles once.
    """

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    divergence_weight: Float[Array, ""]
    adversarial_weight: Float[Array, ""]
    ridge_weight: Float[Array, ""]
    sampler: AbstractSampler
    context: TrainingContext
    n_recourses: int = eqx.field(static=True)
    burn_in: int = eqx.field(static=True, default=0)
    immature: Immature = eqx.field(static=True, default="neighbour")
    guard: bool = eqx.field(static=True, default=False)
    marginal: bool = eqx.field(static=True, default=False)
    pull_weight: Float[Array, ""] | None = None
    pull: Float[Array, ""] | None = None
    attack_radius: Float[Array, ""] | None = None

    def prepare(self, data: Data, key: PRNGKeyArray) -> "ContrastStep":
        """The search may have to learn the rows first."""
        return eqx.tree_at(lambda s: s.sampler, self, self.sampler.learn(self.context.permits, data, key))

    @property
    def notes(self) -> tuple[str, ...]:
        """Share of searches that matured, mean size of the energies, largest logit of the factuals."""
        return ("mature", "energy", "largest_logit")

    def begin_epoch(
        self, model: AbstractModel, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Contrasts, dict[str, Float[Array, ""]]]:
        """Search for the epoch's people; nothing is searched during the burn-in."""
        n = data.x.shape[0]
        per_batch = max(min(self.n_recourses, n) // n_batches, 1)

        def search(_: None) -> PyTree:
            return self.contrasts(model, data, per_batch * n_batches, key)

        if self.burn_in == 0:
            found, logits = search(None)
        else:
            blank = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(search, None))
            found, logits = jax.lax.cond(epoch >= self.burn_in, search, lambda _: blank, None)
        reached = weighted_mean(found.mature.astype(jnp.float32), found.weight)
        energies = jnp.abs(self._energies(model, found.recourse, found.target))
        began = epoch >= self.burn_in
        said = {
            "mature": jnp.where(began, reached, jnp.nan),
            "energy": jnp.where(began, weighted_mean(energies, found.weight), jnp.nan),
            "largest_logit": jnp.where(began, jnp.max(jnp.abs(logits)), jnp.nan),
        }
        return jax.tree.map(lambda a: a.reshape(n_batches, per_batch, *a.shape[1:]), found), said

    def contrasts(
        self, model: AbstractModel, data: Data, n: int, key: PRNGKeyArray
    ) -> tuple[Contrasts, Float[Array, "n k"]]:
        """Search for `n` people drawn without replacement, each towards a class that is not decided for them."""
        draw_key, target_key, neighbour_key, search_key = jax.random.split(key, 4)
        # Rows of weight 0 come last, and count for nothing where they are needed to fill up.
        lots = jax.random.uniform(draw_key, (data.x.shape[0],)) + (data.weight <= 0)
        rows = jnp.argsort(lots)[jnp.arange(n) % data.x.shape[0]]
        x, weight = data.x[rows], data.weight[rows]
        x = jnp.where(weight[:, None] > 0, x, data.x[jnp.argmin(lots)])

        decision = Decision(model, jnp.asarray(self.context.threshold), self.context.favourable)
        logits = jax.vmap(model.logits)(x)
        decided = jax.vmap(decision.decide_of)(logits)
        other = jax.random.randint(target_key, (n,), 0, model.n_classes - 1)
        target = other + (other >= decided)
        if self.marginal:
            neighbour, exists = x, jnp.ones(n, bool)
        else:
            neighbour, exists = _drawn_of_class(data, target, model.n_classes, neighbour_key)

        def one(row: Array, aim: Array, near: Array, own: PRNGKeyArray) -> tuple[PyTree, Array, Array]:
            feasible = self.context.permits(row)
            path = self.sampler(decision, feasible, aim, own)
            if self.marginal:
                return path, near, jnp.asarray(False)
            masked = reachable_part(self.context.permits, feasible, path.recourse, near)
            return path, masked, jnp.any(masked != near)

        paths, neighbour, held = jax.vmap(one)(x, target, neighbour, jax.random.split(search_key, n))
        found = Contrasts(
            paths.recourse, neighbour, target, paths.nascent, data.y[rows], paths.mature, held, weight * exists
        )
        return jax.lax.stop_gradient((found, logits))

    def loss(
        self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Eq. 2 of a minibatch; of held-out rows, for which nothing is searched, the cross-entropy."""
        supervised = weighted_mean(cross_entropies(model, batch.x, batch.y, key), batch.weight)
        if batch.beside is None:
            return supervised
        divergence, adversarial, ridge = self.terms(model, batch.beside, key)
        if self.attack_radius is not None:
            adversarial = self.under_attack(model, batch, key)
        extra = (
            self.divergence_weight * divergence + self.adversarial_weight * adversarial + self.ridge_weight * ridge
        )
        if self.pull_weight is not None:
            extra = extra + self.pull_weight * self.misled(model, batch.beside, key)
        return supervised + jnp.where(epoch >= self.burn_in, extra, 0.0)

    def terms(
        self, model: AbstractModel, found: Contrasts, key: PRNGKeyArray | None
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """Divergence (eq. 4), adversarial loss (eq. 5) and ridge (eq. 3), means over a minibatch's searches."""
        counts = found.mature if self.immature != "keep" else jnp.ones_like(found.mature)
        near = self._energies(model, found.neighbour, found.target)
        far = self._energies(model, found.recourse, found.target)
        if self.guard:
            # Recourse that may not change a column must go farther in the others. Held against it, in divergence
            # or ridge, that would turn down the very slopes that recourse needs, until nothing matures.
            counts &= ~(found.held & (far < near))
        # What does not count stands for its neighbour: no divergence, and the neighbour twice in the ridge.
        far = jnp.where(counts, far, near)
        squares = near**2 + far**2
        if self.immature == "drop":
            squares = jnp.where(counts, squares, 0.0)
        own = None if key is None else jax.random.fold_in(key, 2)
        adversarial = cross_entropies(model, found.nascent, found.label, own)
        divergence, adversarial, ridge = (
            weighted_mean(v, found.weight) for v in (near - far, adversarial, squares)
        )
        return divergence, adversarial, ridge

    def under_attack(self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None) -> Float[Array, ""]:
        """Cross-entropy of the minibatch's own rows where an adversary moved them, as in `AdversarialTraining`."""
        radius = self.attack_radius
        assert radius is not None

        def one(row: Array, label: Array, own: PRNGKeyArray | None) -> Array:
            def loss(at: Array) -> Array:
                return cross_entropies(model, at[None], label[None], None)[0]

            return pgd(loss, row, radius, own, n_steps=ATTACK_STEPS)

        if key is None:
            worst = jax.vmap(lambda row, label: one(row, label, None))(batch.x, batch.y)
        else:
            keys = jax.random.split(jax.random.fold_in(key, 3), batch.x.shape[0])
            worst = jax.vmap(one)(batch.x, batch.y, keys)
        return weighted_mean(cross_entropies(model, jax.lax.stop_gradient(worst), batch.y, None), batch.weight)

    def misled(self, model: AbstractModel, found: Contrasts, key: PRNGKeyArray | None) -> Float[Array, ""]:
        """How far the slopes of the logits, between factual and recourse, are from leading to the target's rows.

        The mean over columns of ``(slope of the mean logit / pull - sign(x+ - x))^2``, which is least where the
        mean logit is ``-pull`` times the implausibility of eq. 6. In a column that nobody may change it is the
        mean square of every logit's slope: nothing on the way may depend on it.
        """
        assert self.pull is not None
        pull, fixed = self.pull, self.context.permits.fixed
        n = found.target.shape[0]
        share = jnp.full((n, 1), 0.5)
        if key is not None:
            share = jax.random.uniform(jax.random.fold_in(key, 4), (n, 1))
        at = found.nascent + share * (found.recourse - found.nascent)

        def one(row: Array, towards: Array) -> Array:
            _, back = jax.vjp(model.logits, row)
            slopes = jax.vmap(lambda one_hot: back(one_hot)[0])(jnp.eye(model.n_classes))
            common = (jnp.mean(slopes, axis=0) / pull - towards) ** 2
            return jnp.mean(jnp.where(fixed, jnp.mean(slopes**2, axis=0), common))

        return weighted_mean(jax.vmap(one)(at, jnp.sign(found.neighbour - at)), found.weight)

    def _energies(self, model: AbstractModel, x: Float[Array, "n d"], target: Int[Array, " n"]) -> Array:
        logits = jax.vmap(model.logits)(x)
        if self.marginal:
            return -jax.nn.logsumexp(logits, axis=1)
        return -jnp.take_along_axis(logits, target[:, None], axis=1)[:, 0]


def reachable_part(
    permits: Permits, feasible: Feasible, recourse: Float[Array, " d"], neighbour: Float[Array, " d"]
) -> Float[Array, " d"]:
    """The neighbour, but as the recourse where the person could not go towards it (Section III-D).

    That is a number that may not move, or not in that direction; a category whose level they may not take; what is
    missing.
    """
    rises, falls = permits.rises & feasible.movable, permits.falls & feasible.movable
    towards = jnp.where(neighbour > recourse, rises, falls)
    for group in permits.layout.groups:
        part = slice(group.start, group.stop)
        raw = neighbour[part] * permits.scale[part] + permits.offset[part]
        own = feasible.x[part] * permits.scale[part] + permits.offset[part] > 0.5
        towards = towards.at[part].set((feasible.movable[part] | own)[jnp.argmax(raw)])
    return jnp.where(towards, neighbour, recourse)


def _drawn_of_class(
    data: Data, target: Int[Array, " n"], n_classes: int, key: PRNGKeyArray
) -> tuple[Float[Array, "n d"], Bool[Array, " n"]]:
    """A row of each target class, drawn from those of positive weight, and whether there is any."""
    labels = jnp.where(data.weight > 0, data.y, n_classes)
    order = jnp.argsort(labels)
    counts = jnp.bincount(labels, length=n_classes + 1)
    first = jnp.cumsum(counts) - counts
    place = jnp.floor(jax.random.uniform(key, target.shape) * counts[target]).astype(jnp.int32)
    place = jnp.clip(place, 0, jnp.maximum(counts[target] - 1, 0))
    exists = counts[target] > 0
    return data.x[order[jnp.where(exists, first[target] + place, 0)]], exists
