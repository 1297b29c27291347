"""RoCourseNet: recourse that is trained against the model that a shift of the data would lead to."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, get_args

import jax.numpy as jnp
import numpy as np

from holdfast.errors import DataError
from holdfast.metrics import ATTACK_NORMS, AttackNorm
from holdfast.models import CounterNet
from holdfast.training._adversarial import Columns, movable_columns
from holdfast.training._attackers import AbstractAttacker, Schedule, VirtualShift
from holdfast.training._base import AbstractRegime, Setting
from holdfast.training._counterfactual import check_counts, check_weights
from holdfast.training._counternet import AbstractGeneratorRegime, CounterNetTraining
from holdfast.training._generator import Cost, GeneratorStep, Loss, Wanted
from holdfast.training._guides import Guides
from holdfast.training._shift import Inner
from holdfast.training._space import Range, Space

Attacker = Literal["vds", "random", "guides"]


class RoCourseNet(AbstractGeneratorRegime):
    """Train a classifier and recourse that is to hold when the data shift (Guo, Jia et al., 2023).

    Minimises prediction loss, cost, and the validity loss under the worst model that learning from shifted rows
    leads to: ``min max min`` (eq. 4, and 6 for more classes). Every minibatch moves the predictor, attacks it
    by `virtual_data_shift`, and moves the generator on what the attacked model says of its recourse. The
    predictor is that of `CounterNetTraining` with the same seed, to the bit.

    The printed attacker moves every row by at most `eps` and lets the model follow for a few steps. It does not
    imitate what later data are like, and on the paper's own data it does not make recourse hold longer
    (docs/explanation/recourse-heads.md). ``attacker="guides"`` is ours: models that are trained beside the
    predictor on rows reweighted as other years might be, by class, by features, by both, and resampled, judge the
    recourse; some of them are held out, and the weight of the cost is adjusted until these accept a share `goal`.

    Parameters
    ----------
    attacker : {"vds", "random", "guides"}, default="vds"
        Virtual data shift, as printed; the same with shifts drawn at random; or guides.
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
        Largest change of a weight matrix of the shifted model, as a share of its length; None for no end.
        Twenty steps of ``adam`` otherwise make another model.
    recompute : bool, default=False
        Whether recourse and wanted classes follow the shifted model during the attack, as in the public code,
        or are held fixed, as printed.
    own_weight : float, default=1.0
        Weight of validity under the model as it is, against 1 under the attacker's; the printed loss has 0.
    n_guides, n_held : int, default=12, 6
        Guides that judge, and guides that are held out to measure by.
    tilt, row_tilt, concept_tilt : float, default=3.0, 0.5, 0.5
        Of guides: largest difference of the classes' log-weights; standard deviations of log-weights that
        depend on a few features, and on a few features and the class.
    guide_decay : float, optional
        Of guides: their weight decay; the predictor's when left out.
    drop : float, default=0.2
        Of guides: share of people whose level of a category is hidden.
    blind : float, default=0.0
        Of guides: share of them that never see a category, for each category: neither in training nor as
        judges. Where categories may come to mean nothing, recourse has to hold without them.
    renumber : float, default=0.0
        Of guides: chance that a judge reads a category in another coding, in which each level means another one,
        drawn for every minibatch. Where codes may be renumbered, recourse has to hold against what its
        categories then say; with a small `tail`, against the worst of it.
    tail : float, default=1.0
        Of guides: share of them, for each person the harshest, that count; 1 is their mean.
    goal : float, optional
        Of guides: share of people whose recourse held-out ones should accept. While they do the cost weighs
        more, and else less. None leaves `cost_weight` alone.
    prediction_weight, validity_weight, cost_weight, loss, cost, margin, wanted, balance, harden, guard,
    average, hide, min_updates
        As in `CounterNetTraining`.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CounterNetTraining`. Guides share the step size and `average`.

    Notes
    -----
    Needs a model with a generator; a classifier takes `CounterNet` when none is given, and `Generated` as its
    method. Differs from the paper in `bound` and `own_weight`, and in what `CounterNetTraining` lists;
    ``own_weight=0, bound=None, loss="squared", cost="squared", validity_weight=0.2, margin=0, harden=False,
    balance=False, guard=0, min_updates=0`` with ``CounterNet(head="codes")`` is the printed algorithm but for
    bounded outputs.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, Algorithms 1 and 2, eq. 3-6.

    Examples
    --------
    >>> import holdfast as hf
    >>> clf = hf.RecourseClassifier(regime=hf.RoCourseNet(attacker="guides"))
    >>> clf.regime.default_model()
    CounterNet()
    """

    def __init__(
        self,
        *,
        attacker: Attacker = "vds",
        eps: float = 0.1,
        steps: int = 7,
        inner_steps: int = 2,
        inner: Inner = "sgd",
        inner_step_size: float = 0.03,
        norm: AttackNorm = "linf",
        schedule: Schedule = "linear",
        columns: Columns = "all",
        bound: float | None = 0.2,
        recompute: bool = False,
        own_weight: float = 1.0,
        n_guides: int = 12,
        n_held: int = 6,
        tilt: float = 3.0,
        row_tilt: float = 0.5,
        concept_tilt: float = 0.5,
        guide_decay: float | None = None,
        drop: float = 0.2,
        blind: float = 0.0,
        renumber: float = 0.0,
        tail: float = 1.0,
        goal: float | None = None,
        prediction_weight: float = 1.0,
        validity_weight: float = 1.0,
        cost_weight: float = 0.1,
        loss: Loss = "cross_entropy",
        cost: Cost = "l1",
        margin: float = 1.0,
        wanted: Wanted = "other",
        balance: bool = True,
        harden: bool = True,
        guard: float = 0.3,
        average: float = 0.0,
        hide: float = 0.0,
        min_updates: int = 2000,
        n_epochs: int = 50,
        batch_size: int = 128,
        step_size: float = 0.003,
        weight_decay: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        patience: int | None = None,
    ) -> None:
        self.attacker: Attacker = attacker
        self.eps = eps
        self.steps = steps
        self.inner_steps = inner_steps
        self.inner: Inner = inner
        self.inner_step_size = inner_step_size
        self.norm: AttackNorm = norm
        self.schedule: Schedule = schedule
        self.columns: Columns = columns
        self.bound = bound
        self.recompute = recompute
        self.own_weight = own_weight
        self.n_guides = n_guides
        self.n_held = n_held
        self.tilt = tilt
        self.row_tilt = row_tilt
        self.concept_tilt = concept_tilt
        self.guide_decay = guide_decay
        self.drop = drop
        self.blind = blind
        self.renumber = renumber
        self.tail = tail
        self.goal = goal
        self.prediction_weight = prediction_weight
        self.validity_weight = validity_weight
        self.cost_weight = cost_weight
        self.loss: Loss = loss
        self.cost: Cost = cost
        self.margin = margin
        self.wanted: Wanted = wanted
        self.balance = balance
        self.harden = harden
        self.guard = guard
        self.average = average
        self.hide = hide
        self.min_updates = min_updates
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience

    def judge(self, setting: Setting) -> AbstractAttacker:
        """Return the attacker."""
        return attacker_of(self, setting, self)


class Robust(AbstractRegime):
    """Any regime that trains a generator of recourse, with an attacker (eq. 5).

    Takes the step of the regime it wraps and has recourse judged by the model that a shift of the data leads to.
    ``Robust(regime=CounterNetTraining())`` is `RoCourseNet`.

    Parameters
    ----------
    regime : AbstractGeneratorRegime, optional
        `CFModel()`, `VAECF()` or `CounterNetTraining()`, which is the default; its epochs, batches and weights
        hold.
    attacker, eps, steps, inner_steps, inner, inner_step_size, norm, schedule, columns, bound, recompute,
    own_weight
        As in `RoCourseNet`.
    n_guides, n_held, tilt, row_tilt, concept_tilt, guide_decay, drop, blind, renumber, tail, goal
        As in `RoCourseNet`.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, section 5.

    Examples
    --------
    >>> import holdfast as hf
    >>> hf.Robust(regime=hf.VAECF(n_epochs=10)).n_epochs
    10
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})
    search_space: ClassVar[Space] = {"eps": Range(0.01, 0.5, log=True)}

    def __init__(
        self,
        *,
        regime: AbstractRegime | None = None,
        attacker: Attacker = "vds",
        eps: float = 0.1,
        steps: int = 7,
        inner_steps: int = 2,
        inner: Inner = "sgd",
        inner_step_size: float = 0.03,
        norm: AttackNorm = "linf",
        schedule: Schedule = "linear",
        columns: Columns = "all",
        bound: float | None = 0.2,
        recompute: bool = False,
        own_weight: float = 1.0,
        n_guides: int = 12,
        n_held: int = 6,
        tilt: float = 3.0,
        row_tilt: float = 0.5,
        concept_tilt: float = 0.5,
        guide_decay: float | None = None,
        drop: float = 0.2,
        blind: float = 0.0,
        renumber: float = 0.0,
        tail: float = 1.0,
        goal: float | None = None,
    ) -> None:
        self.regime = regime
        self.attacker: Attacker = attacker
        self.eps = eps
        self.steps = steps
        self.inner_steps = inner_steps
        self.inner: Inner = inner
        self.inner_step_size = inner_step_size
        self.norm: AttackNorm = norm
        self.schedule: Schedule = schedule
        self.columns: Columns = columns
        self.bound = bound
        self.recompute = recompute
        self.own_weight = own_weight
        self.n_guides = n_guides
        self.n_held = n_held
        self.tilt = tilt
        self.row_tilt = row_tilt
        self.concept_tilt = concept_tilt
        self.guide_decay = guide_decay
        self.drop = drop
        self.blind = blind
        self.renumber = renumber
        self.tail = tail
        self.goal = goal

    @property
    def wrapped(self) -> AbstractGeneratorRegime:
        """The regime that is made robust."""
        regime = CounterNetTraining() if self.regime is None else self.regime
        if not isinstance(regime, AbstractGeneratorRegime):
            raise DataError(
                f"Robust: `regime` must train a generator of recourse; got {type(regime).__name__}. Use "
                "CounterNetTraining, CFModel or VAECF."
            )
        return regime

    # What the loop and retraining ask of a regime is the wrapped one's.
    n_epochs = property(lambda self: self.wrapped.n_epochs)  # type: ignore[assignment]
    batch_size = property(lambda self: self.wrapped.batch_size)  # type: ignore[assignment]
    class_weight = property(lambda self: self.wrapped.class_weight)  # type: ignore[assignment]
    validation_fraction = property(lambda self: self.wrapped.validation_fraction)  # type: ignore[assignment]
    patience = property(lambda self: self.wrapped.patience)  # type: ignore[assignment]

    def default_model(self) -> CounterNet:
        """Return the wrapped regime's."""
        return self.wrapped.default_model()

    def epochs(self, n_rows: int | None) -> int:
        """As many as the wrapped regime's."""
        return self.wrapped.epochs(n_rows)

    def step(self, setting: Setting) -> GeneratorStep:
        """The wrapped regime's step, with an attacker."""
        wrapped = self.wrapped
        return robust_step(
            wrapped.step(setting),
            attacker_of(self, setting, wrapped),
            recompute=self.recompute,
            goal=self.goal,
        )


def robust_step(
    step: GeneratorStep, attacker: AbstractAttacker, *, recompute: bool, goal: float | None
) -> GeneratorStep:
    """Return a generator's step with another attacker."""
    parts = {field: getattr(step, field) for field in step.__dataclass_fields__}
    parts |= {"attacker": attacker, "recompute": bool(recompute)}
    parts["goal"] = None if goal is None else jnp.asarray(goal, jnp.float32)
    return GeneratorStep(**parts)


def attacker_of(regime: Any, setting: Setting, trained: AbstractGeneratorRegime) -> AbstractAttacker:
    """Return the attacker that the parameters of `RoCourseNet` or `Robust` describe, for what is trained."""
    _check_attacker(regime)
    f32, layout = jnp.float32, setting.permits.layout
    own_weight = jnp.asarray(regime.own_weight, f32)
    if regime.attacker == "guides":
        return Guides(
            own_weight=own_weight,
            step_size=jnp.asarray(trained.step_size, f32),
            weight_decay=jnp.asarray(
                trained.weight_decay if regime.guide_decay is None else regime.guide_decay, f32
            ),
            average=jnp.asarray(trained.average, f32),
            prior=jnp.asarray(regime.tilt, f32),
            rows=jnp.asarray(regime.row_tilt, f32),
            concept=jnp.asarray(regime.concept_tilt, f32),
            drop=jnp.asarray(regime.drop, f32),
            blind=jnp.asarray(regime.blind, f32),
            renumber=jnp.asarray(regime.renumber, f32),
            permits=setting.permits,
            n_guides=int(regime.n_guides),
            n_held=int(regime.n_held),
            tail=float(regime.tail),
        )
    return VirtualShift(
        own_weight=own_weight,
        eps=jnp.asarray(regime.eps, f32),
        step_size=jnp.asarray(regime.inner_step_size, f32),
        bound=None if regime.bound is None else jnp.asarray(regime.bound, f32),
        movable=jnp.asarray(movable_columns(layout, regime.columns), f32),
        n_steps=int(regime.steps),
        n_inner=int(regime.inner_steps),
        inner=regime.inner,
        norm=regime.norm,
        schedule=regime.schedule,
        redraw=regime.attacker == "random",
    )


def _check_attacker(regime: Any) -> None:
    name = type(regime).__name__
    for option, known in (
        ("attacker", get_args(Attacker)),
        ("inner", get_args(Inner)),
        ("norm", ATTACK_NORMS),
        ("schedule", get_args(Schedule)),
        ("columns", get_args(Columns)),
    ):
        if getattr(regime, option) not in known:
            raise DataError(
                f"{name}: `{option}` is not known; got {getattr(regime, option)!r}. Known are {list(known)!r}."
            )
    check_weights(regime, ("eps", "inner_step_size", "own_weight", "tilt", "row_tilt", "concept_tilt"))
    check_counts(regime, ("steps", "inner_steps", "n_guides"))
    if not isinstance(regime.n_held, (int, np.integer)) or regime.n_held < 0:
        raise DataError(f"{name}: `n_held` must be a whole number of at least 0; got {regime.n_held!r}.")
    if regime.bound is not None and not regime.bound > 0:
        raise DataError(f"{name}: `bound` must be positive, or None; got {regime.bound!r}.")
    if not 0 <= regime.drop < 1:
        raise DataError(f"{name}: `drop` must be at least 0 and below 1; got {regime.drop!r}.")
    for option in ("blind", "renumber"):
        if not 0 <= getattr(regime, option) <= 1:
            raise DataError(f"{name}: `{option}` is a share from 0 to 1; got {getattr(regime, option)!r}.")
    if not 0 < regime.tail <= 1:
        raise DataError(f"{name}: `tail` is a share above 0 and at most 1; got {regime.tail!r}.")
    if regime.guide_decay is not None and not regime.guide_decay >= 0:
        raise DataError(f"{name}: `guide_decay` must be at least 0, or None; got {regime.guide_decay!r}.")
    if regime.goal is not None and not 0 < regime.goal < 1:
        raise DataError(f"{name}: `goal` is a share between 0 and 1; got {regime.goal!r}.")
