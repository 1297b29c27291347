"""Recourse for any fitted model."""

from typing import Any

from numpy.typing import ArrayLike

from holdtrue._registry import made
from holdtrue._types import Estimator, Label
from holdtrue.batch import wrap
from holdtrue.classifier._abstract import AbstractClassifier
from holdtrue.errors import DataError
from holdtrue.hold import Holding
from holdtrue.methods import AbstractMethod, Level, RecourseFrame
from holdtrue.models import fresh
from holdtrue.retraining import AbstractRetrained
from holdtrue.schema import LAST, Schema, TableLike, hinted


@hinted(AbstractMethod.recourse)
def recourse(
    model: Estimator,
    X: TableLike,
    schema: Schema | None = None,
    method: str | AbstractMethod = "sparse_search",
    *,
    reference: TableLike | None = None,
    labels: ArrayLike | None = None,
    hold: float | Level | None = None,
    guides: AbstractRetrained | None = None,
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
    method : str or AbstractMethod, default="sparse_search"
        Which search.
    reference : dataframe, optional
        Rows the model knows (its training table). `X` itself when omitted.
    labels : array, optional
        The reference's labels: with them the model can be trained again, so that recourse can be made to `hold`.
    hold : float or Level, optional
        The wanted chance that the model trained again still accepts each recourse: see `Holding`. 0.95 where
        `labels` or `guides` are given. Without any of the three the plan says that nothing is known about how long
        it holds.
    guides : AbstractRetrained, optional
        What ``holdtrue.retrain(model, X, y, n=40)`` returned, so that nothing is trained here.
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
    rows = X if reference is None else reference
    if isinstance(model, AbstractClassifier):
        if hold is not None and guides is None and labels is None:
            return model.recourse(X, method=chosen.fit(model, rows), hold=hold, **options)
        fitted: Any = model
    else:
        name = getattr(labels, "name", None)
        if favourable is None and options.get("target") is not None:
            favourable = LAST  # what each person wants is said: no class need be the wanted one
        fitted = wrap(model, schema, rows, threshold=threshold, favourable=favourable, label_name=name)
    if hold is None and guides is None and labels is None:
        return chosen.fit(fitted, rows).recourse(X, **options)
    if guides is None and (reference is None or labels is None):
        raise DataError(
            f"recourse: hold={hold!r} needs models trained again; got no "
            f"{'reference' if reference is None else 'labels'}. Give `reference` and `labels`, what the model "
            "learned from, or `guides`, what holdtrue.retrain returned."
        )
    level = hold if isinstance(hold, Level) else None
    held = _holding(chosen, hold.hold if isinstance(hold, Level) else hold)
    return held.fit(fitted, rows, labels, guides=guides, level=level).recourse(X, **options)


def _holding(base: AbstractMethod, hold: float | None) -> Holding:
    if isinstance(base, Holding):
        return base
    wanted = Holding().hold if hold is None else hold
    return Holding(base=base, hold=wanted, random_state=base.random_state)
