"""Adversarial training: cross-entropy at the worst point of a ball about every row."""

from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.metrics import AttackNorm, fgsm, is_linear, linear_rise, pgd
from holdtrue.models import (
    AbstractClosedForm,
    AbstractGradientStep,
    AbstractModel,
    AbstractStep,
    Data,
    History,
    LinearModel,
    weighted_mean,
)
from holdtrue.parameters import Count, NonNegative, Share, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._columns import Columns, movable_columns
from holdtrue.training._decay import CosineStep, grown
from holdtrue.training._losses import cross_entropies
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import STEP_SIZE, Range, Space

Attack = Literal["auto", "pgd", "fgsm"]
ROWS = 256  # attacked at a time where a model is solved


class AdversarialStep(AbstractGradientStep):
    """Adam on the weighted mean cross-entropy of attacked rows. The radius is an array, so that a sweep over it
    compiles once."""

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    radius: Float[Array, ""]
    ramp_epochs: Float[Array, ""]
    movable: Float[Array, " d"]
    norm: AttackNorm = eqx.field(static=True)
    attack: Attack = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)

    def loss(
        self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Weighted mean cross-entropy under attack; without a `key`, of the full radius and from the rows."""
        radius = self.radius if key is None else self.radius * grown(self.ramp_epochs, epoch)
        if self.attack == "auto" and is_linear(model):
            return weighted_mean(self._linear(model, batch, radius), batch.weight)
        attack_key, drop_key = (None, None) if key is None else tuple(jax.random.split(key))
        x = jax.lax.stop_gradient(self.attacked(model, batch, radius, attack_key))
        return weighted_mean(cross_entropies(model, x, batch.y, drop_key), batch.weight)

    def _linear(self, model: AbstractModel, batch: Data, radius: Array) -> Float[Array, " n"]:
        """Loss at the worst point, in closed form: the ball takes the weights' dual norm off every margin."""
        assert isinstance(model, LinearModel)
        weight, bias = model.weight[1] - model.weight[0], model.bias[1] - model.bias[0]
        sign = 2.0 * batch.y - 1.0
        rise = linear_rise(weight, radius, norm=self.norm, movable=self.movable)
        return jax.nn.softplus(rise - sign * (batch.x @ weight + bias))  # eq. 16

    def attacked(
        self, model: AbstractModel, batch: Data, radius: Array, key: PRNGKeyArray | None
    ) -> Float[Array, "n d"]:
        """Rows of a minibatch at the worst point that was found; without a `key`, searched from the rows."""

        def one(row: Array, label: Array, row_key: PRNGKeyArray | None) -> Array:
            def loss(at: Array) -> Array:
                return optax.losses.softmax_cross_entropy_with_integer_labels(model.logits(at), label)

            if self.attack == "fgsm":
                return fgsm(loss, row, radius, norm=self.norm, movable=self.movable)
            return pgd(
                loss, row, radius, row_key, norm=self.norm, movable=self.movable, n_steps=self.n_steps
            )  # fmt: skip

        if key is None:
            return jax.vmap(lambda row, label: one(row, label, None))(batch.x, batch.y)
        return jax.vmap(one)(batch.x, batch.y, jax.random.split(key, batch.x.shape[0]))


@configured
class AdversarialTraining(AbstractMinibatches):
    """Minimise the cross-entropy that an adversary brings about by moving every row a little (Madry et al., 2018).

    Minimises ``mean_i max_{|d| <= radius} loss(f(x_i + d), y_i)``. For a linear model of two classes the inner
    maximum is known: the radius times the dual norm of the weights comes off every margin. For others it is sought
    by projected gradient, anew for every minibatch. The decision then changes little where the inputs change
    little; recourse costs more for the same reason, and a radius beyond what the classes differ by leaves a model
    that decides the same for everybody. Look at the share that is accepted before quoting anything else.

    Parameters
    ----------
    radius : float, default=0.05
        Of the ball (epsilon), in encoded units; 0 is plain training.
    norm : {"linf", "l2"}, default="linf"
        Shape of the ball.
    attack : {"auto", "pgd", "fgsm"}, default="auto"
        ``auto`` is the closed form where there is one and ``pgd`` elsewhere; ``fgsm`` takes one step.
    n_steps : int, default=7
        Steps of ``pgd``, each of ``2.5 * radius / n_steps``, from a random point of the ball.
    columns : {"all", "numeric"}, default="all"
        What the adversary may move: every encoded column, or numbers only. A fraction of a category is nobody's
        input, and one whole category is a distance of 1.
    ramp : float, default=0.0
        Share of the epochs over which the radius grows from 0 to its value.
    decay : bool, default=True
        Whether the step size falls along a cosine.

    Notes
    -----
    A model in closed form (`NTK`) is solved for the rows, then for the rows as attacked under that solution; this
    does not make it robust (docs/explanation/robustness-and-recourse.md). Points are not clipped to the range
    of the data. Levels of ordered and binary features are numbers in the encoding, and count as such. Early
    stopping watches the loss under the full radius.

    References
    ----------
    [1] *On the trade-offs between adversarial robustness and actionable explanations*, eq. 1 and 16.
    [2] Madry, Makelov, Schmidt, Tsipras, Vladu (2018), *Towards deep learning models resistant to adversarial
        attacks*.

    Examples
    --------
    >>> AdversarialTraining(radius=0.1).radius
    0.1
    """

    search_space: ClassVar[Space] = {"radius": Range(0.0, 0.3), "step_size": STEP_SIZE}

    radius: NonNegative = 0.05
    norm: AttackNorm = "linf"
    attack: Attack = "auto"
    n_steps: Count = 7
    columns: Columns = "all"
    ramp: Share = 0.0
    decay: bool = True

    def step(self, context: TrainingContext) -> AbstractStep:
        """Cross-entropy under attack, by Adam."""
        step = self._attacking(context)
        return CosineStep(step, jnp.asarray(self.n_epochs, jnp.float32)) if self.decay else step

    def _attacking(self, context: TrainingContext) -> AdversarialStep:
        self.check_parameters()
        f32 = jnp.float32
        return AdversarialStep(
            step_size=jnp.asarray(self.step_size, f32),
            weight_decay=jnp.asarray(self.weight_decay, f32),
            radius=jnp.asarray(self.radius, f32),
            ramp_epochs=jnp.asarray(self.ramp * self.n_epochs, f32),
            movable=jnp.asarray(movable_columns(context.permits.layout, self.columns), f32),
            norm=self.norm,
            attack=self.attack,
            n_steps=int(self.n_steps),
        )

    def solve(
        self, model: AbstractClosedForm, data: Data, key: PRNGKeyArray, context: TrainingContext
    ) -> tuple[AbstractClosedForm, History]:
        """Solve for the rows as they are, attack them, and solve for the attacked rows (X_R in Theorem 2).

        One round, as in the paper, and no inner maximum of the model that is returned. The rows' shift gives their
        labels away, so that such a model is no more robust than the plain one: ask its robust accuracy.
        """
        plain, history = model.solve(data, key)
        if self.radius == 0:
            return plain, history
        step = self._attacking(context)
        return model.solve(data._replace(x=_attacked_rows(step, plain, data, jax.random.fold_in(key, 1))), key)


@eqx.filter_jit
def _attacked_rows(step: AdversarialStep, model: AbstractModel, data: Data, key: PRNGKeyArray) -> Array:
    # A block of rows at a time: a kernel model holds every training row against each of them.
    def one(part: tuple[Array, Array, PRNGKeyArray]) -> Array:
        row, label, row_key = part
        batch = Data(row[None], label[None], jnp.ones(1))
        return step.attacked(model, batch, step.radius, row_key)[0]

    keys = jax.random.split(key, data.x.shape[0])
    return jax.lax.map(one, (data.x, data.y, keys), batch_size=ROWS)
