"""Ask other models about recourse that was made for this one."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from holdtrue._types import Estimator, NativeFrame
from holdtrue.batch import predictor_of
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import RecourseFrame
from holdtrue.models import model_digest
from holdtrue.models.adapters import names_of, unread_by
from holdtrue.reports._parts import chunks
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import Table

Panel = AbstractRetrained | list[Estimator]
Against: TypeAlias = AbstractRetrained | Estimator | Sequence[Estimator]
"""Models to hold recourse against: retrained ones, one classifier or several, ours or others."""


def check_plan(plan: object, where: str) -> None:
    """Refuse what recourse() did not return."""
    if not isinstance(plan, RecourseFrame):
        raise CapabilityError(
            f"{where}: `plan` must be what recourse() returned; got {type(plan).__name__}. Call clf.recourse(X) "
            "first."
        )


def check_shares(where: str, **shares: object) -> None:
    """Refuse what is not strictly between 0 and 1."""
    for name, value in shares.items():
        if not isinstance(value, (int, float)) or not 0 < value < 1:
            raise DataError(f"{where}: `{name}` must lie between 0 and 1; got {value!r}.")


def panel(against: Against, where: str) -> Panel:
    """Return the models to ask: retrainings that answer together, or a list of single classifiers."""
    if isinstance(against, AbstractRetrained):
        return against
    if predictor_of(against) is not None or hasattr(against, "predict"):
        against = [against]
    if not isinstance(against, Sequence) or isinstance(against, str):
        raise CapabilityError(
            f"{where}: `against` must be retrained models or a list of classifiers; got {type(against).__name__}. "
            "Make some with holdtrue.retrain(clf, n=100)."
        )
    if not against:
        raise DataError(
            f"{where}: `against` has no models; got an empty list. Leave it out, or give at least one."
        )
    for model in against:
        if predictor_of(model) is None and not callable(getattr(model, "predict", None)):
            raise CapabilityError(f"{where}: a model in `against` has no `predict`; got {type(model).__name__}.")
    return list(against)


def answers(models: Panel, plan: RecourseFrame, where: str) -> np.ndarray:
    """Boolean (models, recourse found): whether each model takes the wanted decision; asked a chunk at a time."""
    parts = [accepts(models, plan.take(rows), where) for rows in chunks(np.flatnonzero(plan.found))]
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(models), 0), bool)


def digests(models: Panel) -> list[str | None]:
    """What tells each model from others; None for one made elsewhere."""
    if isinstance(models, AbstractRetrained):
        return list(models.digests())
    inner = [predictor_of(model) for model in models]
    return [None if one is None or one.foreign is not None else model_digest(one.decision.model) for one in inner]


def accepts(models: Panel, plan: RecourseFrame, where: str) -> np.ndarray:
    """Boolean (models, people): whether each model takes the wanted decision about each row."""
    if isinstance(models, AbstractRetrained):
        _check_labels(models.predictor.classes, plan, type(models).__name__, where)
        return models.accepts(plan.recourse, plan.target)
    return np.stack([_predict(model, plan, where) == plan.target for model in models])


def _predict(model: Estimator, plan: RecourseFrame, where: str) -> np.ndarray:
    name, inner = type(model).__name__, predictor_of(model)
    if inner is not None:
        _check_labels(inner.classes, plan, name, where)
        return inner.classes[inner.decide(plan.recourse)]
    if hasattr(model, "classes_"):
        _check_labels(np.asarray(model.classes_), plan, name, where)
    labels = np.asarray(model.predict(_question(model, plan, where)))
    if labels.shape != (len(plan),):
        raise DataError(
            f"{where}: `predict` of {name} must return one label per person; got shape {labels.shape} for "
            f"{len(plan)} people."
        )
    return labels


def _question(model: Estimator, plan: RecourseFrame, where: str) -> NativeFrame:
    """The recourse as the model reads it: the user's kind of dataframe, or an array where it learned from one."""
    recourse: Table = plan.recourse
    named = names_of(model, recourse.names)
    unread = unread_by(model)
    names = [name for name in named or plan.schema.names if name in recourse.columns or name not in unread]
    unknown = [name for name in names if name not in recourse.columns]
    if unknown:
        raise DataError(
            f"{where}: {type(model).__name__} reads columns that the recourse lacks; got {unknown[:5]!r}. "
            "Describe them in the schema."
        )
    if not named and hasattr(model, "n_features_in_"):
        return np.column_stack([recourse.columns[name] for name in names])
    return plan.factual.like_native({name: recourse.columns[name] for name in names})


def _check_labels(classes: np.ndarray, plan: RecourseFrame, name: str, where: str) -> None:
    # Labels that never match would read as "no recourse survives".
    known = classes.tolist()
    unknown = [label for label in np.unique(plan.target).tolist() if label not in known]
    if unknown:
        raise DataError(
            f"{where}: {name} does not know the wanted class; got {unknown[0]!r}. Its classes are {known!r}: give "
            "models with the labels of the one that made the recourse."
        )
