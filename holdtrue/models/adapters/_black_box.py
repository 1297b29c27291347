"""Any object with `predict_proba`, asked in its own columns."""

import itertools
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue._types import Estimator, Label, NativeFrame
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError, HoldtrueError
from holdtrue.models._base import AbstractModel
from holdtrue.models._decision import Decision
from holdtrue.models.adapters._categories import as_the_model_knows
from holdtrue.schema import Table, narrow

TINY = 1e-12  # a probability of 0 has no logarithm
MOST_DECIMALS = 13
REACHED = 7e-7
"""Share of the threshold by which a probability may miss it in float32: votes of a forest often equal it exactly,
and the log-odds that are compared have float32's rounding errors."""
EQUAL = 1e-12  # the same in float64
WIDE = 1e-5  # how far outside 0 and 1 a probability may be for rounding
REMEMBERED = 100_000
"""Rows whose answers a search keeps: slots that are done, or stand for nobody, ask about the same ones again."""

_failed: dict[int, Exception] = {}
_numbers = itertools.count()
_FAILURE = "the model failed, as number {} of its failures"


def rounded_threshold(threshold: float) -> np.float32:
    """What a search compares probabilities with, in float32."""
    return np.float32(threshold * (1 - REACHED))


def _is_told_anyway(record: logging.LogRecord) -> bool:
    """Whether a line of jax's log is of a model's failure, which is raised as an error of its own."""
    error = record.exc_info[1] if record.exc_info else None
    return re.search(_FAILURE.format(r"\d+"), str(error)) is not None


# jax writes the whole traceback of what a function raised to its log, an address or a person's row in it.
logging.getLogger("jax._src.callback").addFilter(lambda record: not _is_told_anyway(record))


class BlackBoxModel(AbstractModel):
    """Log-probabilities from a function on the host; no gradient.

    Inside a compiled search the function is called once per step with the rows of the whole batch.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    on_host: ClassVar[bool] = True
    ask: Callable[[np.ndarray], np.ndarray] = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.k

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logarithm of the probabilities."""
        shape = jax.ShapeDtypeStruct((self.k,), jnp.float32)
        return jax.pure_callback(self._host, shape, x, vmap_method="expand_dims")

    def _host(self, x: Any) -> np.ndarray:
        rows = np.asarray(x, np.float32)
        try:
            out = self.ask(rows.reshape(-1, rows.shape[-1]))
        except Exception as error:
            # Of an exception only its text comes out of a compiled program: `cause_of` finds it by the number.
            number = next(_numbers)
            _failed[number] = error
            raise RuntimeError(_FAILURE.format(number)) from error
        return out.reshape(*rows.shape[:-1], self.k).astype(np.float32)


def cause_of(error: BaseException) -> BaseException:
    """What a model raised, where an error came out of a compiled program that had asked it; else the error."""
    found = re.search(_FAILURE.format(r"(\d+)"), str(error))
    return error if found is None else _failed.pop(int(found.group(1)), error)


class BlackBox:
    """A foreign classifier with the encoder that speaks its columns.

    Parameters
    ----------
    estimator : object
        With ``predict_proba``, and ``classes_`` where the labels are not 0, 1, ...
    encoder : Encoder
        Fitted on a table the estimator understands.
    like : Table
        A table of the kind the estimator was fitted on; its dataframe library is used to ask.

    Attributes
    ----------
    note : str
        How a search reads the model: which adapter, or why none.
    splits : dict
        Where trees split, per number feature: raw values up to one go left, above it right.
    categories : dict
        Of columns with a categorical dtype in pandas, in the order of their codes.
    digest : str or None
        SHA-256 of the model as its library writes it, where it was adopted.
    recipe : str or None
        Of a raw booster that was trained again: what was read from it to do so, and how near it came.
    threshold : float or None
        From which probability on the favourable class is decided, in float64; None: as `predict` does.
    absent : dict
        Of columns of objects in pandas, what stands for a missing value: None and NaN are two categories.
    names_read, unread : list of str
        Columns that it is asked with; and those that it learned from a table with, and drops before it looks.
    """

    def __init__(self, estimator: Estimator, encoder: Encoder, like: Table) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.like = like.take(np.arange(0))
        self.names = names_of(estimator, encoder.schema.names)
        if getattr(estimator, "takes_frames", False):
            self.names = encoder.schema.names
        if self.names is None and _wants_frames(estimator, like, encoder.schema.names):
            self.names = encoder.schema.names
        width = getattr(estimator, "n_features_in_", None)
        names = self.names or encoder.schema.names
        if self.names is None and width is not None and width != len(names):
            raise DataError(
                f"recourse: the model reads {width} columns but the schema has {len(names)}. Describe each column "
                "the model reads, in the order it reads them."
            )
        unread = unread_by(estimator)
        self.unread = [name for name in names if name in unread and name not in encoder.schema]
        unknown = [name for name in names if name not in encoder.schema and name not in unread]
        if unknown:
            raise DataError(
                f"recourse: the model reads columns the schema lacks; got {unknown[:5]!r}. Describe them, as "
                "fixed where nobody can change them. What cannot be described (dates, a text that is the same in "
                "every row) a function can fill in: give lambda X: model.predict_proba(X.assign(...))."
            )
        self.names_read = [name for name in names if name not in self.unread]
        self.like = replace(self.like, native=as_the_model_knows(estimator, self.like.native, names))
        self.categories = _categories(self.like.native, self.names_read)
        self.absent = _absent(like.native, self.names_read)
        self.splits: dict[str, np.ndarray] = {}
        self.note = "Asked as a black box."
        self.threshold: float | None = None
        self.digest: str | None = None
        self.recipe: str | None = None
        self._answers: dict[bytes, np.ndarray] = {}
        self._n_classes: int | None = None
        # XGBoost makes an array of a dataframe, for longer than it takes to answer: numbers are given as one.
        self._by_place = _goes_by_place(estimator) and not self.categories

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_answers": {}}  # to whoever it is sent, what was asked here is nothing

    def threshold_of(self, decision: Decision) -> float | None:
        """The threshold in float64, as long as the decision's own is what float32 makes of it."""
        if self.threshold is None or np.float32(decision.threshold) != rounded_threshold(self.threshold):
            return None
        return self.threshold * (1 - EQUAL)

    def frame(self, table: Table) -> NativeFrame:
        """Return what the estimator reads: a dataframe of its columns, or an array if it was fitted on one."""
        return self._frame(table, self.names_read)

    def learning_frame(self, table: Table) -> NativeFrame:
        """`frame` for training it again: with the columns that it drops, since steps may go by place."""
        lacking = [name for name in self.unread if name not in table.columns]
        if lacking:
            raise DataError(
                f"retrain: the model learned from columns that the table lacks; got {lacking[:5]!r}. Give the "
                "table with them, though the model drops them."
            )
        return self._frame(table, self.names_read if self.names is None else self.names)

    def _frame(self, table: Table, names: list[str]) -> NativeFrame:
        columns = {name: table.columns[name] for name in names}
        if self.names is None:
            # Fitted on a bare array: give it one, without names to warn about.
            return np.column_stack([columns[n] for n in names])
        if self._by_place:
            columns = {name: narrow(values) for name, values in columns.items()}
            if all(values.dtype.kind in "fib" for values in columns.values()):
                return np.column_stack(list(columns.values()))
        frame = self.like.like_native(columns)
        for name in self.categories:
            frame[name] = frame[name].astype(self.like.native[name].dtype)
        for name, absent in self.absent.items():
            values = columns[name].astype(object)
            values[table.missing(name)] = absent
            frame[name] = pd.Series(values, index=frame.index, dtype=object)
        return frame

    def n_classes(self, table: Table) -> int:
        """Number of columns of `predict_proba`; what a model raises at its first question is told as such."""
        if self._n_classes is not None:
            return self._n_classes
        try:
            self._n_classes = n_classes = self.log_proba(table.take(np.arange(1))).shape[1]
            return n_classes
        except HoldtrueError:
            raise
        except Exception as error:
            raise DataError(
                f"recourse: the model cannot be asked about a row of the reference; "
                f"{type(self.estimator).__name__} raised {type(error).__name__}: {error}. Give a fitted "
                "model, and as reference a table like the one that it learned from."
            ) from error

    def reads_as(self, other: "BlackBox") -> bool:
        """Whether it is asked with the same frame as another."""
        mine, theirs = (
            (box.names, box.names_read, box.categories, repr(box.absent), box._by_place, _types(box.like.native))
            for box in (self, other)
        )
        return mine == theirs

    def log_proba(self, table: Table, frame: NativeFrame | None = None) -> np.ndarray:
        """Log-probabilities of a table, checked for shape and sense; `frame` is what `frame` gave for it."""
        if table.n_rows == 0:  # libraries refuse to be asked about nobody
            return np.zeros((0, len(getattr(self.estimator, "classes_", (0, 1)))))
        frame = self.frame(table) if frame is None else frame
        p = np.asarray(self.estimator.predict_proba(frame), np.float64)
        if p.ndim != 2 or len(p) != table.n_rows or not np.isfinite(p).all():
            raise DataError(
                f"recourse: `predict_proba` of {type(self.estimator).__name__} must return finite numbers of "
                f"shape ({table.n_rows}, classes); got {_odd(p, table.n_rows)}."
            )
        if p.min() < -WIDE or p.max() > 1 + WIDE:
            raise DataError(
                f"recourse: `predict_proba` of {type(self.estimator).__name__} must return probabilities; got "
                f"numbers from {p.min():.3g} to {p.max():.3g}. Give what makes probabilities of its scores."
            )
        return np.log(np.clip(p, TINY, 1.0))

    def model(self, n_classes: int) -> BlackBoxModel:
        """Return the model a search can ask, over encoded rows."""
        return BlackBoxModel(self._ask, n_classes)

    def _ask(self, encoded: np.ndarray) -> np.ndarray:
        """Log-probabilities of encoded rows: each that differs is asked about once."""
        rows = np.ascontiguousarray(encoded)
        keys, first, inverse = np.unique(
            rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel(),
            return_index=True,
            return_inverse=True,
        )
        names = keys.tolist()
        # Compiled programs may ask from several threads: what this call has looked up stays, whoever begins anew.
        known = self._answers
        new = [i for i, name in enumerate(names) if name not in known]
        if new:
            if len(known) + len(new) > REMEMBERED:
                known, new = {}, list(range(len(names)))
                self._answers = known
            answers = self._ask_anew(rows[first[new]])
            known.update(zip((names[i] for i in new), answers, strict=True))
        return np.stack([known[name] for name in names])[inverse.ravel()]

    def _ask_anew(self, encoded: np.ndarray) -> np.ndarray:
        columns = self.encoder.decode(encoded)
        for slot in self.encoder.layout.numbers:
            feature = self.encoder.schema[slot.name]
            if not feature.has_levels and feature.kind != "integer":
                scale, offset = self.encoder.scale[slot.start], self.encoder.offset[slot.start]
                columns[slot.name] = _as_written(columns[slot.name], encoded[:, slot.start], scale, offset)
        return self.log_proba(Table(columns, len(encoded)))


def _odd(p: np.ndarray, n_rows: int) -> str:
    """What is wrong with probabilities."""
    if p.ndim != 2 or len(p) != n_rows:
        return f"shape {p.shape}"
    return f"{p[~np.isfinite(p)][0]} among them"


def _as_written(values: np.ndarray, code: np.ndarray, scale: float, offset: float) -> np.ndarray:
    """The number with the fewest decimals of all that have the same code in float32.

    A person's own 25.6 comes out of float32 as 25.600000381, on the other side of a tree's threshold perhaps.
    """
    out, left = values.copy(), np.flatnonzero(np.isfinite(values))
    for decimals in range(MOST_DECIMALS):
        near = np.round(values[left], decimals)
        same = ((near - offset) / scale).astype(np.float32) == code[left]
        out[left[same]] = near[same]
        left = left[~same]
        if not len(left):
            break
    return out


def _types(native: NativeFrame) -> str:
    """The library and the column types of a dataframe."""
    return f"{type(native)} {list(getattr(native, 'dtypes', ()))}"


def _categories(native: NativeFrame, names: list[str]) -> dict[str, list[Label]]:
    dtypes: NativeFrame = getattr(native, "dtypes", None)
    if not hasattr(dtypes, "items"):  # a polars frame lists its dtypes; only pandas has codes that models read
        return {}
    kinds = {str(name): dtype for name, dtype in dtypes.items()}
    return {n: list(kinds[n].categories) for n in names if n in kinds and hasattr(kinds[n], "categories")}


def names_of(estimator: Estimator, known: Sequence[str] = ()) -> list[str] | None:
    """Columns that the estimator knows by name, as a table with the `known` ones calls them; None where it was
    fitted on an array."""
    names = [str(name) for name in getattr(estimator, "feature_names_in_", ())]
    if not names and type(estimator).__name__ == "Pipeline":
        first = _first_step(estimator)
        names = [str(name) for name in getattr(first, "feature_names_in_", ())]
        if type(first).__module__.startswith("optbinning."):
            names = [str(name) for name in first.variable_names]
    if not names and type(estimator).__module__.startswith("catboost."):
        names = [str(name) for name in estimator.feature_names_ or []]
        names = [] if names == [str(i) for i in range(len(names))] else names
    if not set(names) <= set(known):
        # LightGBM writes an underscore where the table's name has a space, and goes by place.
        spaced: dict[str, list[str]] = {}
        for name in known:
            spaced.setdefault(name.replace(" ", "_"), []).append(name)
        meant = {name: own[0] for name, own in spaced.items() if len(own) == 1}
        names = [name if name in known else meant.get(name, name) for name in names]
    return names or None


def unread_by(estimator: Estimator) -> frozenset[str]:
    """Columns of the table that it learned from which the estimator drops before it looks at them.

    A `ColumnTransformer` in front of everything drops what it was told nothing of, such as an application's number
    and date. The table need not have them then.
    """
    if not type(estimator).__module__.startswith("sklearn."):
        return frozenset()
    name = type(estimator).__name__
    if name == "ColumnTransformer":
        named = getattr(estimator, "feature_names_in_", ())
        places = estimator._transformer_to_input_indices
        read = {i for step, how, _ in estimator.transformers_ if not _drops(how) for i in places[step]}
        return frozenset(str(column) for i, column in enumerate(named) if i not in read)
    if name == "Pipeline":
        return unread_by(_first_step(estimator))
    inner = getattr(estimator, "best_estimator_", getattr(estimator, "estimator_", None))
    if name == "FrozenEstimator":
        inner = estimator.estimator
    members = [] if inner is None else [inner]
    if name == "CalibratedClassifierCV":
        members = [part.estimator for part in estimator.calibrated_classifiers_]
    elif name == "VotingClassifier" or (name == "StackingClassifier" and not estimator.passthrough):
        members = list(estimator.estimators_)
    # What one member drops and another reads is read.
    return frozenset.intersection(*map(unread_by, members)) if members else frozenset()


def _first_step(pipeline: Estimator) -> Any:
    """The first step that does something."""
    steps = [step for _, step in pipeline.steps if not (step is None or isinstance(step, str))]
    return steps[0] if steps else None


def _wants_frames(estimator: Estimator, like: Table, names: list[str]) -> bool:
    """Whether one that does not say what it learned from takes a dataframe alone, such as a pipeline whose first
    step picks columns by name: it is asked about one row in either way."""
    if like.native is None or like.n_rows == 0 or hasattr(estimator, "n_features_in_"):
        return False
    one = like.take(np.arange(1))
    columns = {name: one.columns[name] for name in names if name in one.columns}
    try:
        estimator.predict_proba(np.column_stack(list(columns.values())))
    except Exception:
        try:
            estimator.predict_proba(one.like_native(columns))
        except Exception:
            return False  # it is asked again, and what it says then is told
        return True
    return False


def _goes_by_place(estimator: Estimator) -> bool:
    """Whether it takes an array in place of a dataframe with names; linear boosters of XGBoost ask for these."""
    if not type(estimator).__module__.startswith("xgboost."):
        return False
    kind = json.loads(estimator.get_booster().save_config())["learner"]["gradient_booster"]["name"]
    return kind != "gblinear"


def _drops(step: object) -> bool:
    return isinstance(step, str) and step == "drop"


def _absent(native: NativeFrame, names: list[str]) -> dict[str, float | None]:
    if not isinstance(native, pd.DataFrame):
        return {}
    objects = [name for name in names if name in native and native[name].dtype == object]
    return {name: None if any(v is None for v in native[name]) else float("nan") for name in objects}
