"""Attackers that shift the rows a little: as badly as can be, and at random."""

from typing import ClassVar, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from holdtrue.metrics import AttackNorm
from holdtrue.parameters import Count, NonNegative, Positive, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._columns import Columns, movable_columns
from holdtrue.training._space import Range, Space
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._panels import AbstractPanel, Judges, Scene, one
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._shift import Inner, virtual_data_shift

Schedule = Literal["linear", "static"]


class ShiftPanel(AbstractPanel):
    """The model that a small shift of the minibatch's rows leads to (`virtual_data_shift`): the worst, or with
    `redraw` one drawn at random.

    Attributes
    ----------
    recompute : whether recourse and wanted classes follow the shifted model during the attack.
    """

    eps: Float[Array, ""]
    step_size: Float[Array, ""]
    bound: Float[Array, ""] | None
    movable: Float[Array, " d"]
    n_steps: int = eqx.field(static=True)
    n_inner: int = eqx.field(static=True)
    inner: Inner = eqx.field(static=True)
    norm: AttackNorm = eqx.field(static=True)
    schedule: Schedule = eqx.field(static=True)
    redraw: bool = eqx.field(static=True)
    recompute: bool = eqx.field(static=True)
    tail: float = eqx.field(static=True, default=1.0)

    def judges(self, state: PyTree, scene: Scene, key: PRNGKeyArray) -> Judges:
        """Run the attack on the minibatch."""
        eps = self.eps * scene.done if self.schedule == "linear" else self.eps
        shifted, _ = virtual_data_shift(
            scene.predictor, scene.batch.x, scene.learn, lambda model: scene.harm(model, self.recompute), key,
            eps=eps, n_steps=self.n_steps, n_inner=self.n_inner, step_size=self.step_size, inner=self.inner,
            norm=self.norm, bound=self.bound, movable=self.movable, redraw=self.redraw,
        )  # fmt: skip
        return one(shifted)


@configured
class AbstractShift(AbstractAttacker):
    """A copy of the model that learns from shifted rows for a few steps of every minibatch.

    Parameters
    ----------
    eps : float, default=0.1
        Largest shift of a row (E), in encoded units.
    steps, inner_steps : int, default=7, 2
        Attack steps (T), and steps of the shifted model in each (K).
    inner : {"sgd", "adam"}, default="sgd"
        How the shifted model learns; ``adam``, on clipped gradients, is the public code's.
    inner_step_size : float, default=0.03
        Of those steps (eta).
    norm : {"linf", "l2"}, default="linf"
        Shape of the ball of shifts.
    schedule : {"linear", "static"}, default="linear"
        Whether `eps` grows over the epochs or is the same in all.
    columns : {"all", "numeric"}, default="all"
        What is shifted.
    bound : float, optional, default=0.2
        Largest change of a weight matrix of the shifted model, as a share of its length; None, as printed, for no
        end. Twenty steps of ``adam`` otherwise make another model.
    """

    search_space: ClassVar[Space] = {"eps": Range(0.01, 0.5, log=True)}

    eps: NonNegative = 0.1
    steps: Count = 7
    inner_steps: Count = 2
    inner: Inner = "sgd"
    inner_step_size: NonNegative = 0.03
    norm: AttackNorm = "linf"
    schedule: Schedule = "linear"
    columns: Columns = "all"
    bound: Positive | None = 0.2

    def _panel(self, context: TrainingContext, *, redraw: bool, recompute: bool) -> ShiftPanel:
        self.check_parameters()
        f32 = jnp.float32
        return ShiftPanel(
            eps=jnp.asarray(self.eps, f32),
            step_size=jnp.asarray(self.inner_step_size, f32),
            bound=None if self.bound is None else jnp.asarray(self.bound, f32),
            movable=jnp.asarray(movable_columns(context.permits.layout, self.columns), f32),
            n_steps=int(self.steps),
            n_inner=int(self.inner_steps),
            inner=self.inner,
            norm=self.norm,
            schedule=self.schedule,
            redraw=redraw,
            recompute=recompute,
        )


@configured
class VirtualShift(AbstractShift):
    """The worst model that a small shift of the rows leads to: virtual data shift, as printed (Algorithm 1).

    Moves every row of a minibatch by at most `eps`, lets a copy of the model follow for a few steps, and moves the
    rows again to where the copy likes the recourse least. It does not imitate what later data are like.

    Parameters
    ----------
    recompute : bool, default=False
        Whether recourse and wanted classes follow the shifted model during the attack, as in the public code,
        or are held fixed, as printed.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, Algorithm 1.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.RoCourseNet(attacker=ht.VirtualShift(eps=0.2, bound=None)).attacker
    VirtualShift(bound=None, eps=0.2)
    """

    recompute: bool = False

    def panel(self, context: TrainingContext, trained: AbstractGeneratorRegime) -> ShiftPanel:
        """Return the worst shifted model of every minibatch."""
        return self._panel(context, redraw=False, recompute=bool(self.recompute))


@configured
class RandomShift(AbstractShift):
    """The model that small shifts of the rows lead to when they are drawn at random, anew in every step.

    What `VirtualShift` is worth beside noise: the paper's RoCourseNet-Random.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, appendix B.2 and Table 8.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.RoCourseNet(attacker=ht.RandomShift(eps=0.2)).attacker
    RandomShift(eps=0.2)
    """

    def panel(self, context: TrainingContext, trained: AbstractGeneratorRegime) -> ShiftPanel:
        """Return a shifted model of every minibatch."""
        return self._panel(context, redraw=True, recompute=False)
