"""What units of a network can be, at most and at least, within one person's reach: bounds by linear relaxation.

A unit with a kink lies between two straight lines wherever its sum does. Put one after another, from the last
layer back to the row, they bound a score by a linear function of the row; and the most that such a function has
among all rows that cost no more than a limit is bounded feature by feature, at any price per unit of cost.
"""

from dataclasses import dataclass

import numpy as np

from holdtrue.encoding import Norm
from holdtrue.search._menu import Choice, Menu
from holdtrue.search.exact._layers import Hidden

PRICES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 15)])  # shares of the dearest that is worth paying


@dataclass(frozen=True)
class Reach:
    """Rows within a person's reach at no more than a limit, limits across features aside.

    Attributes
    ----------
    x : the person, in double precision.
    norm, limit : how costs add up, and what they may come to, in units that add up.
    start, low, high, weight : ranges: column, how far down and up they go, and what a unit costs.
    choices : first column, changes and costs of each option.
    """

    x: np.ndarray
    norm: Norm
    limit: float
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weight: np.ndarray
    choices: tuple[tuple[int, np.ndarray, np.ndarray], ...]

    @classmethod
    def of(cls, menu: Menu, limit: float) -> "Reach":
        """Within a limit; infinite for all that is open."""
        ranges = [f for f in menu.features if not isinstance(f, Choice)]
        weight = np.array([f.weight for f in ranges], np.float64)
        low = np.array([min(f.lower - f.own, 0.0) for f in ranges], np.float64)
        high = np.array([max(f.upper - f.own, 0.0) for f in ranges], np.float64)
        if np.isfinite(limit) and menu.norm != "l0":
            far = (np.sqrt(limit) if menu.norm == "l2" else limit) / np.maximum(weight, 1e-12)
            low, high = np.maximum(low, -far), np.minimum(high, far)
        choices = []
        for f in menu.features:
            if isinstance(f, Choice):
                kept = f.cost <= limit * (1 + 1e-9)
                own = menu.x[f.start : f.start + f.values.shape[1]]
                choices.append((f.start, f.values[kept].astype(np.float64) - own, f.cost[kept]))
        start = np.array([f.start for f in ranges], int)
        return cls(menu.x.astype(np.float64), menu.norm, limit, start, low, high, weight, tuple(choices))

    def most(self, rows: np.ndarray, bias: np.ndarray) -> np.ndarray:
        """The most that each of some linear functions has within reach, from above."""
        at_own = rows @ self.x + bias
        slopes = rows[:, self.start]
        gains = [rows[:, first : first + values.shape[1]] @ values.T for first, values, _ in self.choices]
        if not np.isfinite(self.limit) or self.norm == "linf":
            best = np.maximum(slopes * self.low, slopes * self.high).clip(min=0.0).sum(axis=1)
            return at_own + best + sum((g.max(axis=1, initial=0.0) for g in gains), start=np.zeros(len(rows)))
        price = self._dearest(slopes, gains)[:, None] * PRICES
        total = price * self.limit
        if len(self.start):
            total = total + self._of_ranges(slopes, price)
        for gain, (_, _, cost) in zip(gains, self.choices, strict=True):
            total = total + (gain[:, None, :] - price[:, :, None] * cost).max(axis=2, initial=0.0)
        return at_own + total.min(axis=1)

    def _dearest(self, slopes: np.ndarray, gains: list[np.ndarray]) -> np.ndarray:
        """The price above which nothing is worth its cost, of each function."""
        worth = [np.zeros((len(slopes), 1))]
        if len(self.start):
            end = np.maximum(np.abs(self.low), np.abs(self.high))
            unit = {"l0": end / self.weight, "l2": 1.0 / (self.weight**2 * np.maximum(end, 1e-9))}
            worth.append(np.abs(slopes) * unit.get(self.norm, 1.0 / self.weight))
        for gain, (_, _, cost) in zip(gains, self.choices, strict=True):
            worth.append(np.where(cost > 0, np.maximum(gain, 0.0) / np.where(cost > 0, cost, 1.0), 0.0))
        return np.maximum(np.concatenate(worth, axis=1).max(axis=1), 1e-12)

    def _of_ranges(self, slopes: np.ndarray, price: np.ndarray) -> np.ndarray:
        """What ranges bring beyond what they cost, at best, at each price."""
        slope, price = slopes[:, None, :], price[:, :, None]
        if self.norm == "l2":
            with np.errstate(divide="ignore", invalid="ignore"):
                to = np.where(price > 0, slope / (2 * price * self.weight**2), np.sign(slope) * np.inf)
            to = np.clip(np.nan_to_num(to, posinf=np.inf, neginf=-np.inf), self.low, self.high)
            brings = slope * to - price * (self.weight * to) ** 2
            return np.maximum(brings, 0.0).sum(axis=2)
        fixed = self.norm == "l0"
        out = 0.0
        for end in (self.low, self.high):
            cost = np.where(end != 0, self.weight, 0.0) if fixed else self.weight * np.abs(end)
            out = np.maximum(out, slope * end - price * cost)
        return np.asarray(out).sum(axis=2)


Span = tuple[np.ndarray, np.ndarray]
"""The least and the most that the sums of a layer's units can be."""


def spans_of(hidden: tuple[Hidden, ...], reach: Reach) -> list[Span]:
    """The least and the most of every unit's sum, layer by layer."""
    spans: list[Span] = []
    for i, layer in enumerate(hidden):
        both = np.concatenate([layer.weight, -layer.weight])
        bias = np.concatenate([layer.bias, -layer.bias])
        most = most_of(hidden[:i], spans, both, bias, reach)
        n = len(layer.bias)
        high, low = most[:n], -most[n:]
        spans.append((np.minimum(low, high), np.maximum(low, high)))
    return spans


def most_of(
    hidden: tuple[Hidden, ...], spans: list[Span], rows: np.ndarray, bias: np.ndarray, reach: Reach
) -> np.ndarray:
    """The most that linear functions of the last of some layers can be within reach, from above."""
    for layer, (low, high) in zip(reversed(hidden), reversed(spans), strict=True):
        slope = layer.slope
        crossing = (low < 0) & (high > 0)
        width = np.where(crossing, high - low, 1.0)
        # Above: the line through both ends. Below: one of the two pieces, the one that is nearer over the span.
        upper = np.where(crossing, (high - slope * low) / width, np.where(low >= 0, 1.0, slope))
        lift = np.where(crossing, low * (slope - upper), 0.0)
        lower = np.where(crossing, np.where(high > -low, 1.0, slope), upper)
        up, down = np.maximum(rows, 0.0), np.minimum(rows, 0.0)
        bias = bias + up @ lift
        rows = up * upper + down * lower
        rows, bias = rows @ layer.weight, bias + rows @ layer.bias
    return reach.most(rows, bias)
