"""Plain training: cross-entropy."""

from holdtrue.parameters import configured
from holdtrue.training._cross_entropy import AbstractCrossEntropy


@configured
class StandardTraining(AbstractCrossEntropy):
    """Minimise cross-entropy with Adam: the model as everybody trains it.

    Examples
    --------
    >>> StandardTraining(n_epochs=10).n_epochs
    10
    """
