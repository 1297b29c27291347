"""Plain training: cross-entropy."""

from collections.abc import Mapping
from typing import Any

from holdtrue.parameters import NonNegative, Positive
from holdtrue.training._cross_entropy import AbstractCrossEntropy


class StandardTraining(AbstractCrossEntropy):
    """Minimise cross-entropy with Adam: the model as everybody trains it.

    Parameters
    ----------
    n_epochs : int, default=100
        Passes over the data.
    batch_size : int, default=32
        Rows per update.
    step_size : float, default=0.001
        Of Adam.
    weight_decay : float, default=0.0
        Decoupled, as in AdamW.
    class_weight : None, "balanced" or mapping, default=None
        Weight per class label.
    validation_fraction : float, default=0.1
        Share of rows held out where `patience` is set.
    patience : int, optional
        Stop after so many epochs without a better validation loss, and keep the best model.

    Examples
    --------
    >>> StandardTraining(n_epochs=10).n_epochs
    10
    """

    def __init__(
        self,
        *,
        n_epochs: int = 100,
        batch_size: int = 32,
        step_size: Positive = 0.001,
        weight_decay: NonNegative = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        patience: int | None = None,
    ) -> None:
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience
