"""What must be known of a classifier to train it again."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdtrue.batch import StoredClassifier
from holdtrue.methods import AbstractMethod
from holdtrue.models import AbstractArchitecture, Data
from holdtrue.training import AbstractRegime, Setting


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


class TrainedClassifier(StoredClassifier[AbstractMethod], Protocol):
    """A fitted classifier that knows how it was trained, and can be sent to where it is to be trained again."""

    regime_: AbstractRegime
    training_: TrainingData | None
    """None where it was read from a file, which holds no training rows."""

    @property
    def setting_(self) -> Setting:
        """What a regime may know of the task."""
        ...

    def architecture(self) -> AbstractArchitecture:
        """What is built before it is trained."""
        ...
