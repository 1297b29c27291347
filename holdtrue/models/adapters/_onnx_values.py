"""What a value of an ONNX graph can be: columns, an affine function of layers' units, trees, or a constant."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from holdtrue.models.adapters._columns import Column, NotUnderstood, Number
from holdtrue.models.adapters._grow import Comparison, Sums, Tree
from holdtrue.models.adapters._layers import Activation, Parallel, as_layer
from holdtrue.models.adapters._outputs import Outputs

FLOAT, DOUBLE, TEXT, WHOLE = 1, 11, 8, (2, 3, 4, 5, 6, 7, 12, 13)  # ONNX's numbers for types of elements
Value: TypeAlias = Any
"""What a node gives: columns, a `Dense`, `Trees` or a constant."""
Values: TypeAlias = list[Value]
Attributes: TypeAlias = dict[str, Any]
"""A node's settings by name: numbers, texts, lists of them."""


@dataclass(frozen=True)
class Dense:
    """``weight @ units + bias`` of the units that `layers` give; without layers, of the columns."""

    columns: tuple[Column, ...]
    layers: tuple[Any, ...]
    weight: np.ndarray
    bias: np.ndarray

    def times(self, weight: np.ndarray, bias: np.ndarray | float = 0.0) -> "Dense":
        """Another affine function after this one."""
        if weight.shape[1] != len(self.bias):
            raise NotUnderstood(f"a matrix for {weight.shape[1]} values after {len(self.bias)}")
        return replace(self, weight=weight @ self.weight, bias=weight @ self.bias + bias)

    def then(self, name: str, width: int | None = None, slope: float = 0.01) -> "Dense":
        """A function that is not linear; it gives as many values as it gets, or `width`."""
        n = len(self.bias) if width is None else width
        layers = (*self.layers, (self.weight, self.bias), Activation(name, slope))
        return replace(self, layers=layers, weight=np.eye(n), bias=np.zeros(n))

    @property
    def last(self) -> str | None:
        """Name of the function whose values these are, if nothing was done to them since."""
        same = self.layers and np.array_equal(self.weight, np.eye(len(self.bias))) and not self.bias.any()
        return getattr(self.layers[-1], "name", None) if same else None

    def before(self) -> "Dense":
        """What the last function was applied to."""
        weight, bias = self.layers[-2]
        return replace(self, layers=self.layers[:-2], weight=weight, bias=bias)


@dataclass(frozen=True)
class Trees:
    """An ensemble whose sums are all that is left to do."""

    trees: list[Tree]
    columns: list[Column]
    comparison: Comparison
    sums: Sums
    outputs: Outputs


def dense(value: Value) -> Dense:
    """Columns or layers, as layers."""
    if isinstance(value, Dense):
        return value
    if isinstance(value, list):
        return Dense(tuple(value), (), np.eye(len(value)), np.zeros(len(value)))
    raise NotUnderstood("an operator on trees or on constants alone")


def constant(value: Value, what: str) -> np.ndarray:
    """An array that does not depend on the row."""
    if not isinstance(value, np.ndarray):
        raise NotUnderstood(f"{what} that depends on the row")
    return value


def flat_row(value: np.ndarray) -> np.ndarray:
    """A constant that is the same for all rows, flat."""
    if value.size != (value.shape[-1] if value.ndim else 1):
        raise NotUnderstood(f"a constant of shape {value.shape}")
    return np.ravel(value).astype(np.float64)


def side_by_side(parts: Values) -> Value:
    """Columns or layers of several values as one."""
    if all(isinstance(part, list) for part in parts):
        return [column for part in parts for column in part]
    values = [dense(part) for part in parts]
    first = values[0]
    if any(v.columns != first.columns for v in values):
        # Another choice of columns: side by side, each picks its own.
        columns = tuple({id(c): c for v in values for c in v.columns}.values())
        at = {id(c): i for i, c in enumerate(columns)}
        values = [_over(v, columns, [at[id(c)] for c in v.columns]) for v in values]
    common = 0
    while all(len(v.layers) > common for v in values) and len({id(v.layers[common]) for v in values}) == 1:
        common += 1
    if all(len(v.layers) == common for v in values):
        weight = np.concatenate([v.weight for v in values])
        return replace(values[0], weight=weight, bias=np.concatenate([v.bias for v in values]))
    chains = tuple(tuple(as_layer(p) for p in (*v.layers[common:], (v.weight, v.bias))) for v in values)
    n = sum(len(v.bias) for v in values)
    layers = (*values[0].layers[:common], Parallel(chains))
    return replace(values[0], layers=layers, weight=np.eye(n), bias=np.zeros(n))


def _over(v: Dense, columns: tuple[Column, ...], at: list[int]) -> Dense:
    """The same over more columns."""

    def widened(weight: np.ndarray) -> np.ndarray:
        out = np.zeros((len(weight), len(columns)))
        out[:, at] = weight
        return out

    if not v.layers:
        return replace(v, columns=columns, weight=widened(v.weight))
    if not isinstance(v.layers[0], tuple):
        raise NotUnderstood("branches that read different columns")
    weight, bias = v.layers[0]
    return replace(v, columns=columns, layers=((widened(weight), bias), *v.layers[1:]))


def cast(column: Column, kind: int) -> Column:
    """A column as ONNX's type of elements; raises `NotUnderstood` where that would change it."""
    if isinstance(column, Number) and kind == TEXT:
        raise NotUnderstood(f"the number {column.name!r} as a text")
    if kind == FLOAT:
        return column.then("single")
    if kind in WHOLE and isinstance(column, Number) and column.ops:
        raise NotUnderstood(f"whole numbers of {column.name!r}")
    return column
