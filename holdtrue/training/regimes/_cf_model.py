"""A generator of recourse for a predictor that is trained first and left as it is."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdtrue.models import CounterNet
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._settings import HeadSettings


class CFModel(AbstractGeneratorRegime):
    """A network that writes recourse for a finished model: validity and cost, nothing else.

    The predictor is trained first, for `n_epochs`; the generator then learns for as many, on the loss of
    `CounterNetTraining`, from the row alone. A baseline for training both together, and with `Robust` the
    general form of RoCourseNet (eq. 5).

    Parameters
    ----------
    head : HeadSettings, optional
        As in `CounterNetTraining`.
    min_updates : int, default=2000
        Updates at least, of each of the two.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CounterNetTraining`. Early stopping watches the sum of all losses, in both stages.

    Notes
    -----
    Needs a model with a generator; ``CounterNet(head="row")`` when none is given.

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

    def __init__(
        self,
        *,
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
        """Return a CounterNet whose generator sees the row alone."""
        return CounterNet(head="row")

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor first, then the generator."""
        return self.unattacked(context)
