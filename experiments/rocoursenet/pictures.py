"""Pictures of the RoCourseNet page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments._drawing import BLUE, SOFT, dress, save
from experiments.rocoursenet import _sweep_pictures as sweeps
from experiments.rocoursenet import _tables as tables
from experiments.rocoursenet._look import HOLLOW, STYLES, mean
from experiments.rocoursenet._result import Result

Results = Sequence[Result]
LARGE = ("attacks",)  # pictures with so many lines that they would be more than 200 kB


def draw(found: Results, folder: Path) -> None:
    """Draw all for which there are results into a folder."""
    for name, make in PICTURES.items():
        figure = make(found)
        if figure is not None:
            dpi = 85 if name in LARGE else 100
            save(figure, folder, f"shift-{name}", dpi=dpi, pil_kwargs={"optimize": True})


def front(found: Results) -> Any:
    """Robust validity against l1 cost: methods, printed figures, fronts, and the oracle's (Figure 3)."""
    real = [r for r in found if r.dataset in tables.REAL]
    if not real:
        return None
    figure, panels = plt.subplots(1, len(real), figsize=(3.6 * len(real), 4.2), squeeze=False)
    for result, axes in zip(real, panels[0], strict=True):
        for own in ("RoCourseNet, guides", "base model"):
            if own in result.oracle:
                points = np.array(result.oracle[own][0].front)
                axes.plot(points[:, 0], points[:, 1], color="#1f2933", lw=1.2, ls="--", label="oracle")
                break
        for sweep, labels in result.sweeps_of.items():
            method = sweep.removeprefix("cost weight, ").removeprefix("slack and radii, ")
            if method in STYLES and method != sweep:
                colour, marker = STYLES[method]
                points = [p for n in labels if None not in (p := place(result, n))]
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3, lw=0.9, alpha=0.6)
        for name, (colour, marker) in STYLES.items():
            at = place(result, name)
            if None not in at:
                hollow = {"facecolors": "white" if name in HOLLOW else colour}
                axes.scatter(*at, edgecolors=colour, marker=marker, s=40, lw=1, label=name, zorder=3, **hollow)
            paper = tables.printed()["table 2"].get(name, {}).get(result.dataset)
            if paper is not None:
                where = paper["proximity"][0], paper["robust"][0]
                axes.scatter(*where, color=colour, marker="$p$", s=42, lw=0.5)
        axes.scatter([], [], color="#1f2933", marker="$p$", s=42, lw=0.5, label="printed")
        axes.set_ylim(0.0, 1.04)
        axes.set_xlim(left=0.0)
        axes.set_xlabel("l1 cost", color=SOFT)
        dress(axes, result.title)
    panels[0, 0].set_ylabel("robust validity", color=SOFT)
    known = dict(pair[::-1] for axes in panels[0] for pair in zip(*axes.get_legend_handles_labels(), strict=True))
    figure.legend(known.values(), known.keys(), loc="upper center", ncols=6, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.88))
    return figure


def place(result: Result, name: str) -> tuple[float | None, float | None]:
    """Cost and robust validity of a method."""
    return mean(result, name, "proximity"), mean(result, name, "robust")


def matrices(found: Results) -> Any:
    """Validity of every year's recourse under every year's model (Figures 7 and 10)."""
    result = next((r for r in found if len(r.subsets) > 2), None)
    if result is None:
        return None
    wanted = (
        "CounterNet", "RoCourseNet", "CounterNet, ours", "RoCourseNet, guides", "CF Model", "Robust CF Model",
        "VAE-CF", "Robust VAE-CF",
    )  # fmt: skip
    names = [n for n in wanted if n in result.methods]
    figure, panels = plt.subplots(
        2, -(-len(names) // 2), figsize=(2.4 * -(-len(names) // 2) + 0.8, 5.4), squeeze=False
    )
    years = [s[2:] for s in result.subsets]
    every = range(0, len(years), 3)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    for name, axes in zip(names, panels.flat, strict=False):
        matrix = np.mean([s.matrix for s in result.methods[name]], axis=0)
        axes.imshow(matrix, vmin=0, vmax=1, cmap="Blues")
        axes.set_xticks(list(every), [years[i] for i in every], fontsize=7)
        axes.set_yticks(list(every), [years[i] for i in every], fontsize=7)
        axes.set_title(f"{name}\n{mean(result, name, 'robust'):.3f} off the diagonal", fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel("made in", color=SOFT, fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("judged by", color=SOFT, fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.9, 1))
    figure.colorbar(panels[0, 0].images[0], cax=figure.add_axes((0.91, 0.2, 0.015, 0.6)))
    return figure


def losses(found: Results) -> Any:
    """What trainings told, epoch by epoch, a line per seed in the mean over subsets (Figure 11)."""
    have = [r for r in found if r.losses]
    if not have:
        return None
    n = len(CURVES)
    figure, panels = plt.subplots(len(have), n, figsize=(2.2 * n, 2.3 * len(have)), squeeze=False)
    for result, row in zip(have, panels, strict=True):
        for (name, title), axes in zip(CURVES.items(), row, strict=True):
            for curve in result.losses.get(name, []):
                values = [np.nan if v is None else v for v in curve]
                axes.plot(np.arange(1, len(curve) + 1), values, color=BLUE, lw=0.9, alpha=0.7)
            axes.set_ylim(bottom=0)
            dress(axes, f"{result.title}\n{title}")
    for axes in panels[-1]:
        axes.set_xlabel("epoch", color=SOFT)
    figure.tight_layout()
    return figure


CURVES = {
    "loss": "both losses, under attack",
    "prediction_loss": "prediction",
    "validity_loss": "validity, no attack",
    "cost": "l1 cost",
    "patterns": "different recourses",
}
PICTURES = {"front": front, "matrices": matrices, "losses": losses, **sweeps.PICTURES}
