"""Models made elsewhere as a chain of layers, their preprocessing folded into the first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.encoding import Encoder
from holdtrue.models._base import AbstractModel
from holdtrue.models._linear import LinearModel
from holdtrue.models._mlp import KINKED
from holdtrue.models.adapters._columns import Column, Levels, NotUnderstood, Number
from holdtrue.models.adapters._curves import Bins

Head = Literal["logits", "binary", "one_vs_rest"]
TINY = 1e-12  # a probability of 0 has no logarithm
ON_LEVEL = 1e-3  # how near a position counts as being on its level


class Steps(eqx.Module):
    """A value per level of an ordinal feature, straight lines between.

    On a level the slope is that towards both neighbours, so that a gradient search sees either side.
    """

    table: Float[Array, "o l"]
    scale: Float[Array, ""]
    offset: Float[Array, ""]
    column: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        """Values at one encoded row."""
        last = self.table.shape[1] - 1
        at = x[self.column] * self.scale + self.offset
        place = jax.lax.stop_gradient(jnp.clip(jnp.round(at), 0, last))
        near = place.astype(jnp.int32)
        below, above = jnp.maximum(near - 1, 0), jnp.minimum(near + 1, last)
        slope = (self.table[:, above] - self.table[:, below]) / (above - below).astype(at.dtype)
        on_level = self.table[:, near] + slope * (at - jax.lax.stop_gradient(at))
        start = jax.lax.stop_gradient(jnp.clip(jnp.floor(at), 0, last - 1))
        left = start.astype(jnp.int32)
        between = self.table[:, left] + (at - start) * (self.table[:, left + 1] - self.table[:, left])
        return jnp.where(jnp.abs(at - place) < ON_LEVEL, on_level, between)


class Bent(eqx.Module):
    """A curve of one number, weighted: ``weight * (slope * curve(scale * x + offset))``."""

    weight: Float[Array, " o"]
    curve: Any
    scale: Float[Array, ""]
    offset: Float[Array, ""]
    slope: Float[Array, ""]
    column: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        """Values at one encoded row."""
        return self.weight * (self.slope * self.curve(x[self.column] * self.scale + self.offset))


class Affine(eqx.Module):
    """``weight @ x + bias``, steps for ordinal features whose values lie on no line, and curves of numbers."""

    weight: Float[Array, "o d"]
    bias: Float[Array, " o"]
    steps: tuple[Steps | Bent, ...] = ()

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, " o"]:
        """Values at one row."""
        out = self.weight @ x + self.bias
        for part in self.steps:
            out = out + part(x)
        return out


def _halves(x: Float[Array, " o"]) -> tuple[Float[Array, " h"], Float[Array, " h"]]:
    return x[: len(x) // 2], x[len(x) // 2 :]


_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "logistic": jax.nn.sigmoid,
    "exp": jnp.exp,
    "abs": jnp.abs,
    "log": lambda x: jnp.log(jnp.maximum(x, TINY)),
    "softmax": jax.nn.softmax,
    "l1": lambda x: x / jnp.maximum(jnp.sum(jnp.abs(x)), TINY),
    "l2": lambda x: x / jnp.sqrt(jnp.maximum(jnp.sum(x * x), TINY)),
    "product": lambda x: _halves(x)[0] * _halves(x)[1],
    "quotient": lambda x: _halves(x)[0] / _halves(x)[1],
}


class Activation(eqx.Module):
    """One non-linear function of every unit, or of them all; product and quotient take the halves."""

    name: str = eqx.field(static=True)
    slope: float = eqx.field(static=True, default=0.01)

    def __call__(self, x: Float[Array, " o"]) -> Float[Array, " o"]:
        """Values at one row."""
        if self.name == "leaky_relu":
            return jax.nn.leaky_relu(x, self.slope)
        return _FUNCTIONS[self.name](x)


class Parallel(eqx.Module):
    """Several chains of layers over the same units, their outputs side by side; an empty chain is the units."""

    chains: tuple[tuple[Any, ...], ...]

    def __call__(self, x: Float[Array, " i"]) -> Float[Array, " o"]:
        """Values at one row."""
        parts = []
        for layers in self.chains:
            part = x
            for layer in layers:
                part = layer(part)
            parts.append(part)
        return jnp.concatenate(parts)


class LayersModel(AbstractModel):
    """Layers in a row, differentiable throughout.

    `head` says what the last gives: a logit per class; ``binary``: the log-odds of the second class;
    ``one_vs_rest``: log-odds of each class against all others, whose probabilities are then scaled to sum 1.
    """

    layers: tuple[Any, ...]
    head: Head = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """A gradient; and layers of straight pieces, where all of them are such."""
        straight = self.head != "one_vs_rest" and all(
            not layer.steps if isinstance(layer, Affine) else getattr(layer, "name", "") in KINKED
            for layer in self.layers
        )
        return frozenset({"differentiable"} | ({"layers"} if straight else set()))

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.k

    @property
    def first(self) -> tuple[Float[Array, "h d"], Float[Array, " h"]] | None:
        """Weight and bias of the first layer, unless it has steps."""
        return None if self.layers[0].steps else (self.layers[0].weight, self.layers[0].bias)

    def rest(self, hidden: Float[Array, " h"]) -> Float[Array, " k"]:
        """Logits from what the first layer gave."""
        for layer in self.layers[1:]:
            hidden = layer(hidden)
        if self.head == "binary":
            return jnp.stack([jnp.zeros_like(hidden[0]), hidden[0]])
        return jax.nn.log_sigmoid(hidden) if self.head == "one_vs_rest" else hidden

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        return self.rest(self.layers[0](x))


class Front:
    """Preprocessing as a matrix on the encoded row, in double precision until it is folded into a layer."""

    def __init__(self, columns: list[Column], encoder: Encoder) -> None:
        self.encoder = encoder
        self.matrix = np.zeros((len(columns), encoder.n_columns))
        self.bias = np.zeros(len(columns))
        self.tables: dict[str, np.ndarray] = {}
        self.bent: dict[int, Bent] = {}
        self.indicators = {slot.name: slot.start for slot in encoder.layout.indicators}
        self.groups = {slot.name for slot in encoder.layout.groups}
        for row, column in enumerate(columns):
            if isinstance(column, Number):
                self._number(row, column)
            elif column.name in self.groups:
                self._group(row, column)
            else:
                self._ordinal(row, column)
        if not (np.isfinite(self.matrix).all() and np.isfinite(self.bias).all()):
            raise NotUnderstood("missing values that reach a model without a way to read them")

    def fold(self, weight: np.ndarray, bias: np.ndarray) -> Affine:
        """Return the preprocessing followed by ``weight @ z + bias``, as one layer."""
        parts: list[Steps | Bent] = [replace(b, weight=single(weight[:, row])) for row, b in self.bent.items()]
        for name, table in self.tables.items():
            at = self.encoder.layout.slot(name).start
            scale, offset = self.encoder.scale[at], self.encoder.offset[at]
            parts.append(Steps(single(weight @ table), single(scale), single(offset), at))
        return Affine(single(weight @ self.matrix), single(weight @ self.bias + bias), tuple(parts))

    def _bent(self, row: int, column: Number) -> Bent:
        """The curve without weights, and what a later step takes away in double precision."""
        assert column.curve is not None
        before, curve, after = column.curve
        at = self.encoder.layout.slot(column.name).start
        scale, offset = self.encoder.scale[at], self.encoder.offset[at]
        start = float(before.value(np.zeros(()))) + before.slope * offset
        layer, left = curve.layer_for(start, -float(after.value(np.zeros(()))) / after.slope)
        self.bias[row] -= after.slope * left
        return Bent(
            single(np.ones(1)), layer, single(before.slope * scale), single(start), single(after.slope), at
        )

    def _number(self, row: int, column: Number) -> None:
        if column.curve is not None:
            if isinstance(column.curve[1], Bins):
                raise NotUnderstood("bins beside numbers that are not binned")
            self.bent[row] = self._bent(row, column)
            self._when_missing(row, column.name, column.missing, lambda raw: float(column.value(np.asarray(raw))))
            return
        slope = column.slope
        self._line(row, column.name, slope, float(column.value(np.zeros(()))), column.missing)

    def _group(self, row: int, column: Levels) -> None:
        slot = self.encoder.layout.slot(column.name)
        for at, value in zip(range(slot.start, slot.stop), column.numbers(), strict=True):
            self.matrix[row, at] += value * self.encoder.scale[at]
            self.bias[row] += value * self.encoder.offset[at]

    def _ordinal(self, row: int, column: Levels) -> None:
        values = column.numbers()
        missing, values = values[-1], values[:-1]
        slope = values[1] - values[0]
        line = values[0] + slope * np.arange(len(values))
        if np.allclose(values, line, rtol=0, atol=1e-12 * np.abs(values).max()):
            self._line(row, column.name, slope, values[0], missing)
            return
        if not np.isfinite(values).all():
            raise NotUnderstood("missing values that reach a model without a way to read them")
        table = self.tables.setdefault(column.name, np.zeros((len(self.bias), len(values))))
        table[row] = values
        self._when_missing(row, column.name, missing, lambda raw: float(values[int(raw)]))

    def _line(self, row: int, name: str, slope: float, at_zero: float, missing: float) -> None:
        at = self.encoder.layout.slot(name).start
        self.matrix[row, at] += slope * self.encoder.scale[at]
        self.bias[row] += slope * self.encoder.offset[at] + at_zero
        self._when_missing(row, name, missing, lambda raw: slope * raw + at_zero)

    def _when_missing(self, row: int, name: str, missing: float, value: Any) -> None:
        # A missing number is encoded as the value that fills it, which a search leaves alone: the indicator
        # makes up the difference to what the model's own preprocessing puts there.
        if name in self.indicators:
            self.matrix[row, self.indicators[name]] += missing - value(self.encoder.filled[name])


def chain(front: Front, layers: list[Any], head: Head, n_classes: int) -> AbstractModel:
    """Make a model of ``(weight, bias)`` pairs and activations; a linear model where it is one."""
    if not layers or not isinstance(layers[0], tuple):
        n = len(front.bias)
        layers = [(np.eye(n), np.zeros(n)), *layers]
    first = front.fold(*layers[0])
    rest = [as_layer(p) for p in layers[1:]]
    n_outputs = [len(p[1]) for p in layers if isinstance(p, tuple)][-1]
    if n_outputs != (1 if head == "binary" else n_classes):
        raise NotUnderstood(f"{n_outputs} outputs for {n_classes} classes")
    if not rest and not first.steps and head != "one_vs_rest":
        if head == "logits":
            return LinearModel(first.weight, first.bias)
        weight, bias = np.asarray(first.weight), np.asarray(first.bias)
        zero = np.zeros_like(weight)
        return LinearModel(single(np.concatenate([zero, weight])), single(np.concatenate([zero[:, 0], bias])))
    return LayersModel((first, *rest), head, n_classes)


def as_layer(part: Any) -> Any:
    """A ``(weight, bias)`` pair as a layer; a layer as it is."""
    return Affine(single(part[0]), single(part[1])) if isinstance(part, tuple) else part


def single(values: Any) -> Array:
    """An array in float32."""
    # Rounded on the host: no program need be compiled for it.
    return jax.device_put(np.asarray(values, np.float32))
