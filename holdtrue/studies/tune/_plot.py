"""The trials of a study as a picture: cost and implausibility of recourse, accuracy of the model."""

from pathlib import Path
from typing import TYPE_CHECKING

from holdtrue.errors import DataError
from holdtrue.reports import INK, LINE, ORANGE, dress, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from holdtrue.studies.tune._result import Trial, Tuning


def draw(tuning: "Tuning", path: str | Path | None) -> "Figure":
    """Draw, and write where a path is given."""
    figure, canvas, axes = new_figure()
    from matplotlib.ticker import PercentFormatter

    points = [(t, *at) for t in tuning.trials if (at := _place(t)) is not None]
    if not points:
        raise DataError("plot: there is nothing to draw: no trial has recourse for anybody.")
    front = tuning.front
    best = {t.number for t in front}
    marks = axes.scatter(
        [cost for _, cost, _, _ in points],
        [far for _, _, far, _ in points],
        c=[accuracy for *_, accuracy in points],
        s=[60 if t.number in best else 26 for t, *_ in points],
        edgecolors=[INK if t.number in best else "none" for t, *_ in points],
        cmap="cividis",
        zorder=3,
    )
    bar = figure.colorbar(marks, ax=axes, format=PercentFormatter(1.0))
    bar.set_label("accuracy", color=INK)
    bar.outline.set_edgecolor(LINE)  # type: ignore[operator]
    title = f"{len(points)} trials of {tuning.regime}; ringed: no other beats them"
    if front:
        chosen = tuning.chosen
        at = _place(chosen)
        assert at is not None  # it is on the front
        axes.scatter(*at[:2], s=190, facecolor="none", edgecolor=ORANGE, lw=1.8, zorder=4)
        title += f"; orange: trial {chosen.number}, chosen"
    dress(axes, x="mean cost of recourse", y="implausibility: distance to the class it leads to", title=title)
    return save(figure, canvas, path)


def _place(trial: "Trial") -> tuple[float, float, float] | None:
    """Cost, implausibility and accuracy of a trial; None where it was given up or found nothing."""
    if trial.cost is None or trial.implausibility is None or trial.accuracy is None:
        return None
    return trial.cost, trial.implausibility, trial.accuracy
