"""TRADES: cross-entropy where people are, and the same answer nearby."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.metrics import AttackNorm, pgd
from holdtrue.models import AbstractGradientStep, AbstractModel, Data, weighted_mean
from holdtrue.parameters import Count, NonNegative, Share, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._columns import Columns, movable_columns
from holdtrue.training._decay import grown
from holdtrue.training._losses import cross_entropies
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import Range, Space


class TradesStep(AbstractGradientStep):
    """Adam on cross-entropy plus the largest divergence of the answers that was found within the ball."""

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    radius: Float[Array, ""]
    robust_weight: Float[Array, ""]
    ramp_epochs: Float[Array, ""]
    movable: Float[Array, " d"]
    norm: AttackNorm = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)

    def loss(
        self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Weighted mean of both terms; without a `key` the starts are always the same."""
        starts = jax.random.key(0) if key is None else jax.random.fold_in(key, 1)
        radius = self.radius if key is None else self.radius * grown(self.ramp_epochs, epoch)
        keys = jax.random.split(starts, batch.x.shape[0])
        worst = jax.lax.stop_gradient(jax.vmap(lambda x, k: self.worst(model, x, radius, k))(batch.x, keys))
        apart = jax.vmap(lambda a, b: divergence(model.logits(a), model.logits(b)))(batch.x, worst)
        supervised = weighted_mean(cross_entropies(model, batch.x, batch.y, key), batch.weight)
        return supervised + self.robust_weight * weighted_mean(apart, batch.weight)

    def worst(
        self, model: AbstractModel, x: Float[Array, " d"], radius: Float[Array, ""], key: PRNGKeyArray
    ) -> Float[Array, " d"]:
        """Point of the ball with the most different answer, from a random start: at the row the slope is 0."""
        here = model.logits(x)
        return pgd(
            lambda at: divergence(here, model.logits(at)), x, radius, key,
            norm=self.norm, movable=self.movable, n_steps=self.n_steps,
        )  # fmt: skip


def divergence(first: Float[Array, " k"], second: Float[Array, " k"]) -> Float[Array, ""]:
    """Kullback-Leibler divergence of the second answer from the first, from logits."""
    p, q = jax.nn.log_softmax(first), jax.nn.log_softmax(second)
    return jnp.sum(jnp.exp(p) * (p - q))


@configured
class TRADES(AbstractMinibatches):
    """Cross-entropy, and a price on every answer that changes within a small ball (Zhang et al., 2019).

    Minimises ``loss(f(x), y) + robust_weight * max_{|d| <= radius} KL(f(x) || f(x + d))``. Unlike
    `AdversarialTraining` it says how much accuracy the robustness may cost, by a weight of its own.

    Parameters
    ----------
    radius : float, default=0.05
        Of the ball, in encoded units.
    robust_weight : float, default=6.0
        Weight of the second term; 0 is plain training.
    norm : {"linf", "l2"}, default="linf"
        Shape of the ball.
    n_steps : int, default=7
        Steps of the projected gradient, from a random point of the ball.
    columns : {"all", "numeric"}, default="all"
        What may move, as in `AdversarialTraining`.
    ramp : float, default=0.0
        Share of the epochs over which the radius grows from 0 to its value.

    Notes
    -----
    Early stopping watches the sum of both terms.

    References
    ----------
    [1] Zhang, Yu, Jiao, Xing, El Ghaoui, Jordan (2019), *Theoretically principled trade-off between robustness and
        accuracy*.

    Examples
    --------
    >>> TRADES(radius=0.1).radius
    0.1
    """

    search_space: ClassVar[Space] = {"radius": Range(0.0, 0.3), "robust_weight": Range(0.1, 10.0, log=True)}

    radius: NonNegative = 0.05
    robust_weight: NonNegative = 6.0
    norm: AttackNorm = "linf"
    n_steps: Count = 7
    columns: Columns = "all"
    ramp: Share = 0.0

    def step(self, context: TrainingContext) -> TradesStep:
        """Both terms, by Adam."""
        self.check_parameters()
        f32 = jnp.float32
        return TradesStep(
            step_size=jnp.asarray(self.step_size, f32),
            weight_decay=jnp.asarray(self.weight_decay, f32),
            radius=jnp.asarray(self.radius, f32),
            robust_weight=jnp.asarray(self.robust_weight, f32),
            ramp_epochs=jnp.asarray(self.ramp * self.n_epochs, f32),
            movable=jnp.asarray(movable_columns(context.permits.layout, self.columns), f32),
            norm=self.norm,
            n_steps=int(self.n_steps),
        )
