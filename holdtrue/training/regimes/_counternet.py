"""CounterNet: a classifier and its recourse, trained together."""

from collections.abc import Mapping
from typing import Any

from holdtrue.models import CounterNet
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._settings import HeadSettings


class CounterNetTraining(AbstractGeneratorRegime):
    """Train a classifier and its recourse together (Guo et al., 2023).

    Every minibatch moves the predictor on its loss, then the generator alone on ``validity_weight * L(f(x'),
    wanted) + cost_weight * cost(x, x')`` for generated `x'`. The predictor is what it would be without a
    generator; recourse then costs one pass of a network. It is as good as what the model says today:
    `RoCourseNet` trains it for models to come.

    Parameters
    ----------
    head : HeadSettings, optional
        Losses, their weights, and for whom recourse is learned; the defaults of `HeadSettings` when left out.
    min_updates : int, default=2000
        Updates at least: small tables get more epochs than `n_epochs`.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `StandardTraining`, with defaults 50, 128 and 0.003 for the first three. The decay is the
        predictor's. Early stopping watches the sum of all losses.

    Notes
    -----
    Needs a model with a generator; a classifier takes `CounterNet` when none is given, and `Generated` as its
    method. ``clf.history_.notes`` has for every epoch the share decided `favourable`, the `prediction_loss` and,
    of at most 512 of the refused, the `validity_loss`, `validity` and mean `cost` of hardened recourse and how
    many different `patterns` of it there are: a single one would be recourse that knows nobody.

    References
    ----------
    [1] Guo, Nguyen, Yadav (2023), *CounterNet: end-to-end training of prediction aware counterfactual
        explanations*.

    Examples
    --------
    >>> CounterNetTraining(n_epochs=50, batch_size=128).epochs(1000)
    250
    """

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
        """Return a CounterNet."""
        return CounterNet()

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor and generator."""
        return self.unattacked(context)
