"""What every attacker shares: parameters outside, a panel of judges inside."""

from abc import abstractmethod
from typing import ClassVar

from holdtrue.parameters import AbstractConfigured
from holdtrue.training._base import TrainingContext
from holdtrue.training._space import Space
from holdtrue.training.heads._panels import AbstractPanel
from holdtrue.training.heads._regime import AbstractGeneratorRegime


class AbstractAttacker(AbstractConfigured):
    """What recourse has to hold against in training. A scikit-learn object, like a regime.

    A subclass adds its parameters and returns from `panel` the models that judge recourse beside the model as it
    is.
    """

    search_space: ClassVar[Space] = {}
    """What `holdtrue.tune` tries where it tunes a regime's attacker, by parameter."""

    @abstractmethod
    def panel(self, context: TrainingContext, trained: AbstractGeneratorRegime) -> AbstractPanel:
        """Return the judges of a task, for the regime by which predictor and generator are trained."""
