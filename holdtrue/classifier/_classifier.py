"""The one estimator: a classifier that owes people recourse."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from holdtrue import __version__
from holdtrue._registry import made
from holdtrue._types import JsonObject, Label
from holdtrue.batch import Predictor, RetrainableClassifier, proba_of
from holdtrue.classifier import _file
from holdtrue.classifier._abstract import AbstractClassifier
from holdtrue.classifier._beside import Beside, compare_with_plain
from holdtrue.classifier._certificate import Certificate
from holdtrue.classifier._named import ESTIMATORS
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.classifier._recipes import with_recipe
from holdtrue.classifier._rows import canonical, is_frame, labels_of, plain_number
from holdtrue.encoding import Encoder, Permits, Scaling
from holdtrue.errors import CapabilityError, DataError
from holdtrue.hold import Holding
from holdtrue.methods import AbstractMethod, Generated, Wachter
from holdtrue.models import (
    ARCHITECTURES,
    AbstractArchitecture,
    AbstractClosedForm,
    AbstractModel,
    Additive,
    Data,
    Decision,
    History,
    fresh,
    to_arrays,
    with_arrays,
)
from holdtrue.parameters import Count, Probability, Seed, require
from holdtrue.reports import Against, Report, audit
from holdtrue.retraining import (
    AbstractRetrained,
    ClassifierWithRecipes,
    Retrained,
    SeveralKinds,
    TrainingData,
    Vary,
    retrain,
    start_keys,
)
from holdtrue.retraining import retrain_own as train_again
from holdtrue.schema import Schema, Table, TableLike, as_table, favourable_of, shown
from holdtrue.training import AbstractRegime, AdditiveTraining, StandardTraining, TrainingContext

KEPT = 4  # answers of `retrain`: each holds all of its models
FEWEST = 100  # rows of which some are held out to compare with plain models


class RecourseClassifier(AbstractClassifier):
    """A classifier with recourse for everyone it refuses.

    Parameters
    ----------
    schema : Schema, optional
        What the columns are and how each may change. Guessed from the table when omitted (`schema_.notes` says
        what was guessed); columns of a bare array are taken as numbers.
    model : AbstractArchitecture or str, optional
        What it is, or a registered name such as ``"linear"``. When omitted what the regime is for:
        ``Additive()`` by default, ``MLP()`` elsewhere, ``CounterNet()`` where it trains a recourse head.
    regime : AbstractRegime or str, optional
        How it is trained, or a registered name. When omitted ``AdditiveTraining()``, or ``StandardTraining()``
        where another model is given.
    method : AbstractMethod or str, optional
        How recourse is found, or a registered name; when omitted ``Wachter()``, or ``Generated()``
        where the regime trains a recourse head.
    threshold : float, default=0.5
        With two classes, the favourable one is decided when its probability reaches this.
    favourable : label, optional
        The class people want. When omitted it must be plain: 1 of 0 and 1, unless the labels are a series whose
        name speaks of bad news (``deny``, ``default``), or the one label that is good news (``approved``); else
        `fit` asks for it. ``"(last)"`` is the last of the sorted classes, where none is better than another.
    scaling : {"minmax", "standard", "standard-all"}, default="minmax"
        See `holdtrue.encoding.Encoder`.
    hold : float or None, default=0.95
        The chance, wanted for every recourse, that the model trained again still accepts it. The classifier is
        then trained `n_guides` more times to search with, and as often to judge by: see `Holding`. None: one
        training, the cheapest recourse, and nothing is known about how long it holds.
    n_guides : int, default=20
        How many further trainings guide a search, and how many judge.
    random_state : int, optional
        Seed of first weights and shuffles.

    Attributes
    ----------
    classes_ : array of labels
    schema_ : Schema
        With bounds and levels filled in.
    predictor_ : Predictor
    method_ : AbstractMethod, fitted
        `Holding` about the configured method, unless `hold` is None.
    history_ : History
        Losses per epoch.
    beside_ : Beside or None
        How well the model does on rows held out of its training, beside logistic regression and histogram
        boosting of the same rows; a `QualityWarning` where it is behind. A regime that holds none out is trained
        once more without some rows for this, where guides are trained too (`hold`); else None.
    certificate_ : Certificate or None
        The guarantee of recourse that `holdtrue.certify` made; written to model files.
    training_ : TrainingData or None
        Encoded training rows, for `retrain`; None where it was read from a model file, which holds none.

    Notes
    -----
    Rows are put in one canonical order before training, and identical rows become one of their summed weight: the
    order of the table does not matter, and a weight of 2 equals a repeated row.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), random_state=0).fit(bank.X, bank.y)
    >>> refused = bank.X[clf.predict(bank.X) == 0]
    >>> plan = clf.recourse(refused[:3])
    >>> len(plan.changes())
    3
    """

    def __init__(
        self,
        *,
        schema: Schema | None = None,
        model: AbstractArchitecture | str | None = None,
        regime: AbstractRegime | str | None = None,
        method: AbstractMethod | str | None = None,
        threshold: Probability = 0.5,
        favourable: Label | None = None,
        scaling: Scaling = "minmax",
        hold: Probability | None = 0.95,
        n_guides: Count = 20,
        random_state: Seed = None,
    ) -> None:
        self.schema = schema
        self.model = model
        self.regime = regime
        self.method = method
        self.threshold = threshold
        self.favourable = favourable
        self.scaling: Scaling = scaling
        self.hold = hold
        self.n_guides = n_guides
        self.random_state = random_state

    # ---- scikit-learn -------------------------------------------------------------------------------

    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        on_epoch: Callable[[int, float], None] | None = None,
        on_model: Callable[[int], None] | None = None,
        periods: Sequence[tuple[TableLike, ArrayLike]] | None = None,
        keep: str | Path | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : dataframe or array of shape (n, features)
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
        on_epoch : callable, optional
            Told the epoch and its loss, for a progress bar.
        on_model : callable, optional
            Told how many guides and judges are trained.
        periods : sequence of (X, y), optional
            Past periods, each by itself, for guides and judges: see `Holding.fit`.
        keep : path, optional
            A folder in which every guide and judge is kept as it is trained: the same fit, with a `random_state`,
            goes on where it was cut.
        """
        self._check_model()
        self.check_parameters()
        table, schema = self._read_for_fit(X, y)
        name = getattr(y, "name", None)
        y = np.asarray(column_or_1d(labels_of(y), warn=True))
        if len(y) != table.n_rows:
            raise DataError(
                f"RecourseClassifier: X and y have inconsistent numbers of samples; got {table.n_rows} rows and "
                f"{len(y)} labels."
            )
        check_classification_targets(y)
        weight = np.asarray(_check_sample_weight(sample_weight, np.empty((len(y), 1))), np.float64)
        if (weight < 0).any() or not (weight > 0).any():
            raise DataError("RecourseClassifier: `sample_weight` must be non-negative and not all zero.")
        if (weight == 0).any():
            table, y, weight = table.take(weight > 0), y[weight > 0], weight[weight > 0]
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DataError(
                f"RecourseClassifier: the target has one class; got {classes.tolist()!r}. A classifier needs two."
            )
        wanted = favourable_of(y, self.favourable, name=name, where="RecourseClassifier")
        favourable = int(classes.tolist().index(wanted))
        encoder = Encoder.fit(schema, table, self.scaling, weight)
        x, codes, weight, copies = canonical(encoder.encode(table).astype(np.float32), codes.ravel(), weight)
        self.classes_ = classes
        self.regime_ = self.configured_regime()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        model_key, fit_key = start_keys(seed)
        weight = self.regime_.weights(codes, weight, classes)
        weight = (weight / weight.mean()).astype(np.float32)
        data = Data(*jax.device_put((x, codes.astype(np.int32), weight)))
        start = self.architecture().build_on(encoder.layout, len(classes), model_key).prepared(data)
        context = TrainingContext(Permits.of(encoder), favourable, self.threshold, len(x))
        train = partial(self.regime_.train, start, key=fit_key, context=context, seed=seed)
        model, self.history_ = train(data, on_epoch=on_epoch)
        self.training_: TrainingData | None = TrainingData(data, copies, seed)
        self._assemble(encoder, model, context.favourable)
        self.beside_: Beside | None = self._beside(data, seed, train)
        self._retrained: dict[Any, Retrained] = {}
        method = self._fresh_method()
        if isinstance(method, Holding):
            self.method_: AbstractMethod = method.fit(self, table, y, tables=periods, on_model=on_model, keep=keep)
        elif periods is not None or keep is not None:
            name = "`periods` are" if periods is not None else "`keep` is"
            raise DataError(f"RecourseClassifier: {name} for guides; got hold=None. Leave one of them out.")
        else:
            self.method_ = method.fit(self, table, y)
        return self

    # ---- recourse -----------------------------------------------------------------------------------

    @property
    def context_(self) -> TrainingContext:
        """What a training regime may know of the task."""
        decision = self.predictor_.decision
        n_rows = None if self.training_ is None else len(self.training_.data.x)
        return TrainingContext(Permits.of(self.predictor_.encoder), decision.favourable, self.threshold, n_rows)

    @overload
    def retrain(
        self, n: int = 100, *, vary: Any = None, tables: Any = None, layers: Any = None, n_epochs: Any = None,
        new_order: Any = None, random_state: Any = 0, strategy: Any = None, on_model: Any = None,
        executor: Any = None, keep: Any = None,
    ) -> Retrained: ...  # fmt: skip

    @overload
    def retrain(self, n: int = 100, *, alike: Any, **options: Any) -> AbstractRetrained: ...

    def retrain(self, n: int = 100, **options: Any) -> AbstractRetrained:
        """Train this classifier again, `n` times, and return the models as one; see `holdtrue.retrain`.

        Asked twice for the same, it trains once; the last few answers are kept. With ``random_state=None`` it
        trains others every time.
        """
        check_is_fitted(self)
        if "alike" in options:
            return retrain(self, n=n, **options)
        if "tables" in options or "on_model" in options or not isinstance(options.get("random_state", 0), int):
            return train_again(self, n, **options)
        asked = (n, repr(sorted(options.items())))
        made = self._retrained.pop(asked, None)
        self._retrained[asked] = train_again(self, n, **options) if made is None else made  # the latest at the end
        while len(self._retrained) > KEPT:
            self._retrained.pop(next(iter(self._retrained)))
        return self._retrained[asked]

    def audit(
        self,
        X: TableLike,
        *,
        retrain: int = 0,
        vary: Vary | None = None,
        against: Against | None = None,
        **options: Any,
    ) -> Report:
        """Find recourse for every row of `X` and report on it; see `holdtrue.audit`.

        Parameters
        ----------
        X : dataframe or array
            People as they are; the report tells the refused from the rest.
        retrain : int, default=0
            How many retrainings to hold the recourse against.
        vary : {"seed", "leave_one_out", "bootstrap", "finetune"}, optional
            What the retrainings vary: by default the seed, or the rows where a seed changes nothing. Give
            `against` where `holdtrue.retrain` needs further options.
        against : Retrained or classifiers, optional
            Models to hold the recourse against, in place of `retrain`.
        """
        if retrain and against is None:
            against = train_again(self, retrain, vary=vary)
        return audit(self.recourse(X), against=against, **options)

    # ---- files --------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write a model file: arrays and JSON, no pickle, no training rows but those the method keeps."""
        check_is_fitted(self)
        sides = (getattr(self.method_, name, None) for name in ("guides_", "judges_"))
        if any(isinstance(models, SeveralKinds) for models in sides):
            raise CapabilityError(
                "RecourseClassifier: guides of several recipes go into no model file; got models of other builds "
                "than its own. Save it with the method of its fit, and draw guides `alike` where they are used."
            )
        predictor = self.predictor_
        arrays = to_arrays(predictor.decision.model, "model/")
        arrays |= {f"encoder/{name}": values for name, values in predictor.encoder.arrays.items()}
        arrays |= {f"method/{name}": np.asarray(value) for name, value in self.method_.state_.items()}
        header = {
            "software": {"holdtrue": __version__, "jax": jax.__version__, "python": platform.python_version()},
            "params": {name: describe(value) for name, value in self.get_params(deep=False).items()},
            "regime": describe(self.regime_),
            "encoder": predictor.encoder.to_dict(),
            "classes": describe(self.classes_.tolist()),
            "favourable": predictor.decision.favourable,
            "inputs": {
                "n_features_in": int(self.n_features_in_),
                "feature_names_in": list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
            },
        }
        self._write(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file. Nothing in the file is run."""
        header, arrays = _file.read(path)
        if header.get("kind") is not None:
            raise DataError(
                f"load: the file holds an {header['kind']} model; got {str(path)!r}. Read it with holdtrue.load."
            )
        return _file.fitting_together(path, lambda: cls.from_parts(header, arrays))

    @classmethod
    def from_parts(cls, header: JsonObject, arrays: dict[str, np.ndarray]) -> Self:
        """The classifier from what is in its file."""
        self = cls(**{name: rebuild(value) for name, value in header["params"].items()})
        parts = {n.removeprefix("encoder/"): values for n, values in arrays.items() if n.startswith("encoder/")}
        encoder = Encoder.from_dict(header["encoder"], parts)
        self.classes_ = np.asarray(header["classes"])
        self.n_features_in_ = int(header["inputs"]["n_features_in"])
        if header["inputs"]["feature_names_in"] is not None:
            self.feature_names_in_ = np.asarray(header["inputs"]["feature_names_in"], object)
        # Files from before the regime was written were trained by what was the default then.
        written = rebuild(header["regime"]) if "regime" in header else self.regime or StandardTraining()
        self.regime_ = made(AbstractRegime, written)
        if type(self.regime_) is not type(self.configured_regime()):
            self.regime = self.regime_  # the default of its day: a clone of it is trained as it was
        empty = self.architecture().build_on(encoder.layout, len(self.classes_), jax.random.key(0))
        self._retrained = {}
        self.training_ = self.beside_ = None
        self._assemble(encoder, with_arrays(empty, arrays, "model/"), int(header["favourable"]))
        state = {name.removeprefix("method/"): v for name, v in arrays.items() if name.startswith("method/")}
        self.method_ = self._fresh_method().restore(self.predictor_, state)
        if header.get("certificate") is not None:
            self.certificate_ = Certificate.from_dict(header["certificate"])
        return self

    # ---- threshold ----------------------------------------------------------------------------------

    def set_threshold(self, threshold: float) -> Self:
        """Decide from another probability on, without training again; a certificate is lost.

        Whatever the model was trained for stays as it is, also where its regime aimed at the old threshold.
        """
        check_is_fitted(self)
        require("RecourseClassifier", "threshold", threshold, Probability)
        self.threshold = float(threshold)
        old = self.predictor_.decision
        self._assemble(self.predictor_.encoder, old.model, old.favourable)
        self.method_ = self.method_.rebind(self.predictor_)
        self._retrained = {}
        return self

    # ---- parts --------------------------------------------------------------------------------------

    def architecture(self) -> AbstractArchitecture:
        """Return the configured architecture, or the default."""
        return self.regime_.default_model() if self.model is None else made(AbstractArchitecture, self.model)

    def configured_regime(self) -> AbstractRegime:
        """Return the configured regime, or the default."""
        if self.regime is not None:
            return made(AbstractRegime, self.regime)
        if self.model is None or isinstance(made(AbstractArchitecture, self.model), Additive):
            return AdditiveTraining()
        return StandardTraining()

    def by_recipe(self, recipe: object) -> Self:
        """A copy, not trained, that would be learned by another recipe: see `alike` of `holdtrue.retrain`."""
        check_is_fitted(self)
        out = with_recipe(fresh(self).set_params(hold=None, method=None), recipe)
        out._check_model()
        out.check_parameters()
        out.classes_, out.training_, out.regime_ = self.classes_, self.training_, out.configured_regime()
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(out, name, getattr(self, name))
        out._assemble(self.predictor_.encoder, self.predictor_.decision.model, self.predictor_.decision.favourable)
        out.beside_, out._retrained = None, {}
        out.method_ = out._fresh_method().restore(out.predictor_, {})
        return out

    def _check_model(self) -> None:
        """Refuse a model of another library, with what to do about it."""
        foreign = hasattr(self.model, "fit") and not isinstance(self.model, AbstractArchitecture)
        if foreign or (isinstance(self.model, str) and self.model in ESTIMATORS):
            raise CapabilityError(
                f"RecourseClassifier: trains models of its own; got {shown(self.model)}. Fit that one yourself "
                "and use holdtrue.recourse(model, X, schema, reference=X), or give one of "
                f"{', '.join(map(repr, ARCHITECTURES.names()))}."
            )

    def _fresh_method(self) -> AbstractMethod:
        if self.method is None:
            chosen = Generated() if "generator" in self.regime_.needs else Wachter()
        else:
            chosen = fresh(made(AbstractMethod, self.method))
        if self.hold is None or isinstance(chosen, Holding):
            return chosen
        n = self.n_guides
        return Holding(base=chosen, hold=self.hold, n_guides=n, n_judges=n, random_state=self.random_state)

    def _beside(
        self, data: Data, seed: int, train: Callable[[Data], tuple[AbstractModel, History]]
    ) -> Beside | None:
        """What early stopping watched, asked of plain models too; None where nothing was held out.

        A regime that learns from all rows is trained once more without some of them, where that is quick or guides
        are trained anyway: held-out rows weigh nothing then, so that nothing is compiled anew.
        """
        predictor, waits = self.predictor_, self.regime_.waits(len(data.x)) is not None
        if isinstance(predictor.decision.model, AbstractClosedForm):
            return None
        quick = self.hold is not None or self.regime_.solves(predictor.decision.model)
        if not waits and (len(data.x) < FEWEST or not quick):
            return None
        rows = self.regime_.split_rows(data, seed)
        learned, held = (Data(data.x[part], data.y[part], data.weight[part]) for part in rows)
        if not waits:
            less, _ = train(Data(data.x, data.y, data.weight.at[rows[1]].set(0.0)))
            predictor = replace(predictor, decision=eqx.tree_at(lambda d: d.model, predictor.decision, less))
        proba = proba_of(predictor.logits_of(np.asarray(held.x)))
        return compare_with_plain(proba, learned, held, seed)

    def _assemble(self, encoder: Encoder, model: AbstractModel, favourable: int) -> None:
        decision = Decision(model, jnp.asarray(self.threshold, jnp.float32), favourable)
        self.predictor_ = Predictor(encoder, decision, self.classes_)

    def _read_for_fit(self, X: Any, y: ArrayLike | None) -> tuple[Table, Schema]:
        if y is None:
            raise DataError("RecourseClassifier: requires y to be passed, but the target y is None.")
        if self.schema is not None:
            table = self.schema.check(X, unseen_levels_ok=True, where="RecourseClassifier")
            self.n_features_in_ = len(self.schema)
            self.feature_names_in_ = np.asarray(self.schema.names, object)
            return table, self.schema
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
            table = as_table(X, where="RecourseClassifier")
            return table, Schema.infer(table)
        array = validate_data(self, X, dtype="numeric", ensure_min_samples=1)
        table = as_table(np.asarray(array, np.float64))
        features = [plain_number(name, values) for name, values in table.columns.items()]
        return table, Schema(features)

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        if isinstance(X, Table):
            return X
        if self.schema is None and not is_frame(X):
            return as_table(np.asarray(validate_data(self, X, reset=False, dtype="numeric"), np.float64))
        if self.schema is None:
            validate_data(self, X, skip_check_array=True, reset=False)
        elif not is_frame(X):
            array = np.asarray(X, object)
            if array.ndim != 2 or array.shape[1] != len(self.schema):
                raise DataError(
                    f"RecourseClassifier: an array must have the schema's {len(self.schema)} columns in order; "
                    f"got shape {array.shape}. Give a dataframe instead."
                )
            X = dict(zip(self.schema.names, array.T, strict=True))
        return as_table(X, where="RecourseClassifier")


if TYPE_CHECKING:

    def _is_both(clf: RecourseClassifier) -> tuple[ClassifierWithRecipes, RetrainableClassifier]:
        """What lower layers ask of a classifier, this one has: held by the type checker."""
        return clf, clf
