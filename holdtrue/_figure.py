"""What pictures share: a figure without windows that a notebook shows, its look, and the file."""

import io
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdtrue._optional import need
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

INK, SOFT, LINE, GRID = "#1f2933", "#52606d", "#9aa5b1", "#e4e7eb"
# Blue and orange: told apart by every common kind of colour vision.
BLUE, ORANGE = "#1f6fb2", "#d9822b"
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
"""Endings of files that are drawn, where a result can also be written as text."""


def new_figure(width: float = 7.6, height: float = 5.0) -> tuple["Figure", "FigureCanvasAgg", "Axes"]:
    """Return a figure, its canvas and its axes, without pyplot: nothing stays open, and no window is asked for."""
    agg = need("matplotlib.backends.backend_agg", extra="plots", what="plot:")
    figures = need("matplotlib.figure", extra="plots", what="plot:")
    figure = _picture(figures)(figsize=(width, height), dpi=130, layout="constrained")
    return figure, agg.FigureCanvasAgg(figure), figure.add_subplot()


@lru_cache
def _picture(figures: Any) -> Any:
    """A figure that a notebook shows in its place, of matplotlib's module of figures."""

    class Picture(figures.Figure):
        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png", metadata={"Software": None})
            return out.getvalue()

    return Picture


def dress(axes: "Axes", *, x: str, y: str, title: str) -> None:
    """Names of the axes, a title at the left, and no more lines than are read."""
    axes.set_xlabel(x, color=SOFT)
    axes.set_ylabel(y, color=SOFT)
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_color(LINE)
    axes.tick_params(colors=SOFT)
    axes.grid(color=GRID, lw=0.6)
    axes.set_axisbelow(True)


def save(figure: "Figure", canvas: "FigureCanvasAgg", path: str | Path | None) -> "Figure":
    """Write where a path is given; return the figure."""
    if path is not None:
        ending = Path(path).suffix.lstrip(".").lower()
        if ending not in canvas.get_supported_filetypes():
            known = ", ".join(sorted(canvas.get_supported_filetypes()))
            raise DataError(f"plot: the ending does not name a picture; got {str(path)!r}. Known are {known}.")
        # No dates or versions: drawn again, it is equal.
        figure.savefig(path, metadata={"Software": None} if ending == "png" else None)
    return figure
