"""Pictures of the consistent-counterfactuals page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments._drawing import BLUE, GREY, ORANGE, SOFT, dress, save
from experiments.consistent_counterfactuals._result import Result
from experiments.consistent_counterfactuals._tables import mean

Results = Sequence[Result]


def draw(found: Results, folder: Path) -> None:
    """Draw both into a folder."""
    save(front(found), folder, "consistent-front")
    save(reliability(found), folder, "consistent-reliability", bbox_inches="tight")


def front(found: Results) -> Any:
    """Invalidation against cost, one panel per dataset: the fronts of SNS and StableSearch, the base methods."""
    found = [r for r in found if r.dataset != "taiwan-minmax"]
    figure, panels = plt.subplots(2, 3, figsize=(9.0, 5.4))
    for result, axes in zip(found, panels.flat, strict=True):
        names = result.bases[0].relaxed

        def point(name: str, result: Result = result) -> tuple[float, float]:
            return tuple(mean(result, lambda b, k=k: getattr(b.relaxed[name], k)) for k in ("l2", "iv_rs"))  # type: ignore

        fronts = {
            "SNS, radius varied": (["Min l2 + SNS", *(n for n in names if n.startswith("SNS,"))], ORANGE, "^"),
            "StableSearch, aim varied": (
                ["Stable", *(n for n in names if "aim" in n)],
                BLUE,
                "o",
            ),
        }
        for label, (members, colour, marker) in fronts.items():
            points = sorted(point(name) for name in members)
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=4, lw=1, label=label)
        others = [point(n) for n in ("Min l1", "Min l2", "Min eps PGD", "Looveren et al.", "Pawelczyk et al.")]
        axes.scatter(*zip(*others, strict=True), color=GREY, marker="x", s=22, lw=1.2, label="base methods")
        axes.set_title(result.title, fontsize=9.5)
        axes.set_xscale("log")
        axes.set_ylim(-0.03, 1.0)
        dress(axes)
        axes.minorticks_off()
        low, high = axes.get_xlim()
        ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20) if low <= t <= high]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    for axes in panels[:, 0]:
        axes.set_ylabel("broken by a retraining", color=SOFT)
    for axes in panels[1]:
        axes.set_xlabel("l2 cost", color=SOFT)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=3, frameon=False, bbox_to_anchor=(0.5, 1.0))
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    return figure


def reliability(found: Results) -> Any:
    """Stated against observed survival in bins, all datasets."""
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    axes.plot([0, 1], [0, 1], color=GREY, lw=1)
    markers = "o^sDvPX"
    for result, marker in zip(found, markers, strict=False):
        bins = [b for base in result.bases for b in base.shelf_life.bins if b.n >= 20 and b.told is not None]
        told, held = (np.array([getattr(b, key) for b in bins], float) for key in ("told", "held"))
        axes.scatter(told, held, s=16, marker=marker, alpha=0.75, lw=0, label=result.title)
    axes.set_xlabel("share of 20 unseen retrainings that accept", color=SOFT)
    axes.set_ylabel("share of 80 further ones", color=SOFT)
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
