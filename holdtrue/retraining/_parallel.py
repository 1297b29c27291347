"""Retrainings in parts, each done by whoever an executor gives it to."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state

from holdtrue._types import Keywords, RandomState
from holdtrue.batch import AbstractExecutor, from_bytes, to_bytes
from holdtrue.models import AbstractModel, Data, to_arrays, with_arrays
from holdtrue.retraining._classifier import TrainedClassifier, TrainingData
from holdtrue.retraining._retrain import Trainings, trainings

PARTS = 4  # for every worker: small enough that nobody waits long for the last


@dataclass
class Part:
    """Trains the models from one number up to another. To another process it goes as a model file and rows."""

    clf: TrainedClassifier
    asked: Keywords
    plan: Trainings | None = None

    def __call__(self, span: tuple[int, int]) -> list[dict[str, np.ndarray]]:
        """Arrays of every model trained."""
        if self.plan is None:
            self.plan = trainings(self.clf, **self.asked)
        return [to_arrays(model, "") for model in self.plan.fit(slice(*span))]

    def __reduce__(self) -> tuple[object, ...]:
        training, rows = self.clf.training_, None
        if training is not None:
            data = training.data
            rows = (*(np.asarray(part) for part in (data.x, data.y, data.weight)), training.copies, training.seed)
        return _part, (type(self.clf), to_bytes(self.clf), rows, self.asked)


def _part(cls: type[TrainedClassifier], model: bytes, rows: Any, asked: Keywords) -> Part:
    clf = from_bytes(cls.load, model)
    if rows is not None:
        x, y, weight, copies, seed = rows
        clf.training_ = TrainingData(Data(jnp.asarray(x), jnp.asarray(y), jnp.asarray(weight)), copies, seed)
    return Part(clf, asked)


def in_parts(
    clf: TrainedClassifier,
    asked: Keywords,
    n: int,
    executor: AbstractExecutor,
    on_model: Callable[[int], None] | None,
) -> list[AbstractModel]:
    """Train `n` models, in order; `asked` is what `trainings` takes."""
    # One seed for all parts, whoever draws from it.
    asked = asked | {"random_state": _fixed(asked["random_state"])}
    size = max(1, -(-n // (PARTS * executor.width)))
    spans = [(first, min(n, first + size)) for first in range(0, n, size)]
    found: dict[int, list[dict[str, np.ndarray]]] = {}
    for number, arrays in executor.map(Part(clf, asked), list(enumerate(spans))):
        found[number] = arrays
        if on_model is not None:
            on_model(sum(map(len, found.values())))
    like = clf.predictor_.decision.model
    return [with_arrays(like, arrays, "") for number in range(len(spans)) for arrays in found[number]]


def _fixed(random_state: RandomState) -> RandomState:
    """A state that gives the same numbers whenever it is drawn from first."""
    if random_state is None:
        return int(check_random_state(None).randint(2**31 - 1))
    return copy.deepcopy(random_state)
