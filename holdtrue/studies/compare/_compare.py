"""Methods side by side: one split, one model, one set of retrainings, a row a method."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from holdtrue._registry import made
from holdtrue._types import Estimator, Keywords, Label
from holdtrue.batch import Predictor, wrap
from holdtrue.classifier import AbstractClassifier, Adopted, RecourseClassifier, named_model, pipeline
from holdtrue.datasets import Dataset
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import METHODS, AbstractMethod, name_of
from holdtrue.models import AbstractArchitecture, fresh
from holdtrue.retraining import Vary, retrain, seeded
from holdtrue.schema import Schema, Table, as_table, favourable_of, hinted
from holdtrue.studies.compare._measure import measure, settings
from holdtrue.studies.compare._result import Comparison, Row, merged, same_settings

Methods = str | AbstractMethod | Sequence[str | AbstractMethod] | Mapping[str, str | AbstractMethod]


@hinted()
def compare(
    data: object,
    y: ArrayLike | None = None,
    *,
    schema: Schema | None = None,
    methods: Methods = "all",
    model: Estimator = None,
    people: int | None = None,
    test_size: float = 0.25,
    retrainings: int = 20,
    vary: Vary | None = None,
    neighbours: int = 5,
    favourable: Label | None = None,
    random_state: int = 0,
    done: Comparison | None = None,
    on_row: Callable[[Comparison], None] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Run recourse methods side by side on one dataset and one model.

    The rows are split, the model is trained once on the training rows, and every method is asked for the recourse
    of the same people: the test rows that the model refuses. The model is then retrained, once for all, and each
    retrained model is asked about every recourse. A method that cannot be run on this model or these columns
    has a row that says why.

    Parameters
    ----------
    data : str, Dataset or dataframe
        Name of a dataset, a dataset, or rows to go with `y`.
    y : array, optional
        Labels, where `data` is a dataframe.
    schema : Schema, optional
        The dataset's own when omitted; guessed from a dataframe.
    methods : "all", name, method, or a sequence or mapping of them, default="all"
        Registered names or configured methods. A mapping gives rows names of its own, so that one method can
        appear several times.
    model : str, architecture, RecourseClassifier or scikit-learn classifier, optional
        ``MLP()`` when omitted. By name: ``linear``, ``mlp``, ``ensemble``, ``logistic_regression``,
        ``random_forest``, ``xgboost``, ``lightgbm``. One that is fitted already is asked as it is; check that it
        has not learned from the test rows.
    people : int, optional
        The first so many of the refused test rows; all when omitted.
    test_size : float, default=0.25
        Share of rows held out.
    retrainings : int, default=20
        Models that every recourse is held against; 0 for none.
    vary : {"seed", "bootstrap", "leave_one_out"}, optional
        What differs between retrainings; see `retrain`. By default ``bootstrap``, and ``seed`` for those of
        holdtrue's own models that learn something else from every seed.
    neighbours : int, default=5
        Training rows that plausibility looks at.
    favourable : label, optional
        The class people want: the dataset's, or the one that plainly is; see `RecourseClassifier`.
    random_state : int, default=0
        Seed of the split, of training and retraining, and of every method that has none of its own.
    done : Comparison, optional
        An earlier one of the same job: methods that it has with the same parameters are not run again.
    on_row : callable, optional
        Given the comparison so far after every method, to keep it.
    progress : callable, optional
        Told ``(what, done, total)``: "retraining" in models, or a method's name in people (each is asked for
        twice).

    Returns
    -------
    Comparison
        Prints as a table; `to_frame`, `to_dict`, `write`, `plot`.

    Examples
    --------
    >>> import holdtrue as ht
    >>> quick = ht.RecourseClassifier(model=ht.Linear(), regime=ht.StandardTraining(n_epochs=20), random_state=0)
    >>> pair = ht.compare("loanapp", methods=["wachter", "sparse_search"], model=quick, people=20, retrainings=2)
    >>> pair.to_frame()["valid"].tolist()
    [1.0, 1.0]
    """
    chosen = _methods(methods, random_state)
    table, labels, schema, name, wanted = _data(data, y, schema)
    favourable = wanted if favourable is None else favourable
    if isinstance(model, str):
        model = named_model(model)()
        model = model if isinstance(model, AbstractArchitecture) else pipeline(model, schema)
    fitted = _is_fitted(model)
    foreign = model is not None and not isinstance(model, (AbstractArchitecture, RecourseClassifier))
    knows = isinstance(model, Adopted) or (isinstance(model, RecourseClassifier) and fitted)
    if not knows and getattr(model, "favourable", None) is None:
        favourable = favourable_of(labels, favourable, name=getattr(y, "name", None), where="compare")
    vary = ("seed" if not foreign and _uses_seed(model) else "bootstrap") if vary is None else vary
    for option, value, least in (("people", people, 1), ("retrainings", retrainings, 0)):
        if value is not None and (not isinstance(value, (int, np.integer)) or value < least):
            raise DataError(f"compare: `{option}` must be a whole number of at least {least}; got {value!r}.")
    job: Keywords = {
        "data": name,
        "rows": table.n_rows,
        "rows_sha256": _digest(table, labels),
        "schema": schema.digest(),
        "model": _model_name(model),
        "model_settings": _model_settings(model),
        "people": people,
        "test_size": test_size,
        "retrainings": retrainings,
        "vary": vary,
        "neighbours": neighbours,
        "seed": random_state,
    }
    rows = [] if done is None else _kept(done, job, chosen)
    names = list(chosen)
    if len(rows) < len(names):
        train, test = _split(table.n_rows, labels, test_size, random_state)
        learn, known = table.take(train), labels[train]
        classifier, predictor = _fit(model, fitted, foreign, schema, learn, known, favourable, random_state)
        asked = table.take(test)
        refused = np.flatnonzero(predictor.decide(asked) != predictor.decision.favourable)[:people]
        if not len(refused):
            raise DataError("compare: the model refuses none of the test rows, so there is nobody to ask for.")
        asked = asked.take(refused)
        against = _against(classifier, predictor, learn, known, retrainings, vary, random_state, progress)
        again = classifier is not None and classifier.training_ is not None
        for label in names:
            if any(row.name == label for row in rows):
                continue
            on_rows = None if progress is None else _Counter(progress, label, 2 * asked.n_rows)
            row = measure(
                label, fresh(chosen[label]), classifier if again else predictor, asked, rows=learn, labels=known,
                against=against, k=neighbours, on_rows=on_rows,
            )  # fmt: skip
            rows = merged([*rows, row], names)
            if on_row is not None:
                on_row(Comparison(job, rows))
    return Comparison(job, rows)


class _Counter:
    """Adds up the people done, for a progress bar; a second call goes on where the first ended."""

    def __init__(self, progress: Callable[[str, int, int], None], what: str, total: int) -> None:
        self.progress, self.what, self.total, self.done = progress, what, total, 0

    def __call__(self, more: int) -> None:
        self.done += more
        self.progress(self.what, min(self.done, self.total), self.total)


# ---- what is compared -------------------------------------------------------------------------------


def _methods(methods: Methods, seed: int) -> dict[str, AbstractMethod]:
    if isinstance(methods, str):
        methods = list(METHODS) if methods == "all" else [methods]
    if isinstance(methods, AbstractMethod):
        methods = [methods]
    pairs = methods.items() if isinstance(methods, Mapping) else ((None, m) for m in methods)
    out: dict[str, AbstractMethod] = {}
    for label, given in pairs:
        chosen: Any = made(AbstractMethod, given)
        if not isinstance(chosen, AbstractMethod):
            raise DataError(
                f"compare: `methods` must be names or methods; got {type(chosen).__name__}. See holdtrue.methods."
            )
        label = (given if isinstance(given, str) else name_of(type(chosen))) if label is None else label
        if label in out:
            raise DataError(
                f"compare: a method is named twice; got {label!r}. Give a mapping of names to methods."
            )
        chosen = fresh(chosen)
        if chosen.get_params(deep=False).get("random_state", 0) is None:
            chosen.set_params(random_state=seed)
        out[label] = chosen
    if not out:
        raise DataError("compare: `methods` is empty. Name one at least, or write 'all'.")
    return out


def _data(data: Any, y: Any, schema: Schema | None) -> tuple[Table, np.ndarray, Schema, str, Any]:
    if isinstance(data, str):
        from holdtrue.datasets import load

        data = load(data)
    if isinstance(data, Dataset):
        schema = data.schema if schema is None else schema
        if schema is None:
            raise DataError(f"compare: the dataset is not a table of features; got {data.name!r}.")
        return as_table(data.X), np.asarray(data.y), schema, data.name, data.favourable
    table = as_table(data, where="compare")
    if y is None or len(y) != table.n_rows:
        got = "none" if y is None else len(y)
        raise DataError(f"compare: `y` must have one label per row; got {got} for {table.n_rows} rows.")
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    return table, labels, Schema.infer(table) if schema is None else schema, "a table", None


def _digest(table: Table, labels: np.ndarray) -> str:
    total = hashlib.sha256()
    for name, values in [*table.columns.items(), ("", labels)]:
        total.update(f"{name}\0{values.tolist()!r}\n".encode())
    return total.hexdigest()


def _split(n: int, labels: np.ndarray, test_size: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        train, test = train_test_split(np.arange(n), test_size=test_size, random_state=seed, stratify=labels)
    except ValueError as error:
        raise DataError(f"compare: {n} rows cannot be split; got test_size={test_size!r} ({error}).") from error
    return np.sort(train), np.sort(test)


def _kept(done: Comparison, job: Keywords, chosen: dict[str, AbstractMethod]) -> list[Row]:
    """Rows of an earlier comparison that need not be run again."""
    changed = [key for key, value in job.items() if done.job.get(key) != value]
    if changed:
        first = changed[0]
        raise DataError(
            f"compare: the earlier comparison differs in its {' and '.join(changed)}; got {job[first]!r} after "
            f"{done.job.get(first)!r}. Compare on the same job, or begin a new file."
        )
    kept = [row for row in done.rows if row.name in chosen]
    return merged([row for row in kept if same_settings(row.settings, settings(chosen[row.name]))], list(chosen))


# ---- the model --------------------------------------------------------------------------------------


def _is_fitted(model: Estimator) -> bool:
    if model is None or isinstance(model, AbstractArchitecture):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _uses_seed(model: Estimator) -> bool:
    """Whether another seed gives another one of holdtrue's own models."""
    own = model if isinstance(model, RecourseClassifier) else RecourseClassifier(model=model)
    return own.configured_regime().uses_seed


def _model_name(model: Estimator) -> str:
    if isinstance(model, RecourseClassifier):
        model = model.architecture()
    return "MLP" if model is None else type(getattr(model, "_final_estimator", model)).__name__


def _model_settings(model: Estimator) -> str | None:
    """Digest of all parameters: what must be equal for two comparisons to be of the same model."""
    if isinstance(model, AbstractClassifier) and hasattr(model, "predictor_"):
        return model.predictor_.digest()
    if not hasattr(model, "get_params"):
        return None
    # Parameter by parameter: scikit-learn shortens the text of a whole estimator.
    parts = [f"{k}={v.digest() if isinstance(v, Schema) else v!r}" for k, v in sorted(model.get_params().items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _fit(
    model: Estimator,
    fitted: bool,
    foreign: bool,
    schema: Schema,
    rows: Table,
    labels: object,
    favourable: Any,
    seed: int,
) -> tuple[RecourseClassifier | None, Predictor]:
    """The classifier, where it is one of ours, and what everyone asks."""
    if isinstance(model, Adopted):
        return None, model.predictor_
    if foreign:
        if not fitted:
            if not hasattr(model, "fit"):
                raise CapabilityError(f"compare: `model` is not a classifier; got {type(model).__name__}.")
            names = [n for n in schema.names if n in rows.columns]
            try:
                model = seeded(model, seed, only_unset=True)
                model.fit(rows.like_native({n: rows.columns[n] for n in names}), labels)
            except ValueError as error:  # scikit-learn's own checks
                raise DataError(f"compare: {str(error).strip().splitlines()[0]}") from error
        return None, wrap(model, schema, rows, favourable=favourable)
    if isinstance(model, RecourseClassifier):
        if fitted:
            return model, model.predictor_
        own: Any = clone(model)
        own.set_params(hold=None)  # every method brings its own guides, or none
        defaults = {"schema": schema, "favourable": favourable, "random_state": seed}
        own.set_params(**{k: v for k, v in defaults.items() if own.get_params(deep=False)[k] is None})
    else:
        own = RecourseClassifier(schema=schema, model=model, favourable=favourable, hold=None, random_state=seed)
    own.fit(rows, labels)
    return own, own.predictor_


def _against(
    classifier: RecourseClassifier | None,
    predictor: Predictor,
    rows: Table,
    labels: np.ndarray,
    n: int,
    vary: Vary,
    seed: int,
    progress: Callable[[str, int, int], None] | None,
) -> Any:
    if n == 0:
        return None
    on_model = None if progress is None else lambda done: progress("retraining", done, n)
    if classifier is None:
        return retrain(predictor, rows, labels, n, vary=vary, random_state=seed, on_model=on_model)
    if classifier.training_ is None:
        # Read from a file, which holds no rows: the same configuration learns from the training rows. The schema
        # with its bounds and levels, since the retrained models must read the same columns.
        again: Any = clone(classifier)
        again.set_params(schema=classifier.schema_, favourable=predictor.favourable)
        return retrain(again.fit(rows, labels), n=n, vary=vary, random_state=seed, on_model=on_model)
    return retrain(classifier, n=n, vary=vary, random_state=seed, on_model=on_model)
