"""One fitted estimator as a model, whatever stands before it and however it is put together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdtrue._types import Estimator, Label, NativeFrame
from holdtrue.errors import CapabilityError
from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._black_box import BlackBox
from holdtrue.models.adapters._catboost import CATBOOST, catboost_trees
from holdtrue.models.adapters._columns import Column, NotUnderstood, Number, transformed
from holdtrue.models.adapters._composed import (
    Calibrated,
    ComposedModel,
    Isotonic,
    Mean,
    Score,
    Sigmoid,
    Stacked,
    Votes,
)
from holdtrue.models.adapters._dense import LINEAR, SCORING, dense, dense_layers
from holdtrue.models.adapters._forests import (
    LIGHTGBM,
    SKLEARN,
    XGBOOST,
    lightgbm_trees,
    sklearn_trees,
    xgboost_trees,
)
from holdtrue.models.adapters._given import HardVotes, LightGBMBooster
from holdtrue.models.adapters._grow import grow
from holdtrue.models.adapters._layers import Front, as_layer, single
from holdtrue.models.adapters._optbinning import Binning, ScorecardClassifier, StoredScorecard
from holdtrue.models.adapters._scorecard import is_scorecard, scorecard
from holdtrue.schema import Table

Splits = dict[str, np.ndarray]
THRESHOLDS = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


@dataclass(frozen=True)
class Source:
    """Where a model reads its rows: the columns it gets, and the steps that they went through."""

    foreign: BlackBox
    table: Table
    columns: list[Column]
    steps: tuple[Estimator, ...] = ()

    def after(self, steps: list[Estimator]) -> "Source":
        """The columns after further steps."""
        columns = self.columns
        for step in steps:
            columns = transformed(step, columns)
        return replace(self, columns=columns, steps=(*self.steps, *steps))

    def rows(self, n: int | None = None) -> NativeFrame:
        """The first rows of the table as the model gets them."""
        rows: NativeFrame = self.foreign.frame(self.table if n is None else self.table.take(np.arange(n)))
        for step in self.steps:
            if step not in (None, "passthrough"):
                rows = step.transform(rows)
        return rows

    @property
    def sparse(self) -> bool:
        """Whether the steps end in a sparse matrix."""
        return hasattr(self.rows(1), "tocsr")


def read(estimator: Estimator, source: Source, *, scored: bool = False) -> tuple[AbstractModel, Splits]:
    """Read a fitted estimator; raises `NotUnderstood` where it cannot be.

    Parameters
    ----------
    estimator : object
    source : Source
    scored : bool, default=False
        Whether it is asked for its `decision_function`: then it need not have probabilities.
    """
    estimator, steps = unwrapped(estimator)
    source = source.after(steps)
    name, library = type(estimator).__name__, type(estimator).__module__.partition(".")[0]
    columns, foreign = source.columns, source.foreign
    if library == "sklearn" and name in LINEAR and is_scorecard(columns):
        return grow(*scorecard(estimator, name, columns), foreign.encoder, source.table)
    if library == "sklearn" and (name in LINEAR or name == "MLPClassifier" or (scored and name in SCORING)):
        return dense(estimator, name, Front(columns, foreign.encoder), scored=scored), {}
    if isinstance(estimator, HardVotes) or (library == "sklearn" and name in _COMPOSED):
        return _COMPOSED[name](estimator, source)
    trees = None
    if library == "sklearn" and name in SKLEARN:
        if scored and getattr(estimator, "loss", None) == "exponential":
            raise NotUnderstood("scores of a GradientBoostingClassifier with exponential loss")
        trees = sklearn_trees(estimator, name, columns)
    elif library == "xgboost" and name in XGBOOST:
        trees = xgboost_trees(estimator, columns, foreign.categories, sparse=source.sparse)
    elif isinstance(estimator, LightGBMBooster) or (library == "lightgbm" and name in LIGHTGBM):
        trees = lightgbm_trees(estimator, columns, foreign.categories)
    elif library == "catboost" and name in CATBOOST:
        trees = catboost_trees(estimator, columns, source.rows())
    if trees is None:
        raise NotUnderstood(f"a {name}")
    return grow(*trees, foreign.encoder, source.table)


def unwrapped(estimator: Estimator) -> tuple[Any, list[Any]]:
    """The model at the end of searches and pipelines, and the steps before it."""
    steps: list[Estimator] = []
    if isinstance(estimator, (ScorecardClassifier, StoredScorecard)):
        return estimator.last, [estimator.binning()]
    while type(estimator).__module__.startswith("sklearn."):
        name = type(estimator).__name__
        if name == "Pipeline":
            steps += [_step(step) for _, step in estimator.steps[:-1]]
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif name in THRESHOLDS:
            estimator = getattr(estimator, "estimator_", estimator.estimator)
        elif name == "FrozenEstimator":
            estimator = estimator.estimator
        elif name == "VotingClassifier" and len(estimator.estimators_) == 1 and estimator.voting == "soft":
            estimator = estimator.estimators_[0]
        else:
            break
    return estimator, steps


def _step(step: Estimator) -> Estimator:
    """A step of a pipeline; one of optbinning as what it does."""
    if type(step).__name__ == "BinningProcess" and type(step).__module__.startswith("optbinning."):
        return Binning.of(step)
    return step


def own_threshold(estimator: Estimator, favourable: int) -> float | None:
    """The threshold that scikit-learn's `predict` goes by; None where it takes the most probable class.

    Parameters
    ----------
    estimator : object
    favourable : int
        Which of its two classes the threshold is wanted for.
    """
    estimator = _deciding(estimator)
    if type(estimator).__name__ == "CatBoostClassifier" and type(estimator).__module__.startswith("catboost."):
        return _threshold_of_catboost(estimator, favourable)
    if type(estimator).__name__ not in THRESHOLDS or not type(estimator).__module__.startswith("sklearn."):
        return None
    own = getattr(estimator, "best_threshold_", getattr(estimator, "threshold", "auto"))
    scored = estimator.response_method == "decision_function" or not hasattr(estimator, "predict_proba")
    if scored:
        raise CapabilityError(
            f"recourse: the threshold of {type(estimator).__name__} is one of `decision_function`; got {own!r}. "
            "Give `threshold`, a probability, or make it with response_method='predict_proba'."
        )
    level = 0.5 if own == "auto" else float(own)
    labels: list[Label] = estimator.classes_.tolist()
    scorer = getattr(estimator, "_curve_scorer", None)
    positive = estimator.pos_label if scorer is None else scorer._get_pos_label()
    is_positive = favourable == (1 if positive is None else labels.index(positive))
    # The other class is decided where the positive one's probability does not reach the level.
    level = level if is_positive else float(np.nextafter(1 - level, 1))
    return float(np.clip(level, np.nextafter(0, 1), np.nextafter(1, 0)))


def _deciding(estimator: Estimator) -> Any:
    """What takes the decision: the end of searches and pipelines, which only pass on what it says."""
    while type(estimator).__module__.startswith("sklearn."):
        name = type(estimator).__name__
        if name == "Pipeline":
            estimator = estimator.steps[-1][1]
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif name == "FrozenEstimator":
            estimator = estimator.estimator
        else:
            break
    return estimator


def _threshold_of_catboost(estimator: Estimator, favourable: int) -> float | None:
    """The threshold that was set with `set_probability_threshold`: its second class is decided above it."""
    own = estimator.get_probability_threshold()
    if own is None or own == 0.5:
        return None
    level = float(np.nextafter(own, 1)) if favourable == 1 else 1 - float(own)
    return float(np.clip(level, np.nextafter(0, 1), np.nextafter(1, 0)))


# ---- classifiers of classifiers ------------------------------------------------------------------------


def _members(
    estimators: list[Estimator], source: Source, n_classes: int, scored: list[bool] | None = None
) -> tuple[list[AbstractModel], Splits]:
    models, splits = [], {}
    for i, estimator in enumerate(estimators):
        model, own = read(estimator, source, scored=scored is not None and scored[i])
        if model.n_classes != n_classes:
            raise NotUnderstood(f"a member that knows {model.n_classes} of {n_classes} classes")
        models.append(model)
        for name, values in own.items():
            splits[name] = np.union1d(splits.get(name, values), values)
    return models, splits


def _voting(estimator: Estimator, source: Source) -> tuple[AbstractModel, Splits]:
    """Probabilities of members, averaged."""
    k = len(estimator.classes_)
    members, splits = _members(estimator.estimators_, source, k)
    return ComposedModel(tuple(members), Mean(single(_weights(estimator))), k), splits


def _hard_voting(votes: HardVotes, source: Source) -> tuple[AbstractModel, Splits]:
    """Decisions of members, counted."""
    estimator = votes.estimator
    if any(type(member).__name__ in THRESHOLDS for member in estimator.estimators_):
        raise NotUnderstood("a vote of members with thresholds of their own")
    k = len(estimator.classes_)
    members, splits = _members(estimator.estimators_, source, k)
    return ComposedModel(tuple(members), Votes(single(_weights(estimator))), k), splits


def _weights(estimator: Estimator) -> np.ndarray:
    weights = estimator._weights_not_none
    weights = np.ones(len(estimator.estimators_)) if weights is None else np.asarray(weights, np.float64)
    return weights / weights.sum()


def _calibrated(estimator: Estimator, source: Source) -> tuple[AbstractModel, Splits]:
    """Members' scores, each calibrated on rows that it did not learn from."""
    parts = estimator.calibrated_classifiers_
    k = len(estimator.classes_)
    score = _score(parts[0].estimator)
    if parts[0].method not in ("sigmoid", "isotonic") or (score == "gap" and k > 2):
        raise NotUnderstood(f"a calibration by {parts[0].method} of {k} classes")
    members, splits = _members([p.estimator for p in parts], source, k, [score == "gap"] * len(parts))
    each = tuple(tuple(_calibration(c) for c in part.calibrators) for part in parts)
    return ComposedModel(tuple(members), Calibrated(each, score), k), splits


def _calibration(calibrator: Estimator) -> Sigmoid | Isotonic:
    if hasattr(calibrator, "a_"):
        return Sigmoid(single(calibrator.a_), single(calibrator.b_))
    return Isotonic(single(calibrator.X_thresholds_), single(calibrator.y_thresholds_))


def _stacking(estimator: Estimator, source: Source) -> tuple[AbstractModel, Splits]:
    """A final model that reads what members say, and perhaps the row."""
    k = len(estimator.classes_)
    kinds = {"predict_proba": "shares", "decision_function": "gap"}
    asked: list[Any] = [kinds.get(method) for method in estimator.stack_method_]
    if None in asked or (k > 2 and "gap" in asked):
        raise NotUnderstood("a stack of members' decisions")
    members, splits = _members(estimator.estimators_, source, k, [kind == "gap" for kind in asked])
    final, steps = unwrapped(estimator.final_estimator_)
    name = type(final).__name__
    if not type(final).__module__.startswith("sklearn.") or (name not in LINEAR and name != "MLPClassifier"):
        raise NotUnderstood(f"a stack under a {name}")
    n_read = sum(1 if k == 2 else k for _ in asked)
    width = n_read + (len(source.columns) if estimator.passthrough else 0)
    columns: list[Column] = [Number(f"member {i}") for i in range(n_read)]
    columns += source.columns if estimator.passthrough else []
    for step in steps:
        columns = transformed(step, columns)
    lines = [c for c in columns[:n_read] if isinstance(c, Number) and c.is_line]
    if len(columns) != width or len(lines) < n_read:
        raise NotUnderstood("a stack whose final steps do more than scale")
    layers, head, _ = dense_layers(final, name)
    if head == "one_vs_rest":
        raise NotUnderstood("a stack under one model for each class")
    weight, bias = layers[0]
    slope = np.array([c.slope for c in lines])
    zero = np.array([float(c.value(np.zeros(()))) for c in lines])
    first = (weight[:, :n_read] * slope, bias + weight[:, :n_read] @ zero)
    own = None
    if estimator.passthrough:
        front = Front(columns[n_read:], source.foreign.encoder)
        own = front.fold(weight[:, n_read:], np.zeros(len(bias)))
    parts = tuple(as_layer(part) for part in (first, *layers[1:]))
    scores: tuple[Score, ...] = tuple(asked)
    return ComposedModel(tuple(members), Stacked(parts, own, scores, head == "binary"), k), splits


def _score(estimator: Estimator) -> Score:
    """What scikit-learn asks first: log-odds where the estimator has them."""
    return "gap" if hasattr(estimator, "decision_function") else "shares"


_COMPOSED: dict[str, Any] = {
    "VotingClassifier": _voting,
    "HardVotes": _hard_voting,
    "CalibratedClassifierCV": _calibrated,
    "StackingClassifier": _stacking,
}
