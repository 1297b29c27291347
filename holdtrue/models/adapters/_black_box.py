"""Any object with `predict_proba`, asked in its own columns."""

import itertools
import re
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue._types import Estimator, Label, NativeFrame
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError
from holdtrue.models._base import AbstractModel
from holdtrue.models._decision import Decision
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
    """

    def __init__(self, estimator: Estimator, encoder: Encoder, like: Table) -> None:
        self.estimator = estimator
        self.encoder = encoder
        self.like = like.take(np.arange(0))
        self.names = names_of(estimator)
        if getattr(estimator, "takes_frames", False):
            self.names = encoder.schema.names
        width = getattr(estimator, "n_features_in_", None)
        names = self.names or encoder.schema.names
        if self.names is None and width is not None and width != len(names):
            raise DataError(
                f"recourse: the model reads {width} columns but the schema has {len(names)}. Describe each column "
                "the model reads, in the order it reads them."
            )
        unknown = [name for name in names if name not in encoder.schema]
        if unknown:
            raise DataError(f"recourse: the model reads columns the schema lacks; got {unknown[:5]!r}. Add them.")
        self.names_read = names
        self.categories = _categories(self.like.native, names)
        self.absent = _absent(like.native, names)
        self.splits: dict[str, np.ndarray] = {}
        self.note = "Asked as a black box."
        self.threshold: float | None = None
        self.digest: str | None = None
        self.recipe: str | None = None
        self._answers: dict[bytes, np.ndarray] = {}
        # XGBoost makes an array of a dataframe, for longer than it takes to answer: numbers are given as one.
        self._by_place = type(estimator).__module__.startswith("xgboost.") and not self.categories

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_answers": {}}  # to whoever it is sent, what was asked here is nothing

    def threshold_of(self, decision: Decision) -> float | None:
        """The threshold in float64, as long as the decision's own is what float32 makes of it."""
        if self.threshold is None or np.float32(decision.threshold) != rounded_threshold(self.threshold):
            return None
        return self.threshold * (1 - EQUAL)

    def frame(self, table: Table) -> NativeFrame:
        """Return what the estimator reads: a dataframe of its columns, or an array if it was fitted on one."""
        columns = {name: table.columns[name] for name in self.names_read}
        if self.names is None:
            # Fitted on a bare array: give it one, without names to warn about.
            return np.column_stack([columns[n] for n in self.names_read])
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
        """Number of columns of `predict_proba`."""
        return self.log_proba(table.take(np.arange(1))).shape[1]

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
                f"shape ({table.n_rows}, classes); got shape {p.shape}."
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


def names_of(estimator: Estimator) -> list[str] | None:
    """Columns that the estimator knows by name; None where it was fitted on an array."""
    names = list(getattr(estimator, "feature_names_in_", []))
    first: Estimator = estimator.steps[0][1] if not names and type(estimator).__name__ == "Pipeline" else None
    if type(first).__module__.startswith("optbinning."):
        names = [str(name) for name in first.variable_names]
    if not names and type(estimator).__module__.startswith("catboost."):
        names = [str(name) for name in estimator.feature_names_ or []]
        names = [] if names == [str(i) for i in range(len(names))] else names
    return names or None


def _absent(native: NativeFrame, names: list[str]) -> dict[str, float | None]:
    if not isinstance(native, pd.DataFrame):
        return {}
    objects = [name for name in names if name in native and native[name].dtype == object]
    return {name: None if any(v is None for v in native[name]) else float("nan") for name in objects}
