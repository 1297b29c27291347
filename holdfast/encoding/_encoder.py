"""Table to float array and back, without loss."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from holdfast.encoding._layout import Layout, make_layout
from holdfast.errors import DataError, SchemaError
from holdfast.schema import MISSING_LEVEL, Feature, Schema, Table, plain

Scaling = Literal["minmax", "standard", "standard-all"]
SCALINGS: tuple[Scaling, ...] = ("minmax", "standard", "standard-all")


@dataclass(frozen=True)
class Encoder:
    """A resolved schema with the numbers learned from a training table.

    ``raw = encoded * scale + offset`` in every column, where the raw value of a level is its position
    (ordinal, binary) or 0/1 (one-hot). Arrays are float64, so that whole numbers and round fractions come
    back exactly; a search may run in float32 and is checked here afterwards.

    Attributes
    ----------
    schema : Schema
        With bounds and levels filled in.
    scaling : {"minmax", "standard", "standard-all"}
        ``minmax`` maps the training range to [0, 1]; ``standard`` gives numbers mean 0 and variance 1;
        ``standard-all`` does so for the one-hot columns too.
    scale, offset : array of shape (d,)
    spread : array of shape (d,)
        Median absolute deviation of each encoded number column (see `distance`).
    filled : dict
        Raw value that stands in for a missing one.
    """

    schema: Schema
    scaling: Scaling
    layout: Layout
    scale: np.ndarray
    offset: np.ndarray
    spread: np.ndarray
    filled: dict[str, float]

    @classmethod
    def fit(
        cls, schema: Schema, data: Any, scaling: Scaling = "minmax", weight: np.ndarray | None = None
    ) -> "Encoder":
        """Resolve the schema and learn the scaling from a table."""
        if scaling not in SCALINGS:
            raise SchemaError(f"Encoder: `scaling` is not known; got {scaling!r}. Known are {SCALINGS!r}.")
        table = schema.check(data, unseen_levels_ok=True)
        schema = schema.resolve(table)
        layout = make_layout(schema)
        filled = {s.name: _fill_value(schema[s.name], table) for s in layout.indicators}
        width = layout.n_columns
        plain_encoder = cls(schema, scaling, layout, np.ones(width), np.zeros(width), np.ones(width), filled)
        raw = plain_encoder.encode(table)
        scale, offset = _scaling(plain_encoder, raw, weight)
        encoded = (raw - offset) / scale
        return cls(schema, scaling, layout, scale, offset, _spread(encoded, len(layout.numbers)), filled)

    @property
    def n_columns(self) -> int:
        """Width of the encoded row."""
        return self.layout.n_columns

    def encode(self, data: Any) -> np.ndarray:
        """Float array of shape (n, d); says which column cannot be read."""
        table = self.schema.check(data)
        out = np.zeros((table.n_rows, self.layout.n_columns))
        for slot in self.layout.numbers:
            feature = self.schema[slot.name]
            values = table.columns[slot.name]
            absent = table.missing(slot.name)
            if feature.has_levels:
                column = level_codes(feature, values, absent).astype(np.float64)
            else:
                column = values.astype(np.float64)
            if absent.any():
                column = np.where(absent, self.filled[slot.name], column)
            out[:, slot.start] = column
        for slot in self.layout.groups:
            codes = level_codes(self.schema[slot.name], table.columns[slot.name], table.missing(slot.name))
            out[np.arange(table.n_rows), slot.start + codes] = 1.0
        for slot in self.layout.indicators:
            out[:, slot.start] = table.missing(slot.name)
        return (out - self.offset) / self.scale

    def decode(self, encoded: np.ndarray, factual: Table | None = None) -> dict[str, np.ndarray]:
        """Columns in the user's own values.

        With `factual`, a feature whose encoded value did not change keeps the person's own value to the
        last digit.
        """
        encoded = np.asarray(encoded, np.float64)
        if encoded.ndim != 2 or encoded.shape[1] != self.n_columns:
            raise DataError(
                f"Encoder: expected an array of shape (n, {self.n_columns}); got {encoded.shape}."
            )
        raw = encoded * self.scale + self.offset
        absent = {s.name: raw[:, s.start] > 0.5 for s in self.layout.indicators}
        out: dict[str, np.ndarray] = {}
        for slot in self.layout.numbers:
            feature = self.schema[slot.name]
            if feature.has_levels:
                codes = np.clip(np.rint(raw[:, slot.start]), 0, len(feature.levels or ()) - 1).astype(int)
                values = _levels(feature, codes)
            else:
                values = _number(feature, raw[:, slot.start])
                values = self._same_code(values, encoded[:, slot.start], slot.start)
            out[slot.name] = _blank(values, absent[slot.name]) if slot.name in absent else values
        for slot in self.layout.groups:
            codes = raw[:, slot.start : slot.stop].argmax(axis=1)
            out[slot.name] = _levels(self.schema[slot.name], codes)
        out = {name: out[name] for name in self.schema.names}
        if factual is not None:
            self._keep_unchanged(out, encoded, factual)
        return out

    def _same_code(self, values: np.ndarray, code: np.ndarray, column: int) -> np.ndarray:
        """Move by at most a few units in the last place, so that encoding again gives the same code."""
        best = values
        for k in (1, -1, 2, -2, 3, -3):
            off = (best - self.offset[column]) / self.scale[column] != code
            if not off.any():
                break
            near = values + k * np.spacing(values)
            fits = (near - self.offset[column]) / self.scale[column] == code
            best = np.where(off & fits, near, best)
        return best

    def _keep_unchanged(self, out: dict[str, np.ndarray], encoded: np.ndarray, factual: Table) -> None:
        # A search runs in float32: "unchanged" means equal at that precision.
        before = self.encode(factual).astype(np.float32)
        same = before == encoded.astype(np.float32)
        for slot in self.layout.slots:
            keep = same[:, slot.start : slot.stop].all(axis=1)
            if keep.any():
                out[slot.name] = _where(keep, factual.columns[slot.name], out[slot.name])

    # ---- files --------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the arrays, in plain types."""
        return {
            "schema": self.schema.to_dict(),
            "scaling": self.scaling,
            "filled": {name: float(value) for name, value in self.filled.items()},
        }

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Encoder":
        """Rebuild from `to_dict` and the arrays ``scale``, ``offset`` and ``spread``."""
        schema = Schema.from_dict(raw["schema"])
        layout = make_layout(schema)
        parts = [np.asarray(arrays[name], np.float64) for name in ("scale", "offset", "spread")]
        if any(p.shape != (layout.n_columns,) for p in parts):
            raise DataError("Encoder: the arrays do not fit the schema. The file is damaged.")
        return cls(schema, raw["scaling"], layout, *parts, dict(raw["filled"]))


def level_codes(feature: Feature, values: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """Position of each value among the feature's levels; missing values get the missing level, or 0."""
    levels = feature.levels or ()
    index = {level: i for i, level in enumerate(levels)}
    blank = index.get(MISSING_LEVEL, 0)
    if values.dtype == object:
        return np.fromiter((index.get(v, blank) for v in values), int, len(values))
    distinct, inverse = np.unique(values, return_inverse=True)
    codes = np.array([index.get(plain(v), blank) for v in distinct], int)
    return np.where(absent, blank, codes[inverse]) if len(values) else np.zeros(0, int)


def _levels(feature: Feature, codes: np.ndarray) -> np.ndarray:
    levels = np.empty(len(feature.levels or ()), object)
    levels[:] = [None if level == MISSING_LEVEL else level for level in feature.levels or ()]
    return levels[codes]


def _number(feature: Feature, raw: np.ndarray) -> np.ndarray:
    """Values next to a grid point become that grid point; a value off the grid was so from the start."""
    step = feature.grid
    if step is None:
        return raw
    near = np.round(np.rint(raw / step) * step, 10)
    tolerance = 1e-3 * step + 1e-6 * np.abs(raw)  # float32 carries six to seven digits
    return np.where(np.abs(near - raw) <= tolerance, near, raw)


def _blank(values: np.ndarray, absent: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return _where(absent, np.full(len(values), None, object), values)
    return np.where(absent, np.nan, values)


def _where(mask: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype != object and b.dtype != object:
        return np.where(mask, a, b)
    out = b.astype(object)
    out[mask] = a[mask].tolist()
    return out


def _fill_value(feature: Feature, table: Table) -> float:
    absent = table.missing(feature.name)
    present = table.columns[feature.name][~absent]
    if feature.has_levels:
        codes = level_codes(feature, present, np.zeros(len(present), bool))
        if feature.missing == "most_frequent":
            return float(np.bincount(codes).argmax())
        return float((feature.levels or ()).index(feature.missing))  # type: ignore[arg-type]
    present = present.astype(np.float64)
    if feature.missing == "median":
        value = float(np.median(present))
    else:
        value = float(present.mean()) if feature.missing == "mean" else float(feature.missing)  # type: ignore
    # A filled-in value obeys the grid, so that it survives decoding.
    return value if feature.grid is None else round(round(value / feature.grid) * feature.grid, 10)


def _scaling(encoder: Encoder, raw: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    scale, offset = np.ones(encoder.n_columns), np.zeros(encoder.n_columns)
    layout = encoder.layout
    columns = list(range(len(layout.numbers)))
    if encoder.scaling == "standard-all":
        columns += [c for g in layout.groups for c in range(g.start, g.stop)]
    for column in columns:
        values = raw[:, column]
        if encoder.scaling == "minmax":
            feature = encoder.schema[layout.numbers[column].name]
            # The scale of levels is their number; of numbers, the range seen, or failing that the bounds.
            low, high = (
                (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else _range(values, feature)
            )
            scale[column], offset[column] = high - low, low
        else:
            mean = np.average(values, weights=weight)
            deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
            scale[column], offset[column] = deviation if deviation > 0 else 1.0, mean
    return scale, offset


def _range(values: np.ndarray, feature: Feature) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if low == high and feature.bounds is not None:
        low, high = feature.bounds
    return (low, high) if low < high else (low, low + 1.0)


def _spread(encoded: np.ndarray, n_numbers: int) -> np.ndarray:
    """Median absolute deviation of number columns; where it is 0, the mean one; one-hot columns 2.

    Half a unit per one-hot column makes a changed category count 1, like a change of one spread.
    """
    spread = np.full(encoded.shape[1], 2.0)
    numbers = encoded[:, :n_numbers]
    from_median = np.abs(numbers - np.median(numbers, axis=0))
    mad, mean = np.median(from_median, axis=0), from_median.mean(axis=0)
    spread[:n_numbers] = np.where(mad > 0, mad, np.where(mean > 0, mean, 1.0))
    return spread
