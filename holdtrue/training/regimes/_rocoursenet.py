"""RoCourseNet: recourse that is trained against the model that a shift of the data would lead to."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdtrue.models import CounterNet
from holdtrue.training._base import TrainingContext
from holdtrue.training._parts import MakePart
from holdtrue.training.heads._attacked import AbstractAttacked
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._settings import HeadSettings


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
    head : HeadSettings, optional
        As in `CounterNetTraining`.
    min_updates, n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CounterNetTraining`.

    Notes
    -----
    Needs a model with a generator; a classifier takes `CounterNet` when none is given, and `Generated` as its
    method. Differs from the paper in `own_weight`, in the attacker's `bound`, and in the
    defaults of `HeadSettings`; ``attacker=VirtualShift(bound=None), own_weight=0, min_updates=0,
    head=HeadSettings(loss="squared", cost="squared", validity_weight=0.2, margin=0, harden=False, balance=False,
    guard=0)`` with ``CounterNet(head="codes")`` is the printed algorithm but for bounded outputs.

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

    parts: ClassVar[Mapping[str, MakePart]] = {**AbstractAttacked.parts, **AbstractGeneratorRegime.parts}

    def __init__(
        self,
        *,
        attacker: str | AbstractAttacker = "vds",
        own_weight: float = 1.0,
        goal: float | None = None,
        head: HeadSettings | None = None,
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
        self.head = head
        self.min_updates = min_updates
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience

    def default_model(self) -> CounterNet:
        """Return a CounterNet."""
        return CounterNet()

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor, attacker and generator."""
        return self.against(self.unattacked(context), context, self)
