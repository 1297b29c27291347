"""What a foreign model's input columns are, followed through scikit-learn's transformers.

Every column is either a number (one schema number through a chain of additions and multiplications) or a
function of one feature's level. That is all a linear front end, or a tree's comparison, needs to know.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from holdtrue._types import Cell, Estimator, Label
from holdtrue.encoding import Encoder
from holdtrue.models.adapters._curves import AbstractCurve, Bins, Polynomials, Power, Quantiles
from holdtrue.schema import MISSING_LEVEL

_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, a: x + a,
    "sub": lambda x, a: x - a,
    "mul": lambda x, a: x * a,
    "div": lambda x, a: x / a,
    "curve": lambda x, curve: curve(x),
    "single": lambda x, _: np.asarray(x, np.float32).astype(np.float64),
}


class NotUnderstood(Exception):
    """A part of a foreign model that no adapter reads; the model is then asked as a black box."""


@dataclass(frozen=True)
class Number:
    """A schema number after `ops`, applied in double precision and in the library's own order.

    `missing` is what stands in the column where the person's value is missing, and `bends_at` what stood there
    before a curve.
    """

    name: str
    ops: tuple[tuple[str, Any], ...] = ()
    missing: float = np.nan
    bends_at: float = np.nan

    def then(self, op: str, amount: Any = 0.0) -> "Number":
        """Return the column after one more operation; ``single`` rounds to float32, ``curve`` bends."""
        amount = amount if op == "curve" else float(amount)
        bends_at = self.missing if op == "curve" else self.bends_at
        missing = float(_APPLY[op](self.missing, amount))
        return replace(self, ops=(*self.ops, (op, amount)), missing=missing, bends_at=bends_at)

    def value(self, raw: np.ndarray) -> np.ndarray:
        """Column values of raw values."""
        for op, amount in self.ops:
            raw = _APPLY[op](raw, amount)
        return raw

    @property
    def is_line(self) -> bool:
        """Whether all operations add or multiply."""
        return all(op in ("add", "sub", "mul", "div") for op, _ in self.ops)

    @property
    def curve(self) -> "tuple[Number, AbstractCurve, Number] | None":
        """Where one operation bends: the column before it, the curve, and what follows, as a column of its own."""
        bends = [i for i, (op, _) in enumerate(self.ops) if op == "curve"]
        if not bends:
            return None
        if len(bends) > 1:
            raise NotUnderstood(f"curves of curves of {self.name!r}")
        (at,) = bends
        return (
            Number(self.name, self.ops[:at], self.bends_at),
            self.ops[at][1],
            Number(self.name, self.ops[at + 1 :]),
        )

    @property
    def slope(self) -> float:
        """Derivative of `value`; of what bends only the sign means something, NaN where it has none."""
        if any(op == "curve" and not curve.rising for op, curve in self.ops):
            return np.nan
        steps = [a if op == "mul" else 1 / a for op, a in self.ops if op in ("mul", "div")]
        return float(np.prod(steps))


@dataclass(frozen=True)
class Levels:
    """A value per level of one feature; for ordinal and binary features one more, for a missing value."""

    name: str
    values: np.ndarray

    def then(self, op: str, amount: Any = 0.0) -> "Levels":
        """Return the column after one more operation."""
        return Levels(self.name, _APPLY[op](self.numbers(), amount))

    def numbers(self) -> np.ndarray:
        """Values as numbers; None is NaN."""
        try:
            return np.array([np.nan if v is None else float(v) for v in self.values], np.float64)
        except (TypeError, ValueError):
            raise NotUnderstood(f"levels of {self.name!r} that are not numbers") from None


@dataclass(frozen=True)
class Dropped:
    """A column that holds the place of one that the model drops: nothing may be done with it."""

    name: str

    def then(self, op: str, amount: Any = 0.0) -> "Dropped":
        """Refuse: it is read after all."""
        raise NotUnderstood(f"{self.name!r}, which no step was to read")

    @property
    def values(self) -> np.ndarray:
        """Refuse: it is read after all."""
        raise NotUnderstood(f"{self.name!r}, which no step was to read")


Column = Number | Levels


@runtime_checkable
class HasColumns(Protocol):
    """A step of holdtrue's own that says itself what becomes of columns."""

    def columns(self, columns: Sequence[Column]) -> list[Column]:
        """Columns after the step."""
        ...


def raw_columns(encoder: Encoder, names: Sequence[str]) -> list[Column]:
    """Return the columns as the person's table has them."""
    groups = {slot.name for slot in encoder.layout.groups}
    columns: list[Column] = []
    for name in names:
        if name not in encoder.schema:
            columns.append(Dropped(name))  # type: ignore[arg-type]
            continue
        feature = encoder.schema[name]
        if not feature.has_levels:
            columns.append(Number(name))
            continue
        levels = [None if level == MISSING_LEVEL else level for level in feature.levels or ()]
        values = np.empty(len(levels) + (name not in groups), object)
        values[: len(levels)] = levels
        columns.append(Levels(name, values))
    return columns


def encoded_columns(encoder: Encoder, own: Encoder) -> list[Column]:
    """Return the columns of another encoder's row, for a model that reads encoded rows."""
    columns: list[Column] = []
    raw = {column.name: column for column in raw_columns(own, encoder.schema.names)}
    for slot in encoder.layout.numbers:
        column = raw[slot.name]
        if isinstance(column, Levels):
            codes = _positions(column, list(encoder.schema[slot.name].levels or ()))
            column = Levels(slot.name, np.where(np.isnan(codes), encoder.filled.get(slot.name, 0.0), codes))
        else:
            column = replace(column, missing=encoder.filled.get(slot.name, np.nan))
        columns.append(column.then("sub", encoder.offset[slot.start]).then("div", encoder.scale[slot.start]))
    for slot in encoder.layout.groups:
        levels = [None if v == MISSING_LEVEL else v for v in encoder.schema[slot.name].levels or ()]
        codes = _positions(raw[slot.name], levels)  # type: ignore[arg-type]
        for i in range(slot.start, slot.stop):
            column = Levels(slot.name, (codes == i - slot.start).astype(float))
            columns.append(column.then("sub", encoder.offset[i]).then("div", encoder.scale[i]))
    for slot in encoder.layout.indicators:
        column = raw[slot.name]
        if isinstance(column, Levels):
            columns.append(Levels(slot.name, np.array([v is None for v in column.values], float)))
        else:
            columns.append(Number(slot.name, (("mul", 0.0),), 1.0))
    return columns


def transformed(transformer: Estimator, columns: list[Column]) -> list[Column]:
    """Return the columns after a fitted scikit-learn transformer."""
    kind = type(transformer)
    if isinstance(transformer, str) or transformer is None:
        if transformer in ("passthrough", None):
            return columns
    elif isinstance(transformer, HasColumns):
        return transformer.columns(columns)
    elif kind.__module__.startswith("sklearn."):
        if hasattr(transformer, "get_support"):
            return [columns[i] for i in transformer.get_support(indices=True)]
        if kind.__name__ in _TRANSFORMERS:
            return _TRANSFORMERS[kind.__name__](transformer, columns)
    raise NotUnderstood(f"the step {transformer if isinstance(transformer, str) else kind.__name__}")


# ---- one function per kind of transformer ------------------------------------------------------------


def _pipeline(pipeline: Estimator, columns: list[Column]) -> list[Column]:
    for _, step in pipeline.steps:
        columns = transformed(step, columns)
    return columns


def _column_transformer(transformer: Estimator, columns: list[Column]) -> list[Column]:
    if transformer.transformer_weights:
        raise NotUnderstood("a ColumnTransformer with weights")
    out: list[Column] = []
    for name, step, _ in transformer.transformers_:
        picked = [columns[i] for i in transformer._transformer_to_input_indices[name]]
        if picked and not (isinstance(step, str) and step == "drop"):
            out += transformed(step, picked)
    return out


def _function(transformer: Estimator, columns: list[Column]) -> list[Column]:
    if transformer.func is not None:
        raise NotUnderstood("a FunctionTransformer")
    return columns


def _scaler(first: str, first_of: str | None, second: str, second_of: str | None) -> Any:
    """A scaler that applies two operations, each with one amount per column."""

    def apply(scaler: Estimator, columns: list[Column]) -> list[Column]:
        if getattr(scaler, "clip", False):
            raise NotUnderstood("a scaler that clips")
        for op, attribute in ((first, first_of), (second, second_of)):
            amounts = None if attribute is None else getattr(scaler, attribute)
            if op == "sub" and not getattr(scaler, "with_mean", getattr(scaler, "with_centering", True)):
                amounts = None
            if amounts is not None:
                columns = [column.then(op, a) for column, a in zip(columns, amounts, strict=True)]
        return columns

    return apply


def _one_hot_encoder(encoder: Estimator, columns: list[Column]) -> list[Column]:
    _check_groups(encoder)
    dropped = getattr(encoder, "drop_idx_", None)
    out: list[Column] = []
    for i, (column, categories) in enumerate(zip(columns, encoder.categories_, strict=True)):
        hot = one_hot(column, categories, refuses=encoder.handle_unknown == "error")
        drop = None if dropped is None else dropped[i]
        out += [c for j, c in enumerate(hot) if j != drop]
    return out


def one_hot(column: Column, categories: Sequence[Label], *, refuses: bool) -> list[Column]:
    """A column per category; `refuses`: a level that is none of them is an error, else all zeros."""
    codes = _codes(column, categories, refuses=refuses, what="OneHotEncoder")
    return [Levels(column.name, (codes == j).astype(float)) for j in range(len(categories))]


def _ordinal(encoder: Estimator, columns: list[Column]) -> list[Column]:
    _check_groups(encoder)
    out: list[Column] = []
    for column, categories in zip(columns, encoder.categories_, strict=True):
        codes = _codes(column, categories, refuses=encoder.handle_unknown == "error", what="OrdinalEncoder")
        unknown = np.isnan(codes)
        if unknown.any():
            codes = np.where(unknown, np.nan if encoder.unknown_value is None else encoder.unknown_value, codes)
        # A NaN among the categories has a code of its own; a None, as object columns have it, is one like others.
        if any(isinstance(c, float) and c != c for c in categories):
            absent = np.array([is_missing(v) for v in column.values])  # type: ignore[union-attr]
            codes = np.where(absent, float(encoder.encoded_missing_value), codes)
        out.append(Levels(column.name, codes))
    return out


def _imputer(imputer: Estimator, columns: list[Column]) -> list[Column]:
    if not is_missing(imputer.missing_values):
        raise NotUnderstood("a SimpleImputer with a marker of its own")
    if any(is_missing(filled) for filled in imputer.statistics_):
        raise NotUnderstood("a SimpleImputer that drops an empty column")
    marks = _indicator(imputer.indicator_, columns) if imputer.add_indicator else []
    return [*imputed(columns, imputer.statistics_), *marks]


def _indicator(indicator: Estimator, columns: list[Column]) -> list[Column]:
    """A column for each that may be missing: 1 where it is."""
    if not is_missing(indicator.missing_values):
        raise NotUnderstood("a MissingIndicator with a marker of its own")
    out: list[Column] = []
    for column in (columns[i] for i in indicator.features_):
        if isinstance(column, Number):
            if not np.isnan(column.missing):
                raise NotUnderstood(f"a MissingIndicator of {column.name!r}, which is filled in before")
            out.append(Number(column.name, (("mul", 0.0),), 1.0))
        else:
            out.append(Levels(column.name, np.array([is_missing(v) for v in column.values], float)))
    return out


def _target(encoder: Estimator, columns: list[Column]) -> list[Column]:
    """The mean of the label for each category; one column, or one for each of several classes."""
    n_classes = len(encoder.encodings_) // len(columns)
    means = np.atleast_1d(encoder.target_mean_)
    out: list[Column] = []
    for i, (column, categories) in enumerate(zip(columns, encoder.categories_, strict=True)):
        codes = _codes(column, categories, refuses=False, what="TargetEncoder")
        for j in range(n_classes):
            known = np.asarray(encoder.encodings_[i * n_classes + j], np.float64)
            values = known[np.nan_to_num(codes).astype(int)]
            out.append(Levels(column.name, np.where(np.isnan(codes), means[j], values)))
    return out


def imputed(columns: list[Column], fillers: Sequence[Cell]) -> list[Column]:
    """Return the columns with a value of their own for missing ones."""
    out: list[Column] = []
    for column, filled in zip(columns, fillers, strict=True):
        if isinstance(column, Number):
            out.append(replace(column, missing=float(filled) if np.isnan(column.missing) else column.missing))
        else:
            values = column.values.astype(object)
            values[[is_missing(v) for v in values]] = filled
            out.append(Levels(column.name, values))
    return out


def _power(transformer: Estimator, columns: list[Column]) -> list[Column]:
    curves = [Power(exponent, transformer.method) for exponent in transformer.lambdas_]
    columns = [column.then("curve", curve) for column, curve in zip(columns, curves, strict=True)]
    return transformed(transformer._scaler, columns) if transformer.standardize else columns


def _quantiles(transformer: Estimator, columns: list[Column]) -> list[Column]:
    normal = transformer.output_distribution == "normal"
    curves = [Quantiles(own, transformer.references_, normal) for own in transformer.quantiles_.T]
    return [column.then("curve", curve) for column, curve in zip(columns, curves, strict=True)]


def _splines(transformer: Estimator, columns: list[Column]) -> list[Column]:
    if transformer.extrapolation not in ("constant", "linear", "continue"):
        raise NotUnderstood(f"a SplineTransformer with extrapolation={transformer.extrapolation!r}")
    out: list[Column] = []
    for column, spline in zip(columns, transformer.bsplines_, strict=True):
        n = spline.c.shape[1] - (not transformer.include_bias)
        out += [column.then("curve", Polynomials(spline, i, transformer.extrapolation)) for i in range(n)]
    return out


def _bins(transformer: Estimator, columns: list[Column]) -> list[Column]:
    out: list[Column] = []
    for column, edges in zip(columns, transformer.bin_edges_, strict=True):
        codes, inner = np.eye(len(edges) - 1), edges[1:-1]
        values = [np.arange(len(edges) - 1.0)] if transformer.encode == "ordinal" else list(codes)
        out += [column.then("curve", Bins(inner, own)) for own in values]
    return out


_TRANSFORMERS: dict[str, Callable[[Any, list[Column]], list[Column]]] = {
    "Pipeline": _pipeline,
    "ColumnTransformer": _column_transformer,
    "FunctionTransformer": _function,
    "StandardScaler": _scaler("sub", "mean_", "div", "scale_"),
    "RobustScaler": _scaler("sub", "center_", "div", "scale_"),
    "MinMaxScaler": _scaler("mul", "scale_", "add", "min_"),
    "MaxAbsScaler": _scaler("div", "scale_", "div", None),
    "OneHotEncoder": _one_hot_encoder,
    "OrdinalEncoder": _ordinal,
    "SimpleImputer": _imputer,
    "MissingIndicator": _indicator,
    "TargetEncoder": _target,
    "PowerTransformer": _power,
    "QuantileTransformer": _quantiles,
    "SplineTransformer": _splines,
    "KBinsDiscretizer": _bins,
}


def _check_groups(encoder: Estimator) -> None:
    if getattr(encoder, "_infrequent_enabled", False):
        raise NotUnderstood(f"an {type(encoder).__name__} that groups infrequent levels")


def _codes(column: Column, categories: Sequence[Label], *, refuses: bool, what: str) -> np.ndarray:
    """Position of each level among an encoder's categories; NaN where it is not there."""
    if isinstance(column, Number):
        raise NotUnderstood(f"{what} of the number {column.name!r}")
    codes = _positions(column, list(categories))
    unknown = [v for v, code in zip(column.values, codes, strict=True) if np.isnan(code) and not is_missing(v)]
    if refuses and unknown:
        raise NotUnderstood(
            f"an {what} that refuses level {unknown[0]!r} of {column.name!r}, which the schema permits"
        )
    return codes


def relabelled(column: Column, keys: Sequence[Cell], values: Sequence[Cell], otherwise: Cell) -> Column:
    """Return the column with each key's value in its place."""
    codes = _codes(column, keys, refuses=False, what="LabelEncoder")
    out = np.empty(len(codes), object)
    out[:] = [otherwise if np.isnan(code) else values[int(code)] for code in codes]
    return Levels(column.name, out)


def _positions(column: Levels, categories: list[Cell]) -> np.ndarray:
    known = {None if is_missing(c) else c: i for i, c in enumerate(categories)}
    return np.array([known.get(None if is_missing(v) else v, np.nan) for v in column.values], np.float64)


def is_missing(value: object) -> bool:
    """Whether a level stands for a missing value."""
    return value is None or (isinstance(value, float) and value != value)
