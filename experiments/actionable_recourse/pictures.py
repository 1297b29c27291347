"""The picture of the actionable-recourse page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from experiments._drawing import BLUE, GREY, ORANGE, SOFT, dress, save
from experiments.actionable_recourse import _figures as figures
from experiments.actionable_recourse._result import Result

Results = Sequence[Result]


def draw(found: Results, folder: Path) -> None:
    """Draw it into a folder."""
    save(front(found), folder, "recourse-front")


def front(found: Results) -> Any:
    """Ranking quality against recourse of the refused as lambda grows, one panel per dataset."""
    found = [r for r in found if r.kinds is not None and r.dataset != "bail-paper"]
    figure, panels = plt.subplots(1, len(found), figsize=(2.6 * len(found), 2.9), squeeze=False)
    for result, axes in zip(found, panels[0], strict=True):
        for sweep, search, label, colour, marker in (
            ("linear", "linear", "linear step, in training and in use", ORANGE, "^"),
            ("linear", "best", "linear step in training, best search in use", GREY, "s"),
            ("lattice", "best", "lattice in training, best search in use", BLUE, "o"),
        ):
            keys = ["linear 0", *(k for k in result.kinds or () if k.startswith(sweep) and k != "linear 0")]
            points = []
            for key in keys:
                parts = figures.members(result, key)
                share, _ = figures.pooled(parts, lambda f, s=search: f.recourse[s])
                auc, _ = figures.mean(parts, lambda f: f.performance.auc)
                points.append((share, auc))
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3.5, lw=1, label=label)
        axes.set_title(result.title, fontsize=9.5)
        axes.set_xlabel("refused who have recourse", color=SOFT)
        axes.set_xlim(0, 1.03)
        dress(axes)
    panels[0, 0].set_ylabel("AUC", color=SOFT)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=2, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.84))
    return figure
