"""A comparison as a picture: cost against survival, labels that do not lie on each other."""

import itertools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    from holdfast.audit._comparison import Comparison

INK, SOFT, LINE, BLUE = "#1f2933", "#52606d", "#9aa5b1", "#1f6fb2"
COSTS = ("l0", "l1", "l2")
# Where a label may stand, in points from its marker: nearest first, right before left.
PLACES = [
    (radius * math.cos(angle), radius * math.sin(angle))
    for radius in (8, 14, 22, 32, 44, 58)
    for angle in np.deg2rad([0, 180, 45, -45, 135, -135, 90, -90])
]


def draw(comparison: "Comparison", path: str | Path | None, cost: str) -> Any:
    """Draw, and write where a path is given."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, NullLocator, PercentFormatter
    except ImportError as error:
        raise MissingDependencyError(
            "plot: needs matplotlib. Install it with: pip install 'holdfast[plots]'"
        ) from error
    if cost not in COSTS:
        raise DataError(f"plot: `cost` is not known; got {cost!r}. Known are {list(COSTS)!r}.")
    points, whom = _points(comparison, cost)
    if not points:
        raise DataError("plot: there is nothing to draw: no method has recourse held against retrained models.")
    # A figure of its own, without pyplot: nothing stays open, and no window system is asked for.
    figure = Figure(figsize=(7.6, 5.0), dpi=130, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_subplot()
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
    axes.set_xlabel(f"cost of the recourse ({cost}, scaled units; mean over {whom})", color=SOFT)
    axes.set_ylabel(f"share of {job.get('retrainings')} retrained models that still say yes", color=SOFT)
    axes.set_title(
        f"{job.get('data')}: {comparison.n_people:,} people refused by {job.get('model')}",
        loc="left", color=INK, fontsize=11,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(LINE)
    axes.tick_params(colors=SOFT)
    axes.grid(color="#e4e7eb", lw=0.6)
    axes.set_axisbelow(True)
    _label(figure, canvas, axes, points)
    if path is not None:
        ending = Path(path).suffix.lstrip(".").lower()
        if ending not in canvas.get_supported_filetypes():
            known = ", ".join(sorted(canvas.get_supported_filetypes()))
            raise DataError(f"plot: the ending does not name a picture; got {str(path)!r}. Known are {known}.")
        metadata = (
            {"Software": None} if ending == "png" else None
        )  # no dates or versions: drawn again, it is equal
        figure.savefig(path, metadata=metadata)
    return figure


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


def _limits(axes: Any, xs: np.ndarray, ys: np.ndarray) -> None:
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


def _label(figure: Any, canvas: Any, axes: Any, points: list[tuple[str, float, float, float]]) -> None:
    """Put each name at the nearest free place; the crowded ones choose first, a line leads to distant ones."""
    from matplotlib.transforms import Bbox

    canvas.draw()  # fixes the layout, so that places on the page are known
    renderer = canvas.get_renderer()
    scale = figure.dpi / 72
    at = [axes.transData.transform((x, y)) for _, x, y, _ in points]
    markers = [Bbox.from_extents(x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale) for x, y in at]
    inside, taken, lines = axes.get_window_extent(renderer), [], []

    def crowd(i: int) -> float:
        return sum(1 / (1 + np.hypot(*(at[i] - other))) for other in at)

    for i in sorted(range(len(points)), key=crowd, reverse=True):
        best = None
        for place, (dx, dy) in enumerate(PLACES):
            side = "left" if dx > 1 else "right" if dx < -1 else "center"
            note = axes.annotate(
                points[i][0], points[i][1:3], xytext=(dx, dy), textcoords="offset points", ha=side, va="center",
                fontsize=9, color=INK, zorder=4,
            )  # fmt: skip
            box = note.get_window_extent(renderer).padded(1.5 * scale)
            others = [m for j, m in enumerate(markers) if j != i]
            clashes = sum(_overlap(box, b) for b in itertools.chain(taken, others))
            clashes += sum(1000.0 for line in lines if _crosses(box, line))
            clashes += 0 if inside.x0 <= box.x0 and box.x1 <= inside.x1 else 1e6
            clashes += 0 if inside.y0 - 4 <= box.y0 and box.y1 <= inside.y1 + 14 * scale else 1e6
            if best is None or clashes + place < best[0]:
                if best is not None:
                    best[1].remove()
                best = (clashes + place, note, box, (dx, dy))
            else:
                note.remove()
            if clashes == 0:
                break
        assert best is not None
        taken.append(best[2])
        if math.hypot(*best[3]) > 16:
            end = (at[i][0] + best[3][0] * scale, at[i][1] + best[3][1] * scale)
            lines.append((tuple(at[i]), end))
            axes.annotate(
                "", points[i][1:3], xytext=best[3], textcoords="offset points",
                arrowprops={"arrowstyle": "-", "color": LINE, "lw": 0.8, "shrinkA": 0, "shrinkB": 4}, zorder=2,
            )  # fmt: skip


def _overlap(a: Any, b: Any) -> float:
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return max(width, 0.0) * max(height, 0.0)


def _crosses(box: Any, line: tuple[Any, Any]) -> bool:
    (x0, y0), (x1, y1) = line
    along = np.linspace(0, 1, 25)
    xs, ys = x0 + along * (x1 - x0), y0 + along * (y1 - y0)
    return bool(((box.x0 < xs) & (xs < box.x1) & (box.y0 < ys) & (ys < box.y1)).any())
