"""Put the committed results of the papers' experiments into their pages: ``python docs/papers/make.py``.

Reads ``benchmarks/results/<paper>/*.json``, writes the tables between the markers of ``docs/papers/<paper>.md``
and draws the pictures beside those of ``docs/images``. Nothing is measured here.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt

from holdfast.papers import experiment
from holdfast.papers.actionable_recourse import _figures as recourse_figures
from holdfast.papers.consistent_counterfactuals._tables import mean

matplotlib.use("Agg")
matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9})

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
SOFT = "#52606d"
BLUE, ORANGE, GREY = "#1f6fb2", "#d9822b", "#9aa5b1"
BEGIN, END = "<!-- tables: made by docs/papers/make.py -->", "<!-- end of tables -->"


def results(paper: str) -> list[dict[str, Any]]:
    """Committed results, in the experiment's order of datasets."""
    folder = ROOT / "benchmarks" / "results" / paper
    places = [folder / f"{name}.json" for name in experiment(paper).datasets]
    return [json.loads(place.read_text(encoding="utf-8")) for place in places if place.exists()]


def fill(paper: str) -> None:
    """Write the tables into the page."""
    page = ROOT / "docs" / "papers" / f"{paper}.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    tables = experiment(paper).markdown(results(paper))
    page.write_text(f"{before}{BEGIN}\n\n{tables}\n{END}{after}", encoding="utf-8")


def consistent_front() -> None:
    """Invalidation against cost, one panel per dataset: the fronts of SNS and StableSearch, the base methods."""
    found = [r for r in results("consistent-counterfactuals") if r["dataset"] != "taiwan-minmax"]
    figure, panels = plt.subplots(2, 3, figsize=(9.0, 5.4))
    for result, axes in zip(found, panels.flat, strict=True):
        names = result["bases"][0]["relaxed"]

        def point(name: str, result: dict[str, Any] = result) -> tuple[float, float]:
            return tuple(mean(result, lambda b, k=k: b["relaxed"][name][k]) for k in ("l2", "iv_rs"))  # type: ignore

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
        axes.set_title(result["title"], fontsize=9.5)
        axes.set_xscale("log")
        axes.set_ylim(-0.03, 1.0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e4e7eb", lw=0.5)
        axes.set_axisbelow(True)
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
    figure.savefig(IMAGES / "consistent-front.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


def consistent_reliability() -> None:
    """Stated against observed survival in bins, all datasets."""
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    axes.plot([0, 1], [0, 1], color=GREY, lw=1)
    markers = "o^sDvPX"
    for result, marker in zip(results("consistent-counterfactuals"), markers, strict=False):
        bins = [b for base in result["bases"] for b in base["shelf_life"]["bins"] if b["n"] >= 20]
        told, held = [b["told"] for b in bins], [b["held"] for b in bins]
        axes.scatter(told, held, s=16, marker=marker, alpha=0.75, lw=0, label=result["title"])
    axes.set_xlabel("share of 20 unseen retrainings that accept", color=SOFT)
    axes.set_ylabel("share of 80 further ones", color=SOFT)
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.savefig(
        IMAGES / "consistent-reliability.png", dpi=130, bbox_inches="tight", metadata={"Software": None}
    )
    plt.close(figure)


def recourse_front() -> None:
    """Ranking quality against recourse of the refused as lambda grows, one panel per dataset."""
    found = [r for r in results("actionable-recourse") if "kinds" in r and r["dataset"] != "bail-paper"]
    figure, panels = plt.subplots(1, len(found), figsize=(2.6 * len(found), 2.9), squeeze=False)
    for result, axes in zip(found, panels[0], strict=True):
        for sweep, search, label, colour, marker in (
            ("linear", "linear", "linear step, in training and in use", ORANGE, "^"),
            ("linear", "best", "linear step in training, best search in use", GREY, "s"),
            ("lattice", "best", "lattice in training, best search in use", BLUE, "o"),
        ):
            keys = ["linear 0", *(k for k in result["kinds"] if k.startswith(sweep) and k != "linear 0")]
            points = []
            for key in keys:
                parts = recourse_figures.members(result, key)
                share, _ = recourse_figures.pooled(parts, lambda f, s=search: f["recourse"][s])
                auc, _ = recourse_figures.mean(parts, lambda f: f["performance"]["auc"])
                points.append((share, auc))
            axes.plot(*zip(*points, strict=True), color=colour, marker=marker, ms=3.5, lw=1, label=label)
        axes.set_title(result["title"], fontsize=9.5)
        axes.set_xlabel("refused who have recourse", color=SOFT)
        axes.set_xlim(0, 1.03)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e4e7eb", lw=0.5)
        axes.set_axisbelow(True)
    panels[0, 0].set_ylabel("AUC", color=SOFT)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", ncols=2, frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 0.84))
    figure.savefig(IMAGES / "recourse-front.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    fill("actionable-recourse")
    recourse_front()
    fill("consistent-counterfactuals")
    consistent_front()
    consistent_reliability()
