"""Pictures of the RoCourseNet page; `make.py` calls `draw`."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from holdfast.papers.rocoursenet import _tables as tables

SOFT, BLUE, ORANGE, GREY, GREEN, PURPLE = "#52606d", "#1f6fb2", "#d9822b", "#9aa5b1", "#3a7d44", "#8e5ba6"
STYLES = {
    "VanillaCF": (GREY, "s"),
    "ROAR-LIME": (ORANGE, "^"),
    "RBR": (PURPLE, "v"),
    "CounterNet": ("#7b8794", "D"),
    "RoCourseNet": (GREEN, "P"),
    "CounterNet, ours": ("#7b8794", "d"),
    "RoCourseNet, ours": (GREEN, "X"),
    "RoCourseNet, guides": (BLUE, "o"),
}


def draw(found: list[dict[str, Any]], images: Path) -> None:
    """Draw every picture for which there are results."""
    for make, name in ((front, "front"), (matrices, "matrices"), (attacks, "attacks"), (losses, "losses")):
        figure = make(found)
        if figure is not None:
            figure.savefig(images / f"shift-{name}.png", dpi=130, metadata={"Software": None})
            plt.close(figure)


def mean(result: dict[str, Any], name: str, key: str) -> float | None:
    """Mean of a method's figure over its seeds."""
    return tables.over(result["methods"].get(name, []), key)[0]


def dress(axes: Any, title: str) -> None:
    """The look that all panels share."""
    axes.set_title(title, fontsize=9.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e7eb", lw=0.5)
    axes.set_axisbelow(True)


def front(found: list[dict[str, Any]]) -> Any:
    """Robust validity against l1 cost: methods, printed figures, fronts of settings, and the oracle's."""
    real = [r for r in found if r["dataset"] in tables.REAL]
    if not real:
        return None
    figure, panels = plt.subplots(1, len(real), figsize=(3.5 * len(real), 4.0), squeeze=False)
    for result, axes in zip(real, panels[0], strict=True):
        for own in ("RoCourseNet, guides", "base model"):
            if own in result.get("oracle", {}):
                points = np.array(result["oracle"][own][0]["front"])
                axes.plot(points[:, 0], points[:, 1], color="#1f2933", lw=1.2, ls="--", label="oracle")
                break
        for sweep, colour in (("cost weight", BLUE), ("searches", GREY)):
            points = [(mean(result, n, "proximity"), mean(result, n, "robust")) for n in
                      result["sweeps_of"].get(sweep, {}) if n in result["methods"]]  # fmt: skip
            if points:
                axes.scatter(*zip(*points, strict=True), color=colour, s=9, alpha=0.7, lw=0)
        for name, (colour, marker) in STYLES.items():
            at = mean(result, name, "proximity"), mean(result, name, "robust")
            if None not in at:
                axes.scatter(*at, color=colour, marker=marker, s=38, lw=0, label=name, zorder=3)
            paper = tables.printed()["table 2"].get(name, {}).get(result["dataset"])
            if paper is not None:
                where = paper["proximity"][0], paper["robust"][0]
                axes.scatter(*where, facecolors="none", edgecolors=colour, marker=marker, s=38, lw=1)
        axes.set_ylim(0.0, 1.04)
        axes.set_xlim(left=0.0)
        axes.set_xlabel("l1 cost", color=SOFT)
        dress(axes, result["title"])
    panels[0, 0].set_ylabel("robust validity (hollow: printed)", color=SOFT)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=5, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.88))
    return figure


def matrices(found: list[dict[str, Any]]) -> Any:
    """Validity of every year's recourse under every year's model (Figures 7 and 10)."""
    result = next((r for r in found if len(r["subsets"]) > 2), None)
    if result is None:
        return None
    wanted = (
        "CounterNet", "RoCourseNet", "CounterNet, ours", "RoCourseNet, guides", "CF Model", "Robust CF Model",
        "VAE-CF", "Robust VAE-CF",
    )  # fmt: skip
    names = [n for n in wanted if n in result["methods"]]
    figure, panels = plt.subplots(
        2, -(-len(names) // 2), figsize=(2.4 * -(-len(names) // 2) + 0.8, 5.4), squeeze=False
    )
    years = [s[2:] for s in result["subsets"]]
    every = range(0, len(years), 3)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    for name, axes in zip(names, panels.flat, strict=False):
        matrix = np.mean([s["matrix"] for s in result["methods"][name]], axis=0)
        shown = axes.imshow(matrix, vmin=0, vmax=1, cmap="Blues")
        axes.set_xticks(list(every), [years[i] for i in every], fontsize=7)
        axes.set_yticks(list(every), [years[i] for i in every], fontsize=7)
        axes.set_title(f"{name}\n{mean(result, name, 'robust'):.3f} off the diagonal", fontsize=8)
    for axes in panels[:, 0]:
        axes.set_ylabel("made in", color=SOFT, fontsize=8)
    for axes in panels[-1]:
        axes.set_xlabel("judged by", color=SOFT, fontsize=8)
    figure.tight_layout(rect=(0, 0, 0.9, 1))
    figure.colorbar(shown, cax=figure.add_axes((0.91, 0.2, 0.015, 0.6)))
    return figure


def attacks(found: list[dict[str, Any]]) -> Any:
    """Recourse that survives an attack of more steps or a larger radius, and training against such attackers."""
    have = [r for r in found if r.get("attacks")]
    if not have:
        return None
    trained = any(r["sweeps_of"].get("radius E") for r in have)
    wide = 4 if trained else 2
    figure, panels = plt.subplots(
        len(have), wide, figsize=(2.6 * wide, 2.7 * len(have)), squeeze=False, sharey=True
    )
    for result, row in zip(have, panels, strict=True):
        for sweep, axes in zip(("steps T", "radius E"), row[:2], strict=True):
            for kind, line in (("linf, adam", "-"), ("l2, adam", "--"), ("linf, sgd", ":")):
                for name, values in result["attacks"].get(f"{sweep}, {kind}", {}).items():
                    colour, marker = STYLES.get(name, (GREY, "x"))
                    style = {"color": colour, "marker": marker, "ms": 3.5, "lw": 1, "ls": line}
                    style |= {"label": name} if line == "-" else {}
                    axes.plot([float(v) for v in values], list(values.values()), **style)
            axes.set_xlabel(f"{sweep} of the attack", color=SOFT)
            dress(axes, result["title"])
        for sweep, axes in zip(("attacker steps T", "radius E"), row[2:], strict=False):
            for of, line in ((sweep, "-"), (f"{sweep}, l2", "--")):
                names = result["sweeps_of"].get(of, {})
                points = [
                    (float(v), mean(result, n, "robust")) for n, v in names.items() if n in result["methods"]
                ]
                if points:
                    axes.plot(*zip(*sorted(points), strict=True), color=GREEN, marker="X", ms=4, lw=1, ls=line)
            axes.set_xlabel(f"{sweep} in training", color=SOFT)
            dress(axes, result["title"])
        row[0].set_ylim(-0.03, 1.04)
        row[0].set_ylabel("survives; robust validity" if trained else "survives", color=SOFT)
    panels[0, 0].legend(frameon=False, fontsize=7)
    figure.tight_layout()
    return figure


def losses(found: list[dict[str, Any]]) -> Any:
    """What one training told, epoch by epoch (Figure 11)."""
    result = next((r for r in reversed(found) if r.get("losses")), None)
    if result is None:
        return None
    n = len(result["losses"])
    figure, panels = plt.subplots(1, n, figsize=(2.3 * n, 2.5), squeeze=False)
    for (name, curve), axes in zip(result["losses"].items(), panels[0], strict=True):
        axes.plot(np.arange(1, len(curve) + 1), [np.nan if v is None else v for v in curve], color=BLUE, lw=1.2)
        axes.set_xlabel("epoch", color=SOFT)
        dress(axes, f"{result['title']}: {name}")
    figure.tight_layout()
    return figure
