"""How long, in what steps and on which rows a model learns: what all regimes by minibatches have in common."""

from holdtrue.parameters import Count, NonNegative, Positive, Probability, configured
from holdtrue.training._base import AbstractRegime, ClassWeight


@configured
class AbstractMinibatches(AbstractRegime):
    """A regime that learns from minibatches by Adam.

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
    """

    n_epochs: Count = 100
    batch_size: Count = 32
    step_size: Positive = 0.001
    weight_decay: NonNegative = 0.0
    class_weight: ClassWeight = None
    validation_fraction: Probability = 0.1
    patience: Count | None = None
