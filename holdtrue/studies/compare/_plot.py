"""A comparison as a picture: cost against survival, labels that do not lie on each other."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from holdtrue.errors import DataError
from holdtrue.reports import BLUE, INK, LINE, dress, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from holdtrue.studies.compare._result import Comparison

COSTS = ("l0", "l1", "l2")
SIZE = 9
NEAR = 16  # points; a name further off has a line
# Where a label may stand, in points from its marker: nearest first, right before left.
PLACES = [
    (radius * math.cos(angle), radius * math.sin(angle))
    for radius in (8, 13, 22, 32, 44)
    for angle in np.deg2rad([0, 180, 35, -35, 145, -145, 65, -65, 115, -115, 90, -90])
]


def draw(comparison: "Comparison", path: str | Path | None, cost: str) -> "Figure":
    """Draw, and write where a path is given."""
    figure, canvas, axes = new_figure()
    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator, PercentFormatter

    if cost not in COSTS:
        raise DataError(f"plot: `cost` is not known; got {cost!r}. Known are {list(COSTS)!r}.")
    points, whom = _points(comparison, cost)
    if not points:
        raise DataError("plot: there is nothing to draw: no method has recourse held against retrained models.")
    for _, x, y, found in points:
        axes.scatter(x, y, s=44, lw=1.4, zorder=3, facecolor=BLUE if found == 1 else "white", edgecolor=BLUE)
    xs, ys = np.array([p[1] for p in points]), np.array([p[2] for p in points])
    _limits(axes, xs, ys)
    if axes.get_xscale() == "log":
        low, high = axes.get_xlim()
        decades = LogLocator(subs=(1, 1.5, 2, 3, 5, 7)).tick_values(low, high)
        axes.xaxis.set_major_locator(FixedLocator([t for t in decades if low <= t <= high]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    job = comparison.job
    dress(
        axes,
        x=f"cost of the recourse ({cost}, scaled units; mean over {whom})",
        y=f"share of {job.get('retrainings')} retrained models that still say yes",
        title=f"{job.get('data')}: {comparison.n_people:,} people refused by {job.get('model')}",
    )
    _label(figure, canvas, axes, points)
    return save(figure, canvas, path)


def _points(comparison: "Comparison", cost: str) -> tuple[list[tuple[str, float, float, float]], str]:
    """Name, cost, survival and share found of each method, and over whom."""
    common = comparison.common
    who = common if common.any() else None
    whom = f"the {int(common.sum()):,} for whom all found one" if who is not None else "the recourse each found"
    points = []
    for row in comparison.ran:
        x, y = row.mean(cost, who), row.mean("survival", who)
        if not math.isnan(x) and not math.isnan(y):
            share = "" if row.found == 1 else f" ({min(row.found, 0.99):.0%} found)"
            points.append((row.name + share, x, y, row.found))
    return points, whom


def _limits(axes: "Axes", xs: np.ndarray, ys: np.ndarray) -> None:
    """Room about the points for their labels; a wide range of costs on a logarithmic axis."""
    if xs.min() > 0 and xs.max() / xs.min() > 4:
        axes.set_xscale("log")
        spread = max(math.log(xs.max() / xs.min()), 0.2)
        axes.set_xlim(xs.min() * math.exp(-0.12 * spread), xs.max() * math.exp(0.28 * spread))
    else:
        spread = max(xs.max() - xs.min(), 0.1 * abs(xs.max()), 1e-3)
        axes.set_xlim(max(0.0, xs.min() - 0.12 * spread), xs.max() + 0.28 * spread)
    room = max(0.08 * (ys.max() - ys.min()), 0.02)
    axes.set_ylim(max(-0.03, ys.min() - room), min(1.03, ys.max() + room))


def _label(
    figure: "Figure", canvas: "FigureCanvasAgg", axes: "Axes", points: list[tuple[str, float, float, float]]
) -> None:
    """Put each name at a free place near its point; a line leads to one that had to go further off."""
    canvas.draw()  # fixes the layout, so that places on the page are known
    renderer = canvas.get_renderer()
    scale = figure.dpi / 72
    at = [axes.transData.transform((x, y)) for _, x, y, _ in points]
    sizes = []
    for name, x, y, _ in points:
        probe = axes.annotate(name, (x, y), fontsize=SIZE)
        extent = probe.get_window_extent(renderer)
        sizes.append((extent.width, extent.height))
        probe.remove()
    frame = axes.get_window_extent(renderer)
    places = _places(np.array(at), np.array(sizes), np.array(frame.extents), scale)
    for (name, x, y, _), place in zip(points, places, strict=True):
        dx, dy = PLACES[place]
        far = math.hypot(dx, dy) > NEAR
        line = {
            "arrowstyle": "-",
            "color": LINE,
            "lw": 0.8,
            "shrinkA": 1,
            "shrinkB": 4,
            "relpos": _towards(dx, dy),
        }
        axes.annotate(
            name, (x, y), xytext=(dx, dy), textcoords="offset points", ha=_side(dx), va="center", fontsize=SIZE,
            color=INK, zorder=4, arrowprops=line if far else None,
        )  # fmt: skip


def _places(at: np.ndarray, sizes: np.ndarray, frame: np.ndarray, scale: float) -> list[int]:
    """Index of a place for each name, such that names keep clear of each other, of points and of lines."""
    n, offsets = len(at), np.array(PLACES) * scale
    boxes = np.array([[_box(at[i], o, sizes[i], scale) for o in offsets] for i in range(n)])
    ends = at[:, None] + offsets
    length = np.hypot(*np.array(PLACES).T)
    far = length > NEAR
    markers = np.concatenate([at - 4 * scale, at + 4 * scale], axis=1)
    other = 1.0 - np.eye(n)
    # What a place costs by itself: distance, points under the name or its line, leaving the picture.
    alone = length**2 / 100 + np.einsum("ipj,ij->ip", _overlap(boxes[:, :, None], markers), other)
    on_line = _crossed(markers[None, None], at[:, None, None], ends[:, :, None])
    alone = alone + 50.0 * far * np.einsum("ipj,ij->ip", on_line, other)
    outside = (boxes[..., :2] < frame[:2]).any(axis=-1) | (boxes[..., 2:] > frame[2:]).any(axis=-1)
    alone = alone + 1e6 * outside
    # What two places cost together: names on each other, or one on the other's line.
    together = _overlap(boxes[:, :, None, None], boxes)
    crossed = 50.0 * far[:, None, None] * _crossed(boxes, at[:, None, None, None], ends[:, :, None, None])
    together = together + crossed + crossed.transpose(2, 3, 0, 1)
    rng = np.random.default_rng(0)
    tries = [_settle(rng.permutation(n), alone, together) for _ in range(200)]
    return min(tries, key=lambda tried: tried[0])[1]


def _settle(order: np.ndarray, alone: np.ndarray, together: np.ndarray) -> tuple[float, list[int]]:
    """Names choose in turn, then change their minds until nobody wants to. Returns what displeasure is left."""
    places: dict[int, int] = {}
    for _ in range(10):
        before = dict(places)
        for i in order.tolist():
            cost = alone[i] + sum(together[i, :, j, q] for j, q in places.items() if j != i)
            places[i] = int(np.argmin(cost))
        if places == before:
            break
    pairs = sum(together[i, p, j, q] for i, p in places.items() for j, q in places.items() if i < j)
    chosen = [places[i] for i in range(len(places))]
    return float(pairs + sum(alone[i, p] for i, p in places.items())), chosen


def _side(dx: float) -> Literal["left", "right", "center"]:
    return "left" if dx > 1 else "right" if dx < -1 else "center"


def _towards(dx: float, dy: float) -> tuple[float, float]:
    """Where on a name its line ends: the side that looks at the point."""
    return (0.0, 0.5) if dx > 1 else (1.0, 0.5) if dx < -1 else (0.5, 0.0 if dy > 0 else 1.0)


def _box(middle: np.ndarray, offset: np.ndarray, size: np.ndarray, scale: float) -> tuple[float, ...]:
    """Left, bottom, right and top of a name at a place, with a little room about it."""
    (x, y), (width, height), pad = middle + offset, size, 1.5 * scale
    left = {"left": x, "right": x - width, "center": x - width / 2}[_side(offset[0])]
    return (left - pad, y - height / 2 - pad, left + width + pad, y + height / 2 + pad)


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Area that boxes share."""
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    return np.prod(np.maximum(sides, 0.0), axis=-1)


def _crossed(boxes: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Whether a line from `start` to `end` runs through a box."""
    inside = False
    for share in np.linspace(0.1, 0.95, 12):
        at = start + share * (end - start)
        inside = inside | ((boxes[..., :2] < at) & (at < boxes[..., 2:])).all(axis=-1)
    return np.asarray(inside)
