"""A generator of recourse for a predictor that is trained first and left as it is."""

from typing import ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import configured
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime


@configured
class CFModel(AbstractGeneratorRegime):
    """A network that writes recourse for a finished model: validity and cost, nothing else.

    The predictor is trained first, for `n_epochs`; the generator then learns for as many, on the loss of
    `CounterNetTraining`, from the row alone. A baseline for training both together, and with `Robust` the
    general form of RoCourseNet (eq. 5).

    Parameters
    ----------
    min_updates : int, default=2000
        Updates at least, of each of the two.

    Notes
    -----
    Needs a model with a generator; ``CounterNet(head="row")`` when none is given. Early stopping watches all
    losses, in both stages.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, section 5.

    Examples
    --------
    >>> CFModel(n_epochs=5).post_hoc
    True
    """

    post_hoc: ClassVar[bool] = True

    def default_model(self) -> CounterNet:
        """Return a CounterNet whose generator sees the row alone."""
        return CounterNet(head="row")

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor first, then the generator."""
        return self.unattacked(context)
