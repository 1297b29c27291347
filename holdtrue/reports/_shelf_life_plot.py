"""Pictures of a shelf life and of its calibration."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._figure import BLUE, LINE, ORANGE, SOFT, dress, new_figure, save
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdtrue.reports._calibration import Calibration
    from holdtrue.reports._shelf_life import ShelfLife


def draw(life: "ShelfLife", path: str | Path | None) -> "Figure":
    """Everyone's survival and interval, the shortest-lived first."""
    if life.n_found == 0:
        raise DataError("plot: there is nothing to draw: no recourse was found.")
    figure, canvas, axes = new_figure(7.6, 4.2)
    from matplotlib.ticker import PercentFormatter

    found = np.flatnonzero(life.plan.found)
    order = found[np.lexsort((life.plan.cost[found], life.survival[found]))]
    place = np.arange(1, len(order) + 1)
    fragile = life.fragile[order]
    for who, colour, name in ((fragile, ORANGE, "fragile"), (~fragile, BLUE, "holds")):
        if who.any():
            rows = order[who]
            axes.vlines(place[who], life.lower[rows], life.upper[rows], color=colour, alpha=0.35, lw=1.0)
            axes.scatter(place[who], life.survival[rows], s=9, lw=0, color=colour, zorder=3,
                         label=f"{name} ({int(who.sum()):,})")  # fmt: skip
    axes.axhline(life.level, color=SOFT, lw=0.8, ls="--")
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    dress(
        axes,
        x="recourses, the shortest-lived first",
        y=f"share of {life.n_models:,} retrained models that say yes",
        title=f"Shelf life of {len(order):,} recourses by {life.plan.method}, "
        f"with {100 * life.confidence:.4g}% intervals",
    )
    axes.legend(frameon=False, loc="lower right")
    return save(figure, canvas, path)


def reliability(calibration: "Calibration", path: str | Path | None) -> "Figure":
    """Observed survival against the stated one: each recourse as a dot, each bin as a point."""
    r = calibration.reliability
    if r.n_people == 0:
        raise DataError("plot: there is nothing to draw: no recourse was found.")
    figure, canvas, axes = new_figure(5.6, 5.2)
    from matplotlib.ticker import PercentFormatter

    axes.plot([0, 1], [0, 1], color=LINE, lw=1.0, ls="--")
    axes.scatter(
        calibration.estimated, calibration.observed, s=10, lw=0, color=BLUE, alpha=0.25, label="a recourse"
    )
    bins = [b for b in r.bins if b.n]
    axes.plot([b.estimated for b in bins], [b.observed for b in bins], color=ORANGE, lw=1.4, marker="o", ms=6,
              label="mean of a bin", zorder=3)  # fmt: skip
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    dress(
        axes,
        x=f"stated: share of {r.n:,} models that say yes",
        y=f"observed: share of {r.n_fresh:,} others that say yes",
        title=f"{r.n_people:,} recourses: error {100 * r.mae:.1f}%, bias {100 * r.bias:+.1f}%",
    )
    axes.legend(frameon=False, loc="upper left")
    return save(figure, canvas, path)
