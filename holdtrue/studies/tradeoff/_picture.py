"""The trade-off as a picture of its own, for slides and papers: the panels of the page, by matplotlib."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdtrue._optional import need
from holdtrue.reports import GRID, INK, SOFT, save
from holdtrue.studies.tradeoff._plot import COLOURS, PANELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdtrue.studies.tradeoff._result import Tradeoff

ACROSS = 3


def picture(trade: "Tradeoff", path: str | Path | None) -> "Figure":
    """A panel a measure: what was varied to the right, a colour a regime; hollow points are dominated."""
    figures = need("matplotlib.figure", extra="plots", what="plot:")
    agg = need("matplotlib.backends.backend_agg", extra="plots", what="plot:")
    down = -(-len(PANELS) // ACROSS)
    figure = figures.Figure(figsize=(4.2 * ACROSS, 3.1 * down), dpi=130, layout="constrained")
    canvas = agg.FigureCanvasAgg(figure)
    regimes = list(dict.fromkeys(c.regime for c in trade.choices))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(regimes)}
    all_axes = figure.subplots(down, ACROSS, squeeze=False).ravel()
    pairs = list(zip(trade.choices, trade.front, strict=True))
    for axes, (key, title) in zip(all_axes, PANELS.items(), strict=False):
        axes.set_title(title, loc="left", color=INK, fontsize=10)
        for name in regimes:
            own = [(c, best) for c, best in pairs if c.regime == name and getattr(c, key) is not None]
            swept = [(c.value, getattr(c, key)) for c, _ in own if c.value is not None]
            if swept:
                axes.plot(*zip(*sorted(swept), strict=True), color=colour[name], lw=1.2, label=name)
            for c, best in own:
                if c.value is None:
                    axes.axhline(getattr(c, key), color=colour[name], lw=1.2, ls="--", label=name)
                    continue
                style = (
                    {"marker": "x"} if c.constant else {"marker": "o", "mfc": colour[name] if best else "white"}
                )
                axes.plot(c.value, getattr(c, key), color=colour[name], ls="none", **style)
        axes.grid(color=GRID, lw=0.6)
        axes.tick_params(colors=SOFT)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(PANELS) :]:
        axes.set_visible(False)
    handles = {label: h for axes in all_axes for h, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles) or 1, frameon=False
    )
    return save(figure, canvas, path)
