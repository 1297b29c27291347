"""A backtest as a picture: what is kept against what it costs, and period by period."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.errors import DataError
from holdtrue.reports import BLUE, INK, LINE, ORANGE, SOFT, dress, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdtrue.hold._backtest_result import Backtest

# Blue, orange and a dark green: told apart by every common kind of colour vision, and by their marks.
LOOKS = ((BLUE, "o"), (ORANGE, "s"), ("#2f6b4f", "^"), ("#8e5ba6", "D"))


def draw(past: "Backtest", path: str | Path | None) -> "Figure":
    """Draw, and write where a path is given."""
    if not past.periods or past.to_frame().empty:
        raise DataError("plot: there is nothing to draw: no offer was judged by a later model.")
    figure, canvas, left = new_figure(11.5, 5.2)
    from matplotlib.ticker import PercentFormatter

    figure.delaxes(left)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    _against_cost(past, left)
    _by_period(past, right)
    for axes in (left, right):
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        axes.axhline(past.hold, color=LINE, lw=1, ls=(0, (4, 3)), zorder=1)
    return save(figure, canvas, path)


def _against_cost(past: "Backtest", axes: "Axes") -> None:
    for term, (colour, mark) in zip(past.terms, _looks(past), strict=True):
        points = [_point(past, slack, term) for slack in (None, *past.slacks)]
        xs, ys = np.array([p for p in points if p is not None]).reshape(-1, 2).T
        axes.plot(xs, ys, color=colour, lw=1.4, marker=mark, ms=4, mfc="white", mec=colour, zorder=2,
                  label=f"{term} ahead")  # fmt: skip
        kept = past.kept(term)
        if kept.mean is not None and kept.price is not None:
            axes.scatter(kept.price, kept.mean, s=80, color=colour, marker=mark, zorder=4, edgecolor="white")
    axes.margins(x=0.06)
    axes.set_ylim(top=1.02)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    dress(
        axes, x="cost, in multiples of the cheapest recourse's", y="share of the offers that were kept",
        title="Kept against cost, mean over periods",
    )  # fmt: skip
    axes.text(
        axes.get_xlim()[1], past.hold, f"{100 * past.hold:g}% ", ha="right", va="bottom", color=SOFT, fontsize=9
    )
    axes.legend(
        frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3, labelcolor=INK, fontsize=9,
        title="filled: chosen as it was known", title_fontproperties={"size": 9},
    )  # fmt: skip


def _point(past: "Backtest", slack: float | None, term: int) -> tuple[float, float] | None:
    """Price and share kept at a slack, mean over the periods that have both."""
    offers = [period.at(slack) for period in past.periods]
    told = [(o.price, share) for o in offers if o.price is not None and (share := o.share(term)) is not None]
    return (float(np.mean([p for p, _ in told])), float(np.mean([s for _, s in told]))) if told else None


def _by_period(past: "Backtest", axes: "Axes") -> None:
    labels = [p.period for p in past.periods]
    place = {label: i for i, label in enumerate(labels)}
    first = past.terms[0]
    shares = [p.cheapest.share(first) for p in past.periods]
    axes.plot(
        range(len(labels)), [np.nan if s is None else s for s in shares], color=LINE, lw=1.2, marker=".", ms=7,
        label=f"cheapest, {first} ahead", zorder=2,
    )  # fmt: skip
    for term, (colour, mark) in zip(past.terms, _looks(past), strict=True):
        kept = past.kept(term)
        told = [(place[c.period], c.kept) for c in kept.choices if c.kept is not None]
        if not told:
            continue
        xs, ys = np.array(told).T
        axes.plot(xs, ys, color=colour, lw=1.4, marker=mark, ms=6, zorder=3,
                  label=f"{term} ahead: {kept.mean:.1%} at {kept.price:.2f}x")  # fmt: skip
    every = -(-len(labels) // 13)
    axes.set_xticks(range(0, len(labels), every), labels[::every])
    if max(map(len, labels)) > 5:
        axes.tick_params(axis="x", rotation=30)
    axes.set_ylim(top=1.02)
    dress(
        axes,
        x="period of the offer",
        y="",
        title=f"Kept by period, chosen for {100 * past.hold:g}% as it was known",
    )
    # Below: shares may lie anywhere, so that no corner is sure to be free.
    axes.legend(
        frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, labelcolor=INK, fontsize=9
    )


def _looks(past: "Backtest") -> list[tuple[str, str]]:
    return [LOOKS[i % len(LOOKS)] for i in range(len(past.terms))]
