"""A model made elsewhere, adopted: with its schema, decision, method and guides in one model file."""

import copy
import hashlib
import platform
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from holdtrue import __version__
from holdtrue._registry import made
from holdtrue._types import Estimator, JsonObject, Label
from holdtrue.batch import Predictor, bind, wrap
from holdtrue.classifier import _file
from holdtrue.classifier._abstract import AbstractClassifier
from holdtrue.classifier._certificate import Certificate
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold import Holding
from holdtrue.methods import AbstractMethod
from holdtrue.models import fresh
from holdtrue.models.adapters import BlackBox, can_train_again, from_stored, to_stored
from holdtrue.parameters import Count, Probability, Seed, require
from holdtrue.retraining import AbstractRetrained, Refitted
from holdtrue.schema import MISSING_LEVEL, Schema, Table, TableLike, as_table, hinted, plain

KIND = "adopted"
KNOWN = 4096  # values of a column that a file keeps, and rows that are put together from them
LIBRARIES = ("scikit-learn", "xgboost", "lightgbm", "catboost", "onnx", "skops", "torch")


class Adopted(AbstractClassifier):
    """A classifier made elsewhere that owes people recourse; made by `adopt`, read by `load`.

    Whatever takes a `RecourseClassifier` takes it: every command, the service, certificates, records and gates. It
    is asked in its own columns, by its own library, and is not trained here.

    Parameters
    ----------
    schema, method, threshold, favourable, hold, n_guides, random_state
        As they were given to `adopt`.

    Attributes
    ----------
    classes_, schema_, predictor_, method_, certificate_
        See `RecourseClassifier`.
    format_ : str
        In which format the file holds the model: ``skops``, ``xgboost``, ``lightgbm``, ``catboost``, ``onnx`` or
        ``torch``.
    """

    def __init__(
        self,
        *,
        schema: Schema | None = None,
        method: AbstractMethod | str = "sparse_search",
        threshold: Probability | None = None,
        favourable: Label | None = None,
        hold: Probability | None = None,
        n_guides: Count = 20,
        random_state: Seed = 0,
    ) -> None:
        self.schema = schema
        self.method = method
        self.threshold = threshold
        self.favourable = favourable
        self.hold = hold
        self.n_guides = n_guides
        self.random_state = random_state

    training_ = None
    format_: str
    _blob: bytes
    _info: JsonObject
    _reads: JsonObject | None
    _known: dict[str, np.ndarray]

    def fit(self, X: TableLike, y: ArrayLike) -> NoReturn:
        """Refuse: it is trained where it was made."""
        raise CapabilityError(
            "Adopted: is not trained here. Train it where it was made and adopt it again, or give "
            "holdtrue.retrain(model, X, y) the rows to train copies of it."
        )

    def set_threshold(self, threshold: float) -> Self:
        """Decide from another probability on; a certificate is lost."""
        require("Adopted", "threshold", threshold, Probability)
        self.threshold = float(threshold)
        self.predictor_ = _at(self.predictor_, self.threshold)
        self.method_ = self.method_.rebind(self.predictor_)
        return self

    def _read(self, X: Any) -> Table:
        return as_table(X, where="Adopted")

    # ---- files --------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a model file: the model as its own library writes it, arrays and JSON; no pickle, no rows."""
        predictor, foreign = self.predictor_, self._foreign
        arrays = {f"encoder/{name}": values for name, values in predictor.encoder.arrays.items()}
        arrays |= {f"method/{name}": np.asarray(value) for name, value in self.method_.state_.items()}
        arrays |= {f"known/{name}": values for name, values in self._known.items()}
        arrays["model"] = np.frombuffer(self._blob, np.uint8)
        header: JsonObject = {
            "kind": KIND,
            "software": {"holdtrue": __version__, "python": platform.python_version(), **_versions()},
            "params": {name: describe(value) for name, value in self.get_params(deep=False).items()},
            "encoder": predictor.encoder.to_dict(),
            "classes": describe(self.classes_.tolist()),
            "favourable": predictor.decision.favourable,
            "decides_from": foreign.threshold,
            "model": {"format": self.format_, "info": self._info, "sha256": foreign.digest, "read": foreign.note},
            "reads": self._reads,
        }
        for side, models in _guides_of(self.method_).items():
            header[side] = []
            for i, model in enumerate(models):
                kind, blob, info = to_stored(model.estimator)
                arrays[f"{side}/{i}"] = np.frombuffer(blob, np.uint8)
                header[side].append({"format": kind, "info": info})
        self._write(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file. Nothing in the file is run."""
        header, arrays = _file.read(path)
        if header.get("kind") != KIND:
            raise DataError(f"load: the file holds no adopted model; got {str(path)!r}. Use holdtrue.load.")
        return _file.fitting_together(path, lambda: cls.from_parts(header, arrays))

    @classmethod
    def from_parts(cls, header: JsonObject, arrays: dict[str, np.ndarray]) -> Self:
        """The classifier from what is in its file."""
        self = cls(**{name: rebuild(value) for name, value in header["params"].items()})
        parts = {n.removeprefix("encoder/"): values for n, values in arrays.items() if n.startswith("encoder/")}
        encoder = Encoder.from_dict(header["encoder"], parts)
        self.classes_ = np.asarray(header["classes"])
        self._reads = header["reads"]
        self._known = {k.removeprefix("known/"): v for k, v in arrays.items() if k.startswith("known/")}
        model = header["model"]
        self._blob, self.format_, self._info = arrays["model"].tobytes(), model["format"], model["info"]
        digest = _digest(self.format_, self._blob)
        if digest != model["sha256"]:
            raise DataError("load: the model in the file is not the one that its header names. Copy it again.")
        rows = _people_like(self._known, encoder.schema, self._reads)
        foreign = _foreign(from_stored(self.format_, self._blob, self._info), encoder, rows, self._reads)
        foreign.digest = digest
        same = {name: header["software"].get(name) for name in LIBRARIES} == {n: _version(n) for n in LIBRARIES}
        decides, index = header["decides_from"], int(header["favourable"])
        self.predictor_ = bind(foreign, rows, self.classes_, index, decides, check=not same)
        state = {name.removeprefix("method/"): v for name, v in arrays.items() if name.startswith("method/")}
        self.method_ = self._fresh_method().restore(self.predictor_, state)
        if isinstance(self.method_, Holding):
            for side in ("guides", "judges"):
                stored = [(part, arrays[f"{side}/{i}"].tobytes()) for i, part in enumerate(header[side])]
                made_again = [from_stored(part["format"], blob, part["info"]) for part, blob in stored]
                models = tuple(_foreign(one, encoder, rows, self._reads) for one in made_again)
                vary = str(state["vary"])
                setattr(self.method_, f"{side}_", Refitted(self.predictor_, models, rows, vary))
        if header.get("certificate") is not None:
            self.certificate_ = Certificate.from_dict(header["certificate"])
        return self

    # ---- parts --------------------------------------------------------------------------------------

    @property
    def _foreign(self) -> BlackBox:
        foreign = self.predictor_.foreign
        assert foreign is not None
        return foreign

    def _fresh_method(self) -> AbstractMethod:
        chosen = fresh(made(AbstractMethod, self.method))
        if self.hold is None or isinstance(chosen, Holding):
            return chosen
        n = self.n_guides
        return Holding(base=chosen, hold=self.hold, n_guides=n, n_judges=n, random_state=self.random_state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "predictor_")


@hinted()
def adopt(
    model: Estimator,
    schema: Schema | None = None,
    *,
    reference: TableLike,
    labels: ArrayLike | None = None,
    method: str | AbstractMethod = "sparse_search",
    threshold: float | None = None,
    favourable: Label | None = None,
    hold: float | None = None,
    n_guides: int = 20,
    guides: AbstractRetrained | None = None,
    random_state: int = 0,
    on_model: Callable[[int], None] | None = None,
    keep: str | Path | None = None,
) -> Adopted:
    """Take a model made elsewhere into a file that every command and the service take as one of holdtrue's own.

    Parameters
    ----------
    model : object or path
        A scikit-learn classifier or pipeline, XGBoost, LightGBM, CatBoost or ONNX model, a raw booster; or the
        file of one: XGBoost (json, ubj), LightGBM (txt), CatBoost (cbm, json), ONNX, skops, a program of
        `torch.export.save`. What `from_torch` made of a module or of weights is taken too.
    schema : Schema, optional
        What each column may do; guessed from the reference when omitted.
    reference : dataframe
        Rows the model knows (its training table): bounds, levels and scaling are learned from it. None of them is
        kept but those that the method keeps; of each column its distinct values are.
    labels : array, optional
        The reference's labels: with them copies of the model are trained, so that recourse can be made to hold.
        A raw booster's parameters are read from it; trained anew on these rows it must come near itself.
    method : str or AbstractMethod, default="sparse_search"
        How recourse is found.
    threshold, favourable
        The decision: see `wrap`.
    hold : float, optional
        The wanted chance that the model trained again still accepts each recourse; 0.95 where `labels` or `guides`
        are given.
    n_guides : int, default=20
        How many copies guide a search, and how many judge.
    guides : AbstractRetrained, optional
        What ``holdtrue.retrain(model, X, y, n=40)`` returned, so that nothing is trained here.
    random_state : int, default=0
    on_model : callable, optional
        Told how many copies are trained.
    keep : path, optional
        A folder in which every copy is kept as it is trained: the same call goes on where it was cut.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from sklearn.linear_model import LogisticRegression
    >>> bank = ht.datasets.load("loanapp")
    >>> columns = ["loanprc", "obrat", "unver"]
    >>> theirs = LogisticRegression().fit(bank.X[columns], bank.y)
    >>> schema = ht.Schema([bank.schema[name] for name in columns])
    >>> ours = ht.adopt(theirs, schema, reference=bank.X)  # doctest: +SKIP
    >>> ours.save("bank.holdtrue")  # doctest: +SKIP
    >>> ht.load("bank.holdtrue").recourse(bank.X[:3])  # doctest: +SKIP
    """
    table = as_table(reference, where="adopt")
    predictor = wrap(
        model, schema, table, threshold=threshold, favourable=favourable, label_name=getattr(labels, "name", None)
    )
    foreign = predictor.foreign
    assert foreign is not None
    wanted = 0.95 if hold is None and (labels is not None or guides is not None) else hold
    if wanted is not None and guides is None:
        _check_trainable(foreign.estimator, labels)
    self = Adopted(
        schema=predictor.encoder.schema, method=method, threshold=_shown(predictor), favourable=favourable,
        hold=wanted, n_guides=n_guides, random_state=random_state,
    )  # fmt: skip
    self.check_parameters()
    self.classes_ = predictor.classes
    self.format_, self._blob, self._info = to_stored(foreign.estimator)
    foreign.digest = _digest(self.format_, self._blob)
    self._reads, self._known = _reads(table, foreign), _distinct(table, predictor.encoder.schema)
    self.predictor_ = predictor
    chosen = self._fresh_method()
    rows: Any = table
    if isinstance(chosen, Holding):
        self.method_ = chosen.fit(predictor, rows, labels, guides=guides, on_model=on_model, keep=keep)
    else:
        if keep is not None:
            raise DataError("adopt: `keep` is for copies of the model; got no `labels`. Leave one of them out.")
        self.method_ = chosen.fit(predictor, rows)
    return self


def _check_trainable(estimator: Estimator, labels: ArrayLike | None) -> None:
    if labels is None:
        raise DataError("adopt: `hold` needs copies of the model; got no `labels`, and no `guides`. Give either.")
    if not can_train_again(estimator):
        raise CapabilityError(
            f"adopt: this {type(estimator).__name__} does not say how it was trained, so that copies of it cannot "
            "be. Adopt its library's classifier, written by skops.io.dump where it was trained; or go without "
            "copies (no --guides); or, in Python, give `guides`, what holdtrue.retrain(..., refit=...) returned."
        )


def _at(predictor: Predictor, threshold: float) -> Predictor:
    """The same model at another threshold, without its certificate."""
    import equinox as eqx
    import jax.numpy as jnp

    from holdtrue.models.adapters import rounded_threshold

    foreign = copy.copy(predictor.foreign)
    assert foreign is not None
    foreign.threshold = threshold
    level = jnp.asarray(rounded_threshold(threshold), jnp.float32)
    decision = eqx.tree_at(lambda d: d.threshold, predictor.decision, level)
    return replace(predictor, decision=decision, foreign=foreign, certificate=None)


def _shown(predictor: Predictor) -> float | None:
    """The threshold as people know it; one half where the most probable class is decided."""
    if predictor.decision.n_classes != 2:
        return None
    assert predictor.foreign is not None
    return 0.5 if predictor.foreign.threshold is None else predictor.foreign.threshold


def _digest(kind: str, blob: bytes) -> str:
    return hashlib.sha256(kind.encode() + b"\0" + blob).hexdigest()


def _guides_of(method: AbstractMethod) -> dict[str, tuple[BlackBox, ...]]:
    if not isinstance(method, Holding):
        return {}
    sides = {"guides": method.guides_, "judges": method.judges_}
    out: dict[str, tuple[BlackBox, ...]] = {}
    for side, models in sides.items():
        if not isinstance(models, Refitted):
            raise CapabilityError(
                f"save: {side} of this kind cannot be kept in a file; got {type(models).__name__}."
            )
        out[side] = models.models
    return out


# ---- what the model is asked with -----------------------------------------------------------------------


def _reads(table: Table, foreign: BlackBox) -> JsonObject | None:
    """Types of the columns that the model was given, where that was a pandas dataframe."""
    native = foreign.like.native
    if not isinstance(native, pd.DataFrame):
        return None
    out: JsonObject = {}
    for name in foreign.encoder.schema.names:
        dtype = native[name].dtype
        if isinstance(dtype, pd.CategoricalDtype):
            kept = [plain(value) for value in dtype.categories]
            out[name] = {"dtype": "category", "categories": kept, "ordered": bool(dtype.ordered)}
        else:
            out[name] = {"dtype": str(dtype)}
        if name in foreign.absent:
            out[name]["absent"] = None if foreign.absent[name] is None else "nan"
    return out


def _foreign(estimator: Estimator, encoder: Encoder, rows: Table, reads: JsonObject | None) -> BlackBox:
    foreign = BlackBox(estimator, encoder, rows)
    for name, column in (reads or {}).items():
        if "absent" in column:
            foreign.absent[name] = None if column["absent"] is None else float("nan")
    return foreign


def _distinct(table: Table, schema: Schema) -> dict[str, np.ndarray]:
    """Distinct values of every number: a tree's thresholds lie between them. No two of one person go together."""
    out = {}
    for feature in schema:
        if feature.has_levels:
            continue
        values = np.unique(table.columns[feature.name].astype(np.float64))
        if len(values) > KNOWN:
            values = values[np.linspace(0, len(values) - 1, KNOWN).round().astype(int)]
        out[feature.name] = values
    return out


def _people_like(known: dict[str, np.ndarray], schema: Schema, reads: JsonObject | None) -> Table:
    """Rows whose columns have the values of the reference, put together at random."""
    rng = np.random.default_rng(0)
    columns: dict[str, np.ndarray] = {}
    for feature in schema:
        if feature.has_levels:
            levels = [None if level == MISSING_LEVEL else level for level in feature.levels or ()]
            values = np.empty(len(levels), object)
            values[:] = levels
        else:
            values = known[feature.name]
        columns[feature.name] = np.resize(values, KNOWN)[rng.permutation(KNOWN)]
    if reads is None:
        return Table(columns, KNOWN)
    native = pd.DataFrame(columns)
    for name, column in reads.items():
        if column["dtype"] == "category":
            dtype: Any = pd.CategoricalDtype(column["categories"], column["ordered"])
        else:
            dtype = column["dtype"]
        try:
            native[name] = native[name].astype(dtype)
        except (TypeError, ValueError):  # a type of another version of pandas: its own choice then
            continue
    return as_table(native)


def _version(package: str) -> str | None:
    for name in (package, f"{package}-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None


def _versions() -> JsonObject:
    return {name: _version(name) for name in LIBRARIES}
