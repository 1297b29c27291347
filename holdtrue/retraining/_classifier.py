"""What must be known of a classifier to train it again."""

from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np

from holdtrue.batch import FittedClassifier, StoredClassifier
from holdtrue.methods import AbstractMethod
from holdtrue.models import AbstractArchitecture, Data
from holdtrue.training import AbstractRegime, TrainingContext


@dataclass(frozen=True)
class TrainingData:
    """What a classifier learned from, encoded.

    Attributes
    ----------
    data : Data
        With class weights multiplied in.
    copies : array
        How many identical rows each row stands for.
    seed : int
        From which the first weights and the shuffles follow.
    """

    data: Data
    copies: np.ndarray
    seed: int


@runtime_checkable
class ClassifierWithRows(FittedClassifier, Protocol):
    """A fitted classifier that may still have the rows it learned from."""

    @property
    def training_(self) -> TrainingData | None:
        """Encoded training rows; None where it was read from a file, which holds none."""
        ...


@runtime_checkable
class TrainedClassifier(StoredClassifier[AbstractMethod], Protocol):
    """A fitted classifier that knows how it was trained, and can be sent to where it is to be trained again."""

    regime_: AbstractRegime
    training_: TrainingData | None

    @property
    def context_(self) -> TrainingContext:
        """What a regime may know of the task."""
        ...

    def architecture(self) -> AbstractArchitecture:
        """What is built before it is trained."""
        ...


@runtime_checkable
class ClassifierWithRecipes(TrainedClassifier, Protocol):
    """A fitted classifier that other recipes can be set beside."""

    def by_recipe(self, recipe: object) -> Self:
        """A copy, not trained, whose model would be learned by another recipe."""
        ...
