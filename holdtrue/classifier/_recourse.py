"""Recourse for a model made elsewhere."""

from typing import Any

from holdtrue._registry import made
from holdtrue._types import Estimator, Label
from holdtrue.batch import wrap
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.methods import AbstractMethod, RecourseFrame
from holdtrue.models import fresh
from holdtrue.schema import Schema, TableLike


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
