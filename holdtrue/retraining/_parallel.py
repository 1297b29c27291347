"""Retrainings of which some may be on disk, the rest here or in parts, by whoever an executor gives them to."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.utils import check_random_state

from holdtrue._types import Keywords, RandomState
from holdtrue.batch import AbstractExecutor, from_bytes, to_bytes
from holdtrue.models import AbstractModel, Data, to_arrays, with_arrays
from holdtrue.retraining._classifier import TrainedClassifier, TrainingData
from holdtrue.retraining._kept import Kept
from holdtrue.retraining._retrain import Trainings, trainings

PARTS = 4  # for every worker: small enough that nobody waits long for the last


@dataclass
class Part:
    """Trains the models of some places. To another process it goes as a model file and rows."""

    clf: TrainedClassifier
    asked: Keywords
    plan: Trainings | None = None

    def __call__(self, places: Sequence[int]) -> list[dict[str, np.ndarray]]:
        """Arrays of every model trained."""
        if self.plan is None:
            self.plan = trainings(self.clf, **self.asked)
        return [to_arrays(model, "") for model in self.plan.fit(places)]

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


def all_models(
    clf: TrainedClassifier,
    asked: Keywords,
    executor: AbstractExecutor | None,
    on_model: Callable[[int], None] | None,
    keep: str | Path | None,
    some: Sequence[int] | None = None,
) -> list[AbstractModel]:
    """Every model, in order; `asked` is what `trainings` takes, `keep` a folder for what is trained.

    With `some` these are the models of some places.
    """
    # One seed for all parts, whoever draws from it; what is drawn here is of a copy.
    asked = asked | {"random_state": fixed(asked["random_state"])}
    own: Keywords = asked | {"random_state": fixed(asked["random_state"])}
    plan = trainings(clf, **own)
    like = clf.predictor_.decision.model
    wanted, found = list(range(len(plan.sets)) if some is None else some), dict[int, AbstractModel]()
    kept, keys = None if keep is None else Kept.at(keep), [] if keep is None else plan.keys()
    if kept is not None:
        read = {i: kept.arrays(keys[i]) for i in wanted}
        found = {i: with_arrays(like, arrays, "") for i, arrays in read.items() if arrays is not None}
        if found and on_model is not None:
            on_model(len(found))
    left, before = [i for i in wanted if i not in found], len(found)

    def on_fitted(place: int, model: AbstractModel) -> None:
        if kept is not None:
            kept.put_arrays(keys[left[place]], to_arrays(model, ""))

    if executor is None:
        further = None if on_model is None else lambda done: on_model(before + done)
        trained = plan.fit(left, further, on_fitted) if left else []
        return [model for _, model in sorted((found | dict(zip(left, trained, strict=True))).items())]
    size = max(1, -(-len(left) // (PARTS * executor.width)))
    parts = [left[first : first + size] for first in range(0, len(left), size)]
    for number, part in executor.map(Part(clf, asked), list(enumerate(parts))):
        for i, arrays in zip(parts[number], part, strict=True):
            if kept is not None:
                kept.put_arrays(keys[i], arrays)
            found[i] = with_arrays(like, arrays, "")
        if on_model is not None:
            on_model(len(found))
    return [found[i] for i in wanted]


def fixed(random_state: RandomState) -> RandomState:
    """A state that gives the same numbers whenever it is drawn from first."""
    if random_state is None:
        return int(check_random_state(None).randint(2**31 - 1))
    return copy.deepcopy(random_state)
