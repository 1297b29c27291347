"""Table to float array and back, without loss."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from holdtrue._types import Json, JsonObject
from holdtrue.encoding._layout import Layout, make_layout
from holdtrue.encoding._tails import Tails, read_tails
from holdtrue.errors import DataError, SchemaError
from holdtrue.schema import MISSING_LEVEL, Feature, Schema, Table, TableLike, plain

Scaling = Literal["minmax", "standard", "standard-all"]
SCALINGS: tuple[Scaling, ...] = ("minmax", "standard", "standard-all")
LEAST_SCALE = 1e-290  # a smaller one makes encoded values overflow
FEW_ROWS = 1000  # up to here, pandas and `np.unique` take longer to begin than a lookup of each


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
    tails : Tails, optional
        What columns of ``cost="percentile"`` are measured by.
    """

    schema: Schema
    scaling: Scaling
    layout: Layout
    scale: np.ndarray
    offset: np.ndarray
    spread: np.ndarray
    filled: dict[str, float]
    tails: Tails | None = None

    @classmethod
    def fit(
        cls, schema: Schema, data: TableLike, scaling: Scaling = "minmax", weight: np.ndarray | None = None
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
        raw = plain_encoder._encode(schema.check(table))
        with np.errstate(over="ignore", invalid="ignore"):
            scale, offset = _scaling(plain_encoder, raw, weight)
        for c in np.flatnonzero(~(np.isfinite(scale) & np.isfinite(offset) & (scale > LEAST_SCALE))):
            name = layout.column_names(schema)[c]
            raise DataError(
                f"Encoder: the range of column {name!r} is beyond floating point; got a scale of {scale[c]:g}. "
                "Use other units."
            )
        encoded = (raw - offset) / scale
        # One level up or down is the least that a level can change.
        levels = np.array([schema[s.name].has_levels for s in layout.numbers], bool)
        least = np.where(levels, 1.0 / scale[: len(levels)], 0.0)
        known = {s.start: encoded[~table.missing(s.name), s.start] for s in layout.numbers}
        tails = Tails.of(schema, layout, known, scaling != "minmax")
        measured = encoded if tails is None else tails.rise(encoded)
        encoder = cls(schema, scaling, layout, scale, offset, _spread(measured, least), filled, tails)
        # Whoever fits an encoder encodes the same table next.
        encoded.flags.writeable = False
        table.remember_rows("encoded", encoder, schema.names, lambda: encoded)
        return encoder

    @property
    def n_columns(self) -> int:
        """Width of the encoded row."""
        return self.layout.n_columns

    def encode(self, data: TableLike) -> np.ndarray:
        """Float array of shape (n, d), not to be written to; says which column cannot be read."""
        table = self.schema.check(data)
        return table.remember_rows("encoded", self, self.schema.names, lambda: self._encode(table))

    def _encode(self, table: Table) -> np.ndarray:
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
        out = (out - self.offset) / self.scale
        out.flags.writeable = False
        return out

    def decode(self, encoded: np.ndarray, factual: Table | None = None) -> dict[str, np.ndarray]:
        """Columns in the user's own values.

        A float64 array is taken at its word: decoding what `encode` gave returns the table, and encoding
        that again the same array. A float32 array comes from a search, and has float32's rounding errors.
        With `factual`, a feature whose encoded value did not change keeps the person's own value to the
        last digit.
        """
        encoded = np.asarray(encoded)
        single = encoded.dtype == np.float32
        encoded = encoded.astype(np.float64)
        if encoded.ndim != 2 or encoded.shape[1] != self.n_columns:
            raise DataError(
                f"Encoder: must be an array of shape (n, {self.n_columns}); got {encoded.shape}. Encode with this "
                "encoder."
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
                values = self._number(feature, raw[:, slot.start], encoded[:, slot.start], slot.start, single)
            out[slot.name] = _blank(values, absent[slot.name]) if slot.name in absent else values
        for slot in self.layout.groups:
            codes = raw[:, slot.start : slot.stop].argmax(axis=1)
            out[slot.name] = _levels(self.schema[slot.name], codes)
        out = {name: out[name] for name in self.schema.names}
        if factual is not None:
            self._keep_unchanged(out, encoded, factual)
        return out

    def _number(
        self, feature: Feature, raw: np.ndarray, code: np.ndarray, column: int, single: bool
    ) -> np.ndarray:
        """The number that an encoded one stands for.

        Next to a grid point it is that grid point; a value off the grid was so from the start. How near is
        a question of the precision the code carries.
        """
        scale, offset = self.scale[column], self.offset[column]
        moved = np.abs(code * scale)
        size = np.maximum(np.maximum(np.abs(raw), abs(offset)), moved)
        values = raw
        if feature.grid is not None:
            start = abs(feature.bounds[0] - offset) if feature.bounds is not None else 0.0
            # float32 carries seven digits, and `Feasible` counts steps from the lower bound.
            tolerance = 1e-6 * np.maximum(moved, max(scale, start)) if single else 4 * np.spacing(size)
            near = to_grid(raw, feature.grid)
            values = np.where(np.abs(near - raw) <= tolerance, near, raw)
            values = np.rint(values) if feature.kind == "integer" else values
        return values if single else self._same_code(values, size, code, column)

    def _same_code(self, values: np.ndarray, size: np.ndarray, code: np.ndarray, column: int) -> np.ndarray:
        """Move by at most a few units in the last place, so that encoding again gives the same code."""
        best = values
        for k in (1, -1, 2, -2, 3, -3, 4, -4):
            off = (best - self.offset[column]) / self.scale[column] != code
            if not off.any():
                break
            for unit in (np.spacing(np.abs(values)), np.spacing(size)):
                near = values + k * unit
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

    def to_dict(self) -> JsonObject:
        """Return everything but the arrays, in plain types."""
        return {
            "schema": self.schema.to_dict(),
            "scaling": self.scaling,
            "filled": {name: float(value) for name, value in self.filled.items()},
        }

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays that `from_dict` takes, by name."""
        out = {"scale": self.scale, "offset": self.offset, "spread": self.spread}
        if self.tails is not None:
            out |= {"knots": np.asarray(self.tails.knots), "heights": np.asarray(self.tails.heights)}
        return out

    @classmethod
    def from_dict(cls, raw: Mapping[str, Json], arrays: Mapping[str, np.ndarray]) -> "Encoder":
        """Rebuild from `to_dict` and the `arrays`."""
        try:
            schema = Schema.from_dict(raw["schema"])
            layout = make_layout(schema)
            parts = [np.asarray(arrays[name], np.float64) for name in ("scale", "offset", "spread")]
            filled = {str(name): float(value) for name, value in raw["filled"].items()}
            scaling, tails = raw["scaling"], read_tails(schema, layout, arrays)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"Encoder: the file is damaged; got {type(error).__name__}: {error}. Save it again."
            ) from error
        fits = all(p.shape == (layout.n_columns,) and np.isfinite(p).all() for p in parts) and (parts[0] > 0).all()
        if not fits or scaling not in SCALINGS or set(filled) != {s.name for s in layout.indicators}:
            raise DataError("Encoder: the arrays do not fit the schema; got a damaged file. Save it again.")
        scale, offset, spread = parts
        return cls(schema, scaling, layout, scale, offset, spread, filled, tails)


def level_codes(feature: Feature, values: np.ndarray, absent: np.ndarray) -> np.ndarray:
    """Position of each value among the feature's levels; missing values get the missing level, or 0."""
    levels = feature.levels or ()
    index = {level: i for i, level in enumerate(levels)}
    blank = index.get(MISSING_LEVEL, 0)
    if len(values) <= FEW_ROWS:
        return np.array([index.get(value, blank) for value in values.tolist()], int)
    if values.dtype == object:
        codes = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(values, dtype=object))
        return np.where(codes < 0, blank, codes)
    distinct, inverse = np.unique(values, return_inverse=True)
    codes = np.array([index.get(plain(v), blank) for v in distinct], int)
    return np.where(absent, blank, codes[inverse]) if len(values) else np.zeros(0, int)


def _levels(feature: Feature, codes: np.ndarray) -> np.ndarray:
    levels = np.empty(len(feature.levels or ()), object)
    levels[:] = [None if level == MISSING_LEVEL else level for level in feature.levels or ()]
    return levels[codes]


def to_grid(values: np.ndarray, step: float) -> np.ndarray:
    """Nearest multiples of a step, as the floats people write: 0.3, not 3 * 0.1."""
    return multiples(np.rint(values / step), step)


def multiples(counts: np.ndarray, step: float) -> np.ndarray:
    """Whole multiples of a step, as the floats people write."""
    near = counts * step
    for decimals in range(13):
        if round(step, decimals) == step:
            # Rounding multiplies by a power of ten, which must stay exact.
            exact = np.abs(near) < 2.0**53 / 10.0**decimals
            return np.where(exact, np.round(np.where(exact, near, 0.0), decimals), near)
    return near


def _blank(values: np.ndarray, absent: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        return _where(absent, np.full(len(values), None, object), values)
    return np.where(absent, np.nan, values)


def _where(mask: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype != object and b.dtype != object:
        return np.where(mask, a, b)
    out = b.astype(object)
    out[mask] = [None if v != v else v for v in a[mask].tolist()]  # in an object column, missing is None
    return out


def _fill_value(feature: Feature, table: Table) -> float:
    absent = table.missing(feature.name)
    present = table.columns[feature.name][~absent]
    if feature.has_levels:
        codes = level_codes(feature, present, np.zeros(len(present), bool))
        if feature.missing == "most_frequent":
            return float(np.bincount(codes).argmax())
        return float((feature.levels or ()).index(feature.missing))
    present = present.astype(np.float64)
    if feature.missing == "median":
        value = float(np.median(present))
    else:
        value = float(present.mean()) if feature.missing == "mean" else float(feature.missing)  # type: ignore
    # A filled-in value obeys the grid, so that it survives decoding.
    return value if feature.grid is None else float(to_grid(np.asarray(value), feature.grid))


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
            low, high = (0.0, len(feature.levels or ()) - 1.0) if feature.has_levels else _range(values, feature)
            scale[column], offset[column] = high - low, low
        else:
            # A constant column has a deviation of rounding noise, which must not become its unit.
            constant = values.min() == values.max()
            mean = values[0] if constant else np.average(values, weights=weight)
            deviation = 1.0 if constant else float(np.sqrt(np.average((values - mean) ** 2, weights=weight)))
            scale[column], offset[column] = deviation if deviation > 0 else 1.0, mean
    return scale, offset


def _range(values: np.ndarray, feature: Feature) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if low == high and feature.bounds is not None:
        low, high = feature.bounds
    return (low, high) if low < high else (low, low + 1.0)


def _spread(encoded: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Median absolute deviation of number columns, at least `least`; where both are 0, the mean one.

    One-hot columns have 2: half a unit each makes a changed category count 1, like a change of one spread. So
    does a changed level of a binary feature, however rare the level.
    """
    spread = np.full(encoded.shape[1], 2.0)
    n_numbers = len(least)
    numbers = encoded[:, :n_numbers]
    from_median = np.abs(numbers - np.median(numbers, axis=0))
    mad, mean = np.maximum(np.median(from_median, axis=0), least), from_median.mean(axis=0)
    spread[:n_numbers] = np.where(mad > 0, mad, np.where(mean > 0, mean, 1.0))
    return spread
