"""Recourse for a model made elsewhere."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from holdtrue._registry import made
from holdtrue._types import Estimator, Label
from holdtrue.batch import Predictor
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod, RecourseFrame
from holdtrue.models import BlackBox, Decision, fresh
from holdtrue.models.adapters import adapt, from_onnx, is_onnx
from holdtrue.parameters import Probability, require
from holdtrue.schema import Schema, TableLike, as_table

REACHED = 7e-7
"""Share of the threshold by which a probability may miss it: votes of a forest often equal it exactly, and the
log-odds that are compared have float32's rounding errors."""


def wrap(
    model: Estimator,
    schema: Schema | None,
    reference: Any,
    *,
    threshold: float | None = None,
    favourable: Label | None = None,
) -> Predictor:
    """Put a fitted foreign classifier behind holdtrue's interface.

    Models that an adapter understands (scikit-learn's linear models, networks and trees, also in pipelines,
    XGBoost, LightGBM, ONNX graphs) are searched inside a compiled program, with gradients where they have them;
    any other through `predict_proba`. ``predictor.foreign.note`` says which. What a search finds is always asked
    of the model itself, in its own columns.

    Parameters
    ----------
    model : object with `predict_proba`, or an ONNX model or its path
        Asked in its own columns: a dataframe where it was fitted on one, else an array.
    schema : Schema or None
        Guessed from `reference` when None.
    reference : dataframe
        Rows the model knows, from which bounds, levels and scaling are learned.
    threshold : float, optional
        Probability at which the favourable class is decided (to six digits, so that 18 votes of 30 are 0.6). By
        default as `predict` of scikit-learn does: the most probable class, a tie going to the first.
    favourable : label, optional
        The last class when omitted.
    """
    model = from_onnx(model) if is_onnx(model) else model
    table = as_table(reference, where="recourse")
    schema = Schema.infer(table) if schema is None else schema
    encoder = Encoder.fit(schema, table)
    foreign = BlackBox(model, encoder, table)
    classes = getattr(model, "classes_", None)
    classes = np.arange(foreign.n_classes(table)) if classes is None else np.asarray(classes)
    labels: list[Any] = classes.tolist()
    if favourable is not None and favourable not in labels:
        raise DataError(f"recourse: `favourable` is not a class; got {favourable!r}. Classes are {labels!r}.")
    index = len(labels) - 1 if favourable is None else labels.index(favourable)
    if threshold is None:
        # In float32, the smallest probability above one half: a tie is then the first class's.
        threshold = 0.5 if index == 0 else float(np.nextafter(np.float32(0.5), np.float32(1)))
    else:
        require("recourse", "threshold", threshold, Probability)
        threshold = threshold * (1 - REACHED)
    level = jnp.asarray(threshold, jnp.float32)
    decision = adapt(foreign, table, lambda core: Decision(core, level, index))
    return Predictor(encoder, decision, classes, foreign)


def recourse(
    model: Estimator,
    X: TableLike,
    schema: Schema | None = None,
    method: str | AbstractMethod = "nearest_neighbour",
    *,
    reference: TableLike | None = None,
    threshold: float | None = None,
    favourable: Label | None = None,
    **options: Any,
) -> RecourseFrame:
    """Find recourse for the rows of `X` under any fitted classifier.

    Parameters
    ----------
    model : object
        A RecourseClassifier, a scikit-learn classifier or pipeline, any object with ``predict_proba``, or an
        ONNX model or the path of one.
    X : dataframe
        People as they are, in the model's own columns.
    schema : Schema, optional
        What each may change; guessed from the reference when omitted.
    method : str or AbstractMethod, default="nearest_neighbour"
        Which search.
    reference : dataframe, optional
        Rows the model knows (its training table). `X` itself when omitted.
    threshold, favourable
        The decision of a foreign model: see `wrap`. A RecourseClassifier carries its own.
    options
        `target`, `restrictions`, `deadline`: see `AbstractMethod.recourse`.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> bank = ht.datasets.load("loanapp")
    >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(bank.X, bank.y)
    >>> refused = bank.X[forest.predict(bank.X) == 0]
    >>> ht.recourse(forest, refused[:3], bank.schema, reference=bank.X).valid.tolist()
    [True, True, True]
    """
    chosen: Any = fresh(made(AbstractMethod, method))
    if isinstance(model, RecourseClassifier):
        return chosen.fit(model, reference if reference is not None else X).recourse(X, **options)
    reference = X if reference is None else reference
    predictor = wrap(model, schema, reference, threshold=threshold, favourable=favourable)
    return chosen.fit(predictor, reference).recourse(X, **options)
