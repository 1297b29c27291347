"""RoCourseNet: recourse that is trained against the model that a shift of the data would lead to."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdtrue._registry import made
from holdtrue.errors import DataError
from holdtrue.models import CounterNet
from holdtrue.training._base import AbstractRegime, Setting
from holdtrue.training._space import Space
from holdtrue.training.heads._attacked import AbstractAttacked
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import Cost, GeneratorStep, Loss, Wanted
from holdtrue.training.regimes._counternet import AbstractGeneratorRegime, CounterNetTraining


class RoCourseNet(AbstractAttacked, AbstractGeneratorRegime):
    """Train a classifier and recourse that is to hold when the data shift (Guo, Jia et al., 2023).

    Minimises prediction loss, cost, and the validity loss under the worst model that learning from shifted rows
    leads to: ``min max min`` (eq. 4, and 6 for more classes). Every minibatch moves the predictor, attacks it,
    and moves the generator on what the attacked model says of its recourse. The predictor is that of
    `CounterNetTraining` with the same seed, to the bit.

    The printed attacker, `VirtualShift`, does not imitate what later data are like, and on the paper's own data it
    does not make recourse hold longer (docs/explanation/recourse-heads.md). `Guides` are ours: models of plausible
    other data, trained beside the predictor, judge the recourse.

    Parameters
    ----------
    attacker : AbstractAttacker or str, default="vds"
        `VirtualShift` (``"vds"``), as printed; `RandomShift` (``"random"``); or `Guides` (``"guides"``). A name
        is the attacker with its defaults.
    own_weight : float, default=1.0
        Weight of validity under the model as it is, against 1 under the attacker's; the printed loss has 0.
    goal : float, optional
        Share of people whose recourse the attacker's held-out models should accept (those that guides have, else
        the model as it is). While they do the cost weighs more, and else less. None leaves `cost_weight` alone.
    prediction_weight, validity_weight, cost_weight, loss, cost, margin, wanted, balance, harden, guard,
    average, hide, rare, proposals, strange_weight, min_updates
        As in `CounterNetTraining`.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CounterNetTraining`.

    Notes
    -----
    Needs a model with a generator; a classifier takes `CounterNet` when none is given, and `Generated` as its
    method. Differs from the paper in `own_weight`, in the attacker's `bound`, and in what `CounterNetTraining`
    lists; ``attacker=VirtualShift(bound=None), own_weight=0, loss="squared", cost="squared", validity_weight=0.2,
    margin=0, harden=False, balance=False, guard=0, min_updates=0`` with ``CounterNet(head="codes")`` is the
    printed algorithm but for bounded outputs.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, Algorithms 1 and 2, eq. 3-6.

    Examples
    --------
    >>> import holdtrue as ht
    >>> clf = ht.RecourseClassifier(regime=ht.RoCourseNet(attacker=ht.Guides(tilt=4.0)))
    >>> clf.regime.default_model()
    CounterNet()
    """

    def __init__(
        self,
        *,
        attacker: str | AbstractAttacker = "vds",
        own_weight: float = 1.0,
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
        rare: float = 0.0,
        proposals: int = 0,
        strange_weight: float = 0.0,
        min_updates: int = 2000,
        n_epochs: int = 50,
        batch_size: int = 128,
        step_size: float = 0.003,
        weight_decay: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        patience: int | None = None,
    ) -> None:
        self.attacker = attacker
        self.own_weight = own_weight
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
        self.rare = rare
        self.proposals = proposals
        self.strange_weight = strange_weight
        self.min_updates = min_updates
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience

    def step(self, setting: Setting) -> GeneratorStep:
        """Predictor, attacker and generator."""
        return self.against(super().step(setting), setting, self)


class Robust(AbstractAttacked):
    """Any regime that trains a generator of recourse, with an attacker (eq. 5).

    Takes the step of the regime it wraps and has recourse judged by the model that a shift of the data leads to.
    ``Robust(regime=CounterNetTraining())`` is `RoCourseNet`.

    Parameters
    ----------
    regime : AbstractGeneratorRegime or str, optional
        `CFModel()`, `VAECF()` or `CounterNetTraining()`, which is the default; its epochs, batches and weights
        hold.
    attacker, own_weight, goal
        As in `RoCourseNet`.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, section 5.

    Examples
    --------
    >>> import holdtrue as ht
    >>> ht.Robust(regime=ht.VAECF(n_epochs=10), attacker="guides").set_params(attacker__tilt=4.0)
    Robust(attacker=Guides(tilt=4.0), regime=VAECF(n_epochs=10))
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})

    def __init__(
        self,
        *,
        regime: AbstractRegime | str | None = None,
        attacker: str | AbstractAttacker = "vds",
        own_weight: float = 1.0,
        goal: float | None = None,
    ) -> None:
        self.regime = regime
        self.attacker = attacker
        self.own_weight = own_weight
        self.goal = goal

    @property
    def wrapped(self) -> AbstractGeneratorRegime:
        """The regime that is made robust."""
        regime = CounterNetTraining() if self.regime is None else made(AbstractRegime, self.regime)
        if not isinstance(regime, AbstractGeneratorRegime):
            raise DataError(
                f"Robust: `regime` must train a generator of recourse; got {type(regime).__name__}. Use "
                "CounterNetTraining, CFModel or VAECF."
            )
        return regime

    @property
    def search_space(self) -> Space:  # type: ignore[override]
        """What is tried is the attacker's."""
        return {f"attacker__{name}": what for name, what in self.attacked_by.search_space.items()}

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
        return self.against(self.wrapped.step(setting), setting, self.wrapped)
