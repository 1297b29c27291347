"""Any model, trained again."""

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from holdtrue._types import Estimator, Keywords, Label, RandomState
from holdtrue.batch import AbstractExecutor, FittedClassifier, Predictor, predictor_of, wrap
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import Strategy
from holdtrue.retraining._classifier import ClassifierWithRecipes, TrainedClassifier
from holdtrue.retraining._estimators import Kind, recipes_of, retrain_estimator
from holdtrue.retraining._kinds import retrain_alike
from holdtrue.retraining._retrain import Layers, Vary, retrain_own, training_rows
from holdtrue.retraining._retrained import AbstractRetrained
from holdtrue.retraining._trainer import Refit
from holdtrue.schema import Schema, Table, TableLike, hinted, shown

OWN = ("new_order", "layers", "n_epochs", "strategy")  # for holdtrue's own models
USUAL = 20  # models
FOREIGN = ("refit", "schema", "threshold", "favourable")  # for models made elsewhere


@hinted()
def retrain(
    model: Estimator,
    X: TableLike | None = None,
    y: ArrayLike | None = None,
    n: int | None = None,
    *,
    vary: Vary | None = None,
    tables: Sequence[tuple[TableLike, ArrayLike]] | None = None,
    alike: Mapping[str, Estimator] | Sequence[Estimator] | None = None,
    refit: Refit | None = None,
    schema: Schema | None = None,
    threshold: float | None = None,
    favourable: Label | None = None,
    new_order: bool | None = None,
    layers: Layers | None = None,
    n_epochs: int | None = None,
    random_state: RandomState = 0,
    strategy: Strategy | None = None,
    on_model: Callable[[int], None] | None = None,
    executor: AbstractExecutor | None = None,
    keep: str | Path | None = None,
) -> AbstractRetrained:
    """Train a fitted model again, `n` times, and return the models as one.

    Parameters
    ----------
    model : RecourseClassifier, estimator, or Predictor
        One of holdtrue's classifiers; any classifier that scikit-learn can clone (pipelines, forests, boosting,
        XGBoost's, LightGBM's and CatBoost's classes, calibrated and stacked ones), bare or as `holdtrue.wrap`
        returned it; or any other, with `refit`.
    X, y : dataframe, array, optional
        What to learn from. One of holdtrue's classifiers that was fitted in this process knows its own rows.
    n : int, optional
        Number of models, 20 when omitted; with `tables`, of each of them, where more than one are resamples. Of
        each of `tables` one of holdtrue's own classifiers is trained once when omitted.
    vary : {"seed", "leave_one_out", "bootstrap", "anew", "shift", "finetune"}, optional
        ``seed``: other first weights and shuffles; for a model made elsewhere, every `random_state` in it.
        ``leave_one_out``: same seed, one row's weight set to zero. ``bootstrap``: rows resampled with replacement.
        ``anew``: both, rows resampled and other seeds, as when a model is trained on a similar table. ``shift``:
        same seed, each of `tables`. ``finetune``: the fitted model goes on learning, from each of `tables` or else
        from resampled rows (holdtrue's own models). By default ``bootstrap``, and ``seed`` for those of holdtrue's
        own models that learn something else from every seed; ``shift`` with `tables`.
    tables : sequence of (X, y), optional
        Later or other tables, for ``shift`` and ``finetune``: what past periods were, for example. Encoded as the
        classifier encodes, so that all answer about the same rows.
    alike : sequence or mapping of recipes, optional
        Other recipes, which take turns with the model's own: other hyper-parameters, another family, whatever may
        be chosen next. For a model made elsewhere estimators; for one of holdtrue's classifiers another
        `RecourseClassifier`, a model (``ht.MLP(widths=(8,))``), a regime, a registered name, or a dict of
        parameters (``{"model": ht.Linear(), "regime__n_epochs": 20}``). Schema, scaling, threshold and favourable
        class are the classifier's own.
    refit : callable, optional
        ``refit(X, y, seed=..., sample_weight=None)`` returns the model trained on these rows, for one that
        scikit-learn cannot clone.
    schema, threshold, favourable
        Of a bare estimator: see `holdtrue.wrap`.
    new_order : bool, default=False
        For ``leave_one_out``: other shuffles, too. Without it a row of weight zero leaves every minibatch as it
        was, which is gentler than deleting a row from a table that is then shuffled anew.
    layers : {"top", "all"}, default="top"
        For ``finetune``: what moves. ``top`` leaves all but the top layer as it is, to the last bit.
    n_epochs : int, default=5
        For ``finetune``: passes over the rows, with the regime's step size, a fresh optimiser and no early
        stopping. The other kinds train as the regime says.
    random_state : int, default=0
        Chooses seeds, rows left out and resamples.
    strategy : {"auto", "sequential", "threads", "vmap"}
        See `holdtrue.models.fit_many`.
    on_model : callable, optional
        Told how many models are done; first, how many of them `keep` had.
    executor : AbstractExecutor, optional
        Where they are trained, some at a time: `holdtrue.batch.RayExecutor` for a cluster. The models are the
        same.
    keep : path, optional
        A folder in which every model is kept as soon as it is trained, in a format that runs no code when it is
        read: the same call goes on where it was cut. A model is found again by its recipe, the rows it learns
        from, its seed and the versions of the libraries that train; of a `refit` by the text of the function.

    Returns
    -------
    Retrained, SeveralKinds or Refitted
        `decide`, `predict` and `accepts` ask every model about every row.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> bank = ht.datasets.load("loanapp")
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(bank.X, bank.y)
    >>> again = ht.retrain(forest, bank.X, bank.y, n=3, schema=bank.schema)
    >>> again.decide(bank.X[:5]).shape
    (3, 5)
    """
    if isinstance(X, (int, np.integer)):
        raise DataError(f"retrain: `X` must be a table; got {X!r}. Write n={X!r}.")
    _check_given(X, y)
    if refit is not None and not callable(refit):
        raise DataError(
            f"retrain: `refit` must be a function refit(X, y, seed=..., sample_weight=None); got {refit!r}. "
            "Give one that returns the model trained on these rows."
        )
    if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1):
        raise DataError(f"retrain: `n` must be a positive whole number; got {n!r}.")
    predictor = predictor_of(model)
    own = predictor is not None and predictor.foreign is None
    given = {
        "new_order": new_order, "layers": layers, "n_epochs": n_epochs, "strategy": strategy,
        "alike": alike, "refit": refit, "schema": schema, "threshold": threshold, "favourable": favourable,
    }  # fmt: skip
    odd = [name for name in (FOREIGN if own else OWN) if given[name] is not None]
    if odd:
        whose = "models made elsewhere" if own else "holdtrue's own models"
        raise DataError(f"retrain: `{odd[0]}` is for {whose}; got {type(model).__name__}. Leave it out.")
    places: Keywords = {"executor": executor, "keep": keep}
    if own or (isinstance(model, FittedClassifier) and predictor is None):
        options = {name: given[name] for name in OWN if given[name] is not None}
        return _own(model, X, y, n, vary, tables, alike, options | places, random_state, on_model)
    if predictor is None:
        reference = tables[0][0] if X is None and tables else X
        if reference is None:
            raise DataError(
                f"retrain: a {type(model).__name__} does not know what it learned from; got no X and y. Give them."
            )
        name = getattr(y, "name", None)
        predictor = wrap(model, schema, reference, threshold=threshold, favourable=favourable, label_name=name)
    return _elsewhere(
        predictor, X, y, USUAL if n is None else int(n), vary, tables, alike, refit, random_state, on_model, places
    )


def _check_given(X: object, y: object) -> None:
    if (X is None) != (y is None):
        raise DataError(f"retrain: `X` and `y` go together; got {'X' if y is None else 'y'} alone. Give both.")


def _own(
    clf: Any, X: Any, y: Any, n: int | None, vary: Vary | None, tables: Any, alike: Any, options: dict[str, Any],
    random_state: Any, on_model: Callable[[int], None] | None,
) -> AbstractRetrained:  # fmt: skip
    if not isinstance(clf, TrainedClassifier):
        raise CapabilityError(
            f"retrain: `model` must be a classifier that can be trained; got {type(clf).__name__}. Give the "
            "RecourseClassifier itself."
        )
    if X is not None:
        clf = copy.copy(clf)
        clf.training_ = training_rows(clf, X, y)
    vary = vary or (None if tables is None else "shift")
    asked: Keywords = options | {
        "n": USUAL if n is None else int(n), "each": 1 if n is None else int(n), "vary": vary, "tables": tables,
        "random_state": random_state, "on_model": on_model,
    }  # fmt: skip
    if alike is None or not recipes_of(alike):
        return retrain_own(clf, **asked)
    if not isinstance(clf, ClassifierWithRecipes):
        raise CapabilityError(
            f"retrain: `alike` needs a classifier that other recipes can be set beside; got {type(clf).__name__}. "
            "Give a RecourseClassifier, or leave it out."
        )
    return retrain_alike(clf, alike, **asked)


def _elsewhere(
    predictor: Predictor, X: Any, y: Any, n: int, vary: Vary | None, tables: Any, alike: Any, refit: Refit | None,
    random_state: Any, on_model: Callable[[int], None] | None, places: Keywords,
) -> AbstractRetrained:  # fmt: skip
    if vary == "shift" and not tables:
        raise DataError("retrain: vary='shift' needs `tables`, a list of (X, y); got none.")
    if tables is not None and vary not in (None, "shift"):
        raise DataError(f"retrain: `tables` is for vary='shift'; got vary={vary!r}.")
    kind: Any = vary or "bootstrap"
    if tables is not None:
        kind = "bootstrap" if n > 1 else "as it is"
    elif kind not in get_args(Kind):
        raise DataError(
            f"retrain: vary={vary!r} is for holdtrue's own models; got one made elsewhere. Known for it are "
            f"{[k for k in get_args(Kind) if k != 'as it is']!r}."
        )
    elif X is None:
        raise DataError("retrain: a model made elsewhere does not know what it learned from; got no X and y.")
    read = [_read(predictor, X, y, "retrain")] if tables is None else []
    periods: Sequence[tuple[Any, Any]] = () if tables is None else tables
    for i, (rows, labels) in enumerate(periods, start=1):
        read.append(_read(predictor, rows, labels, f"retrain, table {i}"))
    return retrain_estimator(
        predictor, read, n=n, vary=kind, alike=() if alike is None else alike, refit=refit,
        random_state=random_state, on_model=on_model, **places,
    )  # fmt: skip


def _read(predictor: Predictor, X: Any, y: object, where: str) -> tuple[Table, np.ndarray]:
    table = predictor.encoder.schema.check(X, where=where)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise DataError(
            f"{where}: labels must be one per row; got an array of shape {labels.shape}. Give one column."
        )
    if len(labels) != table.n_rows:
        raise DataError(f"{where}: a table has {table.n_rows} rows but {len(labels)} labels.")
    known = predictor.classes.tolist()
    unknown = [label for label in labels.tolist() if label not in known]
    if unknown:
        raise DataError(
            f"{where}: a table has a class unseen at fit; got {unknown[0]!r}. The model's classes are "
            f"{shown(known)}: give labels of these, and leave out rows without one."
        )
    return table, labels
