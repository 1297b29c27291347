"""A picture of what holding costs: survival against cost, for the cheapest recourse and for one that holds."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._figure import BLUE, INK, LINE, ORANGE, dress, new_figure, save
from holdtrue.errors import DataError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Points = tuple[np.ndarray, np.ndarray]
"""Cost and survival of each person."""


def draw_hold(
    cheapest: Points, held: Points, *, hold: float, n_models: int, path: str | Path | None = None
) -> "Figure":
    """Everyone's cheapest recourse and the one that holds, joined; the two means on top.

    Parameters
    ----------
    cheapest, held : (array, array)
        Cost and survival of the same people.
    hold : float
        The wanted chance.
    n_models : int
        Retrained models that were asked.
    path : path, optional
    """
    if len(cheapest[0]) == 0:
        raise DataError("plot: there is nothing to draw: no recourse was found.")
    figure, canvas, axes = new_figure(7.6, 4.6)
    from matplotlib.ticker import PercentFormatter

    axes.plot([cheapest[0], held[0]], [cheapest[1], held[1]], color=LINE, lw=0.5, alpha=0.5, zorder=1)
    for (cost, survival), colour, name in ((cheapest, ORANGE, "the cheapest"), (held, BLUE, "one that holds")):
        axes.scatter(cost, survival, s=14, lw=0, color=colour, alpha=0.65, zorder=2)
        axes.scatter(
            cost.mean(), survival.mean(), s=130, lw=1.5, color=colour, edgecolor="white", marker="D", zorder=4,
            label=f"{name}: cost {cost.mean():.2f}, accepted by {survival.mean():.0%}",
        )  # fmt: skip
    axes.axhline(hold, color=INK, lw=0.8, ls="--", zorder=3)
    axes.annotate(f"wanted: {100 * hold:g}%", (1.0, hold), xycoords=("axes fraction", "data"), xytext=(-2, -3),
                  textcoords="offset points", ha="right", va="top", fontsize=9, color=INK)  # fmt: skip
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    dress(
        axes,
        x="cost: how far the person has to move",
        y=f"share of {n_models:,} retrained models that say yes",
        title=f"{len(cheapest[0]):,} people: each line is one, from the cheapest recourse to one that holds",
    )
    axes.legend(frameon=False, loc="lower right", title="Diamonds: the mean of everyone")
    return save(figure, canvas, path)
