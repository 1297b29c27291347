"""RoCourseNet: recourse that is trained against the model that a shift of the data would lead to."""

from collections.abc import Mapping
from typing import ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._parts import MakePart
from holdtrue.training.heads._attacked import AbstractAttacked
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime


@configured
class RoCourseNet(AbstractAttacked, AbstractGeneratorRegime):
    """Train a classifier and recourse that is to hold when the data shift (Guo, Jia et al., 2023).

    Minimises prediction loss, cost, and the validity loss under the worst model that learning from shifted rows
    leads to: ``min max min`` (eq. 4, and 6 for more classes). Every minibatch moves the predictor, attacks it,
    and moves the generator on what the attacked model says of its recourse. The predictor is that of
    `CounterNetTraining` with the same seed, to the bit.

    The printed attacker, `VirtualShift`, does not imitate what later data are like, and on the paper's own data it
    does not make recourse hold longer (docs/explanation/recourse-heads.md). `Guides` are ours: models of plausible
    other data, trained beside the predictor, judge the recourse.

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

    def default_model(self) -> CounterNet:
        """Return a CounterNet."""
        return CounterNet()

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor, attacker and generator."""
        return self.against(self.unattacked(context), context, self)
