"""Retrainings by several recipes: the classifier's own and those of `alike`, answering together."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from holdtrue._types import Keywords
from holdtrue.batch import Predictor
from holdtrue.errors import DataError
from holdtrue.models import AbstractModel, EnsembleModel, Stacked, by_shape, model_digest, shape_of
from holdtrue.retraining._classifier import ClassifierWithRecipes, TrainedClassifier, TrainingData
from holdtrue.retraining._estimators import recipes_of, too_few
from holdtrue.retraining._parallel import fixed
from holdtrue.retraining._retrain import (
    Retrained,
    decided,
    retrain_own,
    start_keys,
    training_rows,
    usual_vary,
)
from holdtrue.retraining._retrained import AbstractRetrained, all_kinds, both_kinds, places, some_kinds
from holdtrue.schema import TableLike, as_table


@dataclass(frozen=True, repr=False)
class SeveralKinds(AbstractRetrained):
    """Retrainings of one of holdtrue's classifiers that are not of one build, answering together.

    Attributes
    ----------
    predictor : Predictor
        The classifier they are retrainings of; its encoder, threshold and favourable class hold for all.
    models : tuple of AbstractModel
    vary : str
        What was varied.
    kinds : tuple of int
        Of each model by which recipe it was trained.
    """

    predictor: Predictor
    models: tuple[AbstractModel, ...]
    vary: str
    kinds: tuple[int, ...] = ()

    @classmethod
    def of(cls, models: AbstractRetrained) -> "SeveralKinds":
        """The same models, whatever they were held as."""
        each = tuple(models.member(i).decision.model for i in range(len(models)))
        return cls(models.predictor, each, models.vary, models.kinds)

    def __len__(self) -> int:
        return len(self.models)

    @functools.cached_property
    def _stacks(self) -> list[tuple[EnsembleModel, list[int]]]:
        return by_shape(dict(enumerate(self.models)))

    def decide(self, X: TableLike) -> np.ndarray:
        """Class indices of shape (models, rows); those of one build in one batched call."""
        encoded = self.predictor.encoder.encode(as_table(X)).astype(np.float32)
        out = np.empty((len(self), len(encoded)), np.int64)
        for ensemble, whose in self._stacks:
            out[whose] = decided(ensemble, self.predictor, encoded)
        return out

    def take(self, rows: ArrayLike) -> "SeveralKinds":
        """Return some of the models (indices or a mask)."""
        some = places(rows, len(self))
        return replace(self, models=tuple(self.models[i] for i in some.tolist()), kinds=some_kinds(self, some))

    def join(self, other: AbstractRetrained) -> "SeveralKinds":
        """These models and further ones of the same classifier."""
        models = self.models + SeveralKinds.of(other).models
        return replace(self, models=models, vary=both_kinds(self, other), kinds=all_kinds(self, other))

    def of_kinds(self, first: int, n: int) -> Self:
        """The same models, told to be of `n` kinds in turn."""
        return replace(self, kinds=tuple(first + i % n for i in range(len(self))))

    def bind(self, predictor: Predictor) -> "SeveralKinds":
        """The same models at another threshold."""
        return replace(self, predictor=predictor)

    def member(self, i: int) -> Predictor:
        """One retrained model as a classifier of its own."""
        decision = self.predictor.decision.of(self.models[i])
        return Predictor(self.predictor.encoder, decision, self.predictor.classes)

    @property
    def members(self) -> tuple[Stacked, ...]:
        """The models, those of one build stacked."""
        return tuple(Stacked(ensemble) for ensemble, _ in self._stacks)

    def digests(self) -> tuple[str, ...]:
        """Every member's digest."""
        return tuple(model_digest(model) for model in self.models)


def retrain_alike(
    clf: ClassifierWithRecipes, alike: Mapping[str, object] | Sequence[object], n: int, **options: Any
) -> AbstractRetrained:
    """Train a classifier again by its own recipe and by others, which take turns.

    Every model is the one that its recipe alone would have at this place of the same call. The parameters are
    those of `retrain_own`.
    """
    if options.get("vary") == "finetune":
        raise DataError(
            "retrain: `alike` is for models that are trained anew; got vary='finetune', which goes on from the "
            "fitted one. Leave one of them out."
        )
    tables = options.get("tables")
    recipes = [clf, *(_ready(clf.by_recipe(other), clf, tables) for other in recipes_of(alike))]
    total = n if tables is None else len(tables) * options.get("each", 1)
    if total < len(recipes):
        raise too_few(total, len(recipes))
    vary = options.get("vary") or ("shift" if tables is not None else None)
    ways = {usual_vary(recipe) for recipe in recipes}
    asked: Keywords = options | {
        "vary": vary or (ways.pop() if len(ways) == 1 else "bootstrap"),
        "random_state": fixed(options.get("random_state", 0)),
    }
    told: Callable[[int], None] | None = asked.pop("on_model", None)
    found: dict[int, AbstractModel] = {}
    words = ""
    for turn, recipe in enumerate(recipes):
        own = range(turn, total, len(recipes))
        before = len(found)
        on_model = None if told is None else lambda done, before=before, told=told: told(before + done)
        part = retrain_own(recipe, n, on_model=on_model, some=own, **asked)
        words = f"{part.vary}, {len(recipes)} recipes"
        found |= {i: part.ensemble.member(j) for j, i in enumerate(own)}
    kinds = tuple(i % len(recipes) for i in range(total))
    out = SeveralKinds(clf.predictor_, tuple(found[i] for i in range(total)), words, kinds)
    stacks = by_shape(dict(enumerate(out.models)))
    return out if len(stacks) > 1 else Retrained(clf.predictor_, stacks[0][0], words, kinds)


def _ready(recipe: Any, clf: TrainedClassifier, tables: Any) -> TrainedClassifier:
    """A recipe with its rows weighed by its own class weights, and what its model must know of rows beforehand."""
    predictor, training = clf.predictor_, clf.training_
    if training is not None:
        recipe.training_ = _weighed(recipe, clf, training)
    rows = training_rows(recipe, *tables[0]) if training is None and tables else recipe.training_
    seed = 0 if rows is None else rows.seed
    start = recipe.architecture().build_on(predictor.encoder.layout, len(predictor.classes), start_keys(seed)[0])
    own = predictor.decision.model
    if shape_of(start) == shape_of(own):  # what the first of this build knew of its rows, this one is to know
        start = start.prepared_as(own)
    elif rows is not None:
        start = start.prepared(rows.data)
    recipe.predictor_ = Predictor(predictor.encoder, predictor.decision.of(start), predictor.classes)
    return recipe


def _weighed(recipe: TrainedClassifier, clf: TrainedClassifier, training: TrainingData) -> TrainingData:
    """Training rows under a recipe's class weights: those of the classifier are taken out first."""
    codes, classes = np.asarray(training.data.y), clf.predictor_.classes
    ones = np.ones(len(codes))
    old, new = clf.regime_.weights(codes, ones, classes), recipe.regime_.weights(codes, ones, classes)
    if np.array_equal(old, new):
        return training
    if not (old > 0).all():
        raise DataError(
            "retrain: the classifier's class weights leave rows out, so that `alike` recipes with other class "
            "weights cannot learn from them. Give X and y."
        )
    weight = np.asarray(training.data.weight, np.float64) / old * new
    data = training.data._replace(weight=jnp.asarray(weight / weight.mean(), jnp.float32))
    return replace(training, data=data)
