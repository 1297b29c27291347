"""Put the committed results of the papers' experiments into their pages: ``python docs/papers/make.py``.

Reads ``benchmarks/results/<paper>/*.json``, writes the tables between the markers of ``docs/papers/<paper>.md``
and draws the pictures beside those of ``docs/images``. Nothing is measured here.
"""

import json
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import shift_pictures
from counterfactual_pictures import PICTURES

from holdtrue.papers import experiment
from holdtrue.papers.actionable_recourse import _figures as recourse_figures
from holdtrue.papers.consistent_counterfactuals._tables import mean
from holdtrue.papers.robustness_tradeoffs._settings import BUDGETS
from holdtrue.papers.robustness_tradeoffs._tables import interval, nothing, of, ratio

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


# ---- robustness against recourse --------------------------------------------------------------------


def _line(axes: Any, radii: list[str], values: list[tuple[float, float] | None], **style: Any) -> None:
    """Means with intervals, where there are some."""
    there = [(float(r), *v) for r, v in zip(radii, values, strict=True) if v is not None]
    if there:
        x, y, half = (np.array(part) for part in zip(*there, strict=True))
        axes.errorbar(x, y, yerr=np.nan_to_num(half), capsize=2, lw=1.2, ms=4, **style)


def _dress(axes: Any, title: str = "") -> None:
    axes.set_title(title, fontsize=9.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e7eb", lw=0.5)
    axes.set_axisbelow(True)


def tradeoff_sweep(found: list[dict[str, Any]]) -> None:
    """Share predicted favourable, robust accuracy and cost ratio against epsilon, LR and MLP."""
    figure, panels = plt.subplots(3, 3, figsize=(9.4, 7.4), sharex=True)
    for result, column in zip(found, panels.T, strict=True):
        edge = np.mean(result["collapse"]["linf"])
        for kind, colour, marker in (("LR", BLUE, "o"), ("MLP", ORANGE, "^")):
            radii = list(result["models"][kind])
            entries = result["models"][kind].values()
            style = {"color": colour, "marker": marker, "label": kind}
            for axes, key in zip(column, ("favourable", "robust"), strict=False):
                _line(axes, radii, [interval([s[key] for s in e["splits"]]) for e in entries], **style)
            ratios = [interval(ratio(e)) if nothing(e) is None else None for e in entries]
            _line(column[2], radii, ratios, **style)
        for axes in column:
            axes.axvline(edge, color=GREY, lw=1, ls="--")
            _dress(axes)
        column[0].set_title(f"{result['title']}, ε* = {edge:.2f}", fontsize=9.5)
        column[0].set_ylim(-0.04, 1.04)
        column[2].set_yscale("log")
        column[2].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        column[2].minorticks_off()
        column[2].set_xlabel("ε", color=SOFT)
    names = ("predicted favourable", "accuracy under attack, own ε", "cost over that at ε = 0, same people")
    for axes, label in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(label, color=SOFT, fontsize=8)
    panels[0, 0].legend(frameon=False)
    _save(figure, "tradeoff-sweep")


def tradeoff_validity(found: list[dict[str, Any]]) -> None:
    """Validity over SCFE's budget for networks of several radii."""
    figure, panels = plt.subplots(1, 3, figsize=(9.4, 3.2), sharey=True)
    colours = {"0": BLUE, "0.02": "#3a7d44", "0.05": ORANGE, "0.1": "#8e5ba6"}
    for result, axes in zip(found, panels, strict=True):
        for radius, colour in colours.items():
            entry = result["models"]["MLP"][radius]
            own = [s for s in entry["splits"] if "scfe" in s]
            if nothing(entry) is not None or not own:
                continue
            axes.plot(
                BUDGETS, np.mean([s["scfe"] for s in own], axis=0), color=colour, lw=1.4, label=f"ε = {radius}"
            )
            axes.plot(BUDGETS, np.mean([s["scfe_hardened"] for s in own], axis=0), color=colour, lw=1.1, ls="--")
            axes.plot([1800], [np.mean([s["near"] for s in own])], color=colour, marker="*", ms=9, lw=0)
        axes.set_xscale("log")
        axes.set_xticks([10, 100, 1000, 1800], ["10", "100", "1000", "  ∞"])
        axes.minorticks_off()
        axes.set_ylim(-0.04, 1.06)
        axes.set_xlabel("steps of SCFE", color=SOFT)
        _dress(axes, f"{result['title']}, MLP")
    panels[0].set_ylabel("valid; dashed: hardened", color=SOFT)
    panels[-1].legend(frameon=False, fontsize=8)
    _save(figure, "tradeoff-validity")


def tradeoff_columns(found: list[dict[str, Any]]) -> None:
    """Where the slope lies, and for whom a yes exists with immutable columns held."""
    figure, panels = plt.subplots(2, 3, figsize=(9.4, 5.0), sharex=True, sharey=True)
    for result, column in zip(found, panels.T, strict=True):
        for kind, colour, marker in (("LR", BLUE, "o"), ("MLP", ORANGE, "^")):
            entries = result["models"][kind]
            style = {"color": colour, "marker": marker, "label": kind}
            shares = [interval([s["on_fixed"] for s in e["splits"]]) for e in entries.values()]
            _line(column[0], list(entries), shares, **style)
            held = [interval(of(e, lambda s: s["held"])) if nothing(e) is None else None for e in entries.values()]
            _line(column[1], list(entries), held, **style)
        for axes in column:
            axes.set_ylim(-0.04, 1.06)
            _dress(axes)
        column[0].set_title(result["title"], fontsize=9.5)
        column[1].set_xlabel("ε", color=SOFT)
    panels[0, 0].set_ylabel("slope on immutable columns", color=SOFT)
    panels[1, 0].set_ylabel("a yes exists, immutable held", color=SOFT)
    panels[0, 0].legend(frameon=False)
    _save(figure, "tradeoff-columns")


def tradeoff_nearby(found: list[dict[str, Any]]) -> None:
    """Rows around one person of Adult, and which of them four networks accept."""
    result = next(r for r in found if r["dataset"] == "adult")
    person = result["nearby"]["person"]
    xy = np.array(person["xy"])
    shown = [result["radii"].index(r) for r in (0.0, 0.05, 0.1, 0.25)]
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.8))
    for k, axes in zip(shown, panels, strict=True):
        yes = np.array(person["accepted"][k], bool)
        axes.scatter(*xy[~yes].T, s=8, color=GREY, lw=0, alpha=0.7)
        axes.scatter(*xy[yes].T, s=10, color=ORANGE, lw=0)
        axes.scatter(*xy[:1].T, s=60, marker="*", color=BLUE, lw=0)
        axes.set_title(f"ε = {result['radii'][k]:g}: {int(yes[1:].sum())} of {len(yes) - 1} accepted", fontsize=9)
        axes.set(xticks=[], yticks=[])
    _save(figure, "tradeoff-nearby")


def tradeoff_bounds(found: list[dict[str, Any]]) -> None:
    """Cost differences of a hundred people of Adult at epsilon 0.05, and the bounds on them."""
    result = next(r for r in found if r["dataset"] == "adult")
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 3.2))
    for axes, kind, theorem in zip(panels, ("LR", "MLP"), ("Theorem 1", "Theorem 2"), strict=True):
        people = result["bounds"][kind]["0.05"][f"{theorem}, cost weight 0.01"]["people"]
        place = np.arange(len(people["difference"]))
        axes.scatter(place, np.abs(people["difference"]), s=8, color=ORANGE, lw=0, label="difference of cost")
        for form, colour in (("printed", GREY), ("corrected", BLUE), ("sharper", "#3a7d44")):
            axes.plot(place, [np.nan if v is None else v for v in people[form]], color=colour, lw=1.2, label=form)
        axes.set_yscale("log")
        axes.set_xlabel("people, by difference", color=SOFT)
        _dress(axes, f"Adult, {kind}: {theorem}, ε = 0.05, cost weight 0.01")
    panels[0].legend(frameon=False, fontsize=8)
    _save(figure, "tradeoff-bounds")


def _save(figure: Any, name: str) -> None:
    figure.tight_layout()
    figure.savefig(IMAGES / f"{name}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    fill("actionable-recourse")
    recourse_front()
    fill("consistent-counterfactuals")
    consistent_front()
    consistent_reliability()
    fill("rocoursenet")
    shift_pictures.draw(results("rocoursenet"), IMAGES)
    fill("robustness-tradeoffs")
    swept = results("robustness-tradeoffs")
    for draw in (tradeoff_sweep, tradeoff_validity, tradeoff_columns, tradeoff_nearby, tradeoff_bounds):
        draw(swept)
    fill("counterfactual-training")
    trained = results("counterfactual-training")
    for name, picture in PICTURES.items():
        figure = picture(trained)
        if figure is not None:
            _save(figure, name)
