"""Costs by percentile: what a change of a number passes by, rather than how far it goes."""

from collections.abc import Mapping
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from holdtrue.encoding._layout import Layout
from holdtrue.errors import DataError
from holdtrue.schema import Schema

Values = TypeVar("Values", Array, np.ndarray)

# Where heights are exact; between two of them they are straight lines.
SHARES = np.concatenate([[0.0, 0.01], np.arange(1, 40) / 40, [0.99, 1.0]])
N_KNOTS = 64
MANY = 0.02  # of rows: who has a value that so many have is told from those next to it
NEAR = 0.02  # of the usual range: how far to each side a slope is measured
STANDARD = float(np.sqrt(12.0))  # a percentile has the deviation 1 / sqrt(12), a standardised column 1


class Tails(eqx.Module):
    """The height of numbers among people: a growing map, by straight lines between quantiles of training rows.

    A column whose feature has ``cost="percentile"`` is measured by the difference of two heights; every other by
    its encoded values. From one quantile to the next the height rises by the share of rows that are passed (of
    those at a value, half), and no slower than 1 from the 1st to the 99th percentile: where hardly anybody is, far
    is still far. Arrays are numpy's in an encoder, and jax's in a search.

    Attributes
    ----------
    knots, heights : of shape (columns, knots): encoded values, and what they are measured as.
    columns : places of the columns in an encoded row.
    """

    knots: Float[Array | np.ndarray, "m k"]
    heights: Float[Array | np.ndarray, "m k"]
    columns: tuple[int, ...] = eqx.field(static=True)

    @staticmethod
    def of(schema: Schema, layout: Layout, known: Mapping[int, np.ndarray], standard: bool) -> "Tails | None":
        """Learn from the encoded values of each such column that are not missing; None where there is none."""
        columns = columns_of(schema, layout)
        if not columns:
            return None
        knots, heights = (np.zeros((len(columns), N_KNOTS)) for _ in range(2))
        for i, column in enumerate(columns):
            values = np.sort(known[column])
            at = _knots(values)
            below, upto = np.searchsorted(values, at, "left"), np.searchsorted(values, at, "right")
            usual = _usual(values)
            risen = np.maximum(np.diff(below + upto) / (2 * len(values)), np.diff(at) / usual)
            # Filled up with points beyond the last, a usual range and a height of 1 apart: the pace out there.
            more = np.arange(1, N_KNOTS - len(at) + 1)
            knots[i] = np.concatenate([at, at[-1] + usual * more])
            first = (below[0] + upto[0]) / (2 * len(values))
            height = first + np.concatenate([[0.0], np.cumsum(risen)])
            heights[i] = np.concatenate([height, height[-1] + more])
        return Tails(knots, heights * (STANDARD if standard else 1.0), columns)

    def single(self) -> "Tails":
        """The same for a search, in single precision."""
        knots, heights = (jax.device_put(np.asarray(part, np.float32)) for part in (self.knots, self.heights))
        return Tails(knots, heights, self.columns)

    def one(self, i: int, values: Values) -> Values:
        """Heights of encoded values of one column, by its place among these."""
        if isinstance(values, np.ndarray):
            knots, heights = (np.asarray(part[i], np.float64) for part in (self.knots, self.heights))
            widths = knots[1:] - knots[:-1]
            slopes = (heights[1:] - heights[:-1]) / widths
            inside = np.clip(values[..., None] - knots[:-1], 0.0, widths) @ slopes
            outside = np.minimum(values - knots[0], 0.0) + np.maximum(values - knots[-1], 0.0)
            return np.asarray(heights[0] + inside + outside * slopes[-1])
        knots, heights = jnp.asarray(self.knots[i]), jnp.asarray(self.heights[i])
        widths = knots[1:] - knots[:-1]
        slopes = (heights[1:] - heights[:-1]) / widths
        beyond = jnp.expand_dims(values, -1) - jnp.broadcast_to(knots[:-1], (*values.shape, len(widths)))
        inside = jnp.clip(beyond, 0.0, jnp.broadcast_to(widths, beyond.shape)) @ slopes
        outside = jnp.minimum(values - knots[0], 0.0) + jnp.maximum(values - knots[-1], 0.0)
        return heights[0] + inside + outside * slopes[-1]

    def rise(self, x: Values) -> Values:
        """Encoded rows with the heights of these columns in place of their values."""
        if isinstance(x, np.ndarray):
            out = np.array(x, np.float64)
            for i, column in enumerate(self.columns):
                out[..., column] = self.one(i, out[..., column])
            return out
        order = jnp.broadcast_to(jnp.arange(x.shape[-1]), x.shape)
        for i, column in enumerate(self.columns):
            x = jnp.where(order == column, self.one(i, x[..., column])[..., None], x)
        return x

    def slopes(self, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """What a unit of change costs about a row: 1 where a column is measured by its own values."""
        out, order = jnp.ones_like(x), jnp.arange(x.shape[-1])
        for i, column in enumerate(self.columns):
            near = NEAR * (self.knots[i][-1] - self.knots[i][-2])
            own = x[column]
            slope = (self.one(i, own + near) - self.one(i, own - near)) / (2 * near)
            out = jnp.where(order == column, slope, out)
        return out


def _usual(values: np.ndarray) -> float:
    """From the 1st to the 99th percentile; where that is nothing, the whole range."""
    for share in (0.01, 0.0):
        low, high = np.quantile(values, [share, 1 - share], method="closest_observation")
        if high > low:
            return float(high - low)
    return 1.0


def _knots(values: np.ndarray) -> np.ndarray:
    """Quantiles of sorted values, and the neighbours of those that many have: from nothing to little is a step."""
    distinct, counts = np.unique(values, return_counts=True)
    at = np.unique(np.quantile(values, SHARES, method="closest_observation"))
    for place in np.argsort(-counts, kind="stable"):
        near = distinct[max(0, place - 1) : place + 2]
        if counts[place] < MANY * len(values) or len(np.union1d(at, near)) >= N_KNOTS:
            break
        at = np.union1d(at, near)
    return at


def columns_of(schema: Schema, layout: Layout) -> tuple[int, ...]:
    """Encoded columns that are measured by percentile."""
    return tuple(slot.start for slot in layout.numbers if schema[slot.name].cost == "percentile")


def read_tails(schema: Schema, layout: Layout, arrays: Mapping[str, np.ndarray]) -> Tails | None:
    """From the arrays ``knots`` and ``heights`` of a file; None where no feature is measured so."""
    columns = columns_of(schema, layout)
    if not columns:
        return None
    shape = (len(columns), N_KNOTS)
    parts = [np.asarray(arrays[name], np.float64) for name in ("knots", "heights")]
    growing = all(p.shape == shape and np.isfinite(p).all() and (np.diff(p) > 0).all() for p in parts)
    if not growing:
        raise DataError("Encoder: percentiles do not fit the schema; got a damaged file. Save it again.")
    return Tails(parts[0], parts[1], columns)
