"""A model made elsewhere, behind the interface that all of holdtrue asks."""

from typing import Any

import jax
import numpy as np

from holdtrue._types import Estimator, Label
from holdtrue.batch._predictor import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import MORE_THAN_HALF, BlackBox, Decision
from holdtrue.models.adapters import adapt, given, names_of, own_threshold, rounded_threshold, unread_by
from holdtrue.parameters import Probability, require
from holdtrue.schema import Schema, Table, as_table, favourable_of, hinted, shown

LOOKED_AT = 1024  # rows of the reference about which `predict` is asked
TIE = 1e-6  # probabilities nearer to each other may be decided either way, by rounding


@hinted()
def wrap(
    model: Estimator,
    schema: Schema | None,
    reference: Any,
    *,
    threshold: float | None = None,
    favourable: Label | None = None,
    label_name: object = None,
) -> Predictor:
    """Put a fitted foreign classifier behind holdtrue's interface.

    Models that an adapter understands (scikit-learn's linear models, networks and trees, also in pipelines,
    XGBoost, LightGBM, ONNX graphs) are searched inside a compiled program, with gradients where they have them;
    any other through `predict_proba`. ``predictor.foreign.note`` says which. What a search finds is always asked
    of the model itself, in its own columns.

    Parameters
    ----------
    model : object with `predict_proba`, or an ONNX model or its path
        Asked in its own columns: a dataframe where it was fitted on one, else an array. A raw booster of XGBoost
        or LightGBM is read too, and a function of a dataframe that gives probabilities.
    schema : Schema or None
        Guessed from `reference` when None.
    reference : dataframe
        Rows the model knows, from which bounds, levels and scaling are learned.
    threshold : float, optional
        Probability at which the favourable class is decided (to six digits, so that 18 votes of 30 are 0.6). By
        default as the model's `predict` does: the most probable class, a tie going to the first, or from the
        threshold of a `FixedThresholdClassifier` or `TunedThresholdClassifierCV` on.
    favourable : label, optional
        When omitted it must be plain from the classes: see `RecourseClassifier`.
    label_name : str, optional
        What the labels are called, which may say that 1 is bad news.
    """
    model = given(model)
    table = as_table(reference, where="recourse")
    schema = _guessed(model, table) if schema is None else schema
    encoder = Encoder.fit(schema, table)
    foreign = BlackBox(model, encoder, table)
    classes = getattr(model, "classes_", None)
    n_classes = foreign.n_classes(table)
    classes = np.arange(n_classes) if classes is None else np.asarray(classes)
    labels: list[Any] = classes.tolist()
    if len(labels) != n_classes:
        raise DataError(
            f"recourse: the model has {len(labels)} classes but gives {n_classes} probabilities; got "
            f"{shown(labels)}. Name as many classes, in the order of the probabilities."
        )
    index = labels.index(favourable_of(classes, favourable, name=label_name, where="recourse"))
    if threshold is not None:
        require("recourse", "threshold", threshold, Probability)
    elif len(labels) == 2:
        threshold = own_threshold(model, index)
    if threshold is None:
        _check_decides(foreign, table, labels)
    return bind(foreign, table, classes, index, threshold)


def _check_decides(foreign: BlackBox, table: Table, labels: list[Any]) -> None:
    """Refuse a model whose `predict` does not take its most probable class, such as an `SVC`: people would be told
    of another decision than it takes."""
    predict = getattr(foreign.estimator, "predict", None)
    if not callable(predict):
        return
    some = table.take(np.sort(np.random.default_rng(0).permutation(table.n_rows)[:LOOKED_AT]))
    frame = foreign.frame(some)
    proba = np.exp(foreign.log_proba(some, frame))
    try:
        said = np.asarray(predict(frame)).ravel().tolist()
    except Exception:
        return  # not needed to ask it: one that has no decisions of its own has none that differ
    if proba.shape != (len(said), len(labels)):
        return
    ordered = np.sort(proba, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > TIE
    # What is no label at all is another kind of answer, which cannot be compared.
    most = [labels[i] for i in proba.argmax(axis=1)]
    other = sum(bool(c) and one in labels and one != own for c, one, own in zip(clear, said, most, strict=True))
    if other:
        name = type(foreign.estimator).__name__
        raise CapabilityError(
            f"recourse: `predict` of this {name} does not take its most probable class; got another for {other} "
            f"of {len(said)} rows. Give `threshold`, a probability from which the answer is yes, and decide by "
            "it; or calibrate the model: sklearn.calibration.CalibratedClassifierCV(model).fit(X, y)."
        )


def _guessed(model: Estimator, table: Table) -> Schema:
    """A guess of the columns that the model reads: none of them can be left out."""
    unread = unread_by(model)
    names = [name for name in names_of(model, table.names) or () if name not in unread]
    if not names or not set(names) <= set(table.names):
        return Schema.infer(table, reads=table.names)
    return Schema.infer(table, reads=names, drop=[name for name in table.names if name not in names])


def bind(
    foreign: BlackBox,
    table: Table,
    classes: np.ndarray,
    index: int,
    threshold: float | None,
    *,
    check: bool = True,
) -> Predictor:
    """A foreign model that speaks an encoder's columns, with its decision.

    Parameters
    ----------
    foreign : BlackBox
    table : Table
        Rows that are like those that it will be asked about.
    classes : array
        Labels.
    index : int
        Which of them is favourable.
    threshold : float or None
        None: the most probable class, a tie going to the first.
    check : bool, default=True
        Whether what an adapter reads is held against the model; not needed where that was done before.
    """
    foreign.threshold = threshold
    rounded = rounded_threshold(threshold) if threshold is not None else (MORE_THAN_HALF if index else 0.5)
    level = jax.device_put(np.asarray(rounded, np.float32))  # nothing is compiled for it
    decision = adapt(foreign, table, lambda core: Decision(core, level, index), check=check)
    return Predictor(foreign.encoder, decision, classes, foreign)
