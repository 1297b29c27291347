"""Pictures of the robustness-tradeoffs page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SOFT, dress, save
from experiments.robustness_tradeoffs._further import NAMES, broken, of_people, of_splits
from experiments.robustness_tradeoffs._result import Result
from experiments.robustness_tradeoffs._settings import BUDGETS
from experiments.robustness_tradeoffs._tables import interval, nothing, of, ratio

Results = Sequence[Result]


def draw(found: Results, folder: Path) -> None:
    """Draw all of them into a folder."""
    for make in (sweep, validity, columns, nearby, bounds):
        save(make(found), folder, f"tradeoff-{make.__name__}")
    if of_people():
        save(theorems(of_people()), folder, "tradeoff-theorems")


def _line(axes: Any, radii: list[str], values: list[tuple[float, float] | None], **style: Any) -> None:
    """Means with intervals, where there are some."""
    there = [(float(r), *v) for r, v in zip(radii, values, strict=True) if v is not None]
    if there:
        x, y, half = (np.array(part) for part in zip(*there, strict=True))
        axes.errorbar(x, y, yerr=np.nan_to_num(half), capsize=2, lw=1.2, ms=4, **style)


def sweep(found: Results) -> Any:
    """Share predicted favourable, robust accuracy and cost ratio against epsilon, LR and MLP."""
    figure, panels = plt.subplots(3, 3, figsize=(9.4, 7.4), sharex=True)
    for result, column in zip(found, panels.T, strict=True):
        edge = np.mean(result.collapse["linf"])
        for kind, colour, marker in (("LR", BLUE, "o"), ("MLP", ORANGE, "^")):
            radii = list(result.models[kind])
            entries = result.models[kind].values()
            style = {"color": colour, "marker": marker, "label": kind}
            for axes, key in zip(column, ("favourable", "robust"), strict=False):
                _line(axes, radii, [interval([getattr(s, key) for s in e.splits]) for e in entries], **style)
            ratios = [interval(ratio(e)) if nothing(e) is None else None for e in entries]
            _line(column[2], radii, ratios, **style)
        for axes in column:
            axes.axvline(edge, color=GREY, lw=1, ls="--")
            dress(axes)
        column[0].set_title(f"{result.title}, ε* = {edge:.2f}", fontsize=9.5)
        column[0].set_ylim(-0.04, 1.04)
        column[2].set_yscale("log")
        column[2].set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        column[2].minorticks_off()
        column[2].set_xlabel("ε", color=SOFT)
    names = ("predicted favourable", "accuracy under attack, own ε", "cost over that at ε = 0, same people")
    for axes, label in zip(panels[:, 0], names, strict=True):
        axes.set_ylabel(label, color=SOFT, fontsize=8)
    panels[0, 0].legend(frameon=False)
    figure.tight_layout()
    return figure


def validity(found: Results) -> Any:
    """Validity over SCFE's budget for networks of several radii."""
    figure, panels = plt.subplots(1, 3, figsize=(9.4, 3.2), sharey=True)
    colours = {"0": BLUE, "0.02": GREEN, "0.05": ORANGE, "0.1": PURPLE}
    for result, axes in zip(found, panels, strict=True):
        for radius, colour in colours.items():
            entry = result.models["MLP"][radius]
            own = [s for s in entry.splits if s.scfe is not None]
            if nothing(entry) is not None or not own:
                continue
            relaxed, hardened, near = (
                np.mean([getattr(s, key) for s in own], axis=0) for key in ("scfe", "scfe_hardened", "near")
            )
            axes.plot(BUDGETS, relaxed, color=colour, lw=1.4, label=f"ε = {radius}")
            axes.plot(BUDGETS, hardened, color=colour, lw=1.1, ls="--")
            axes.plot([1800], [near], color=colour, marker="*", ms=9, lw=0)
        axes.set_xscale("log")
        axes.set_xticks([10, 100, 1000, 1800], ["10", "100", "1000", "  ∞"])
        axes.minorticks_off()
        axes.set_ylim(-0.04, 1.06)
        axes.set_xlabel("steps of SCFE", color=SOFT)
        dress(axes, f"{result.title}, MLP")
    panels[0].set_ylabel("valid; dashed: hardened", color=SOFT)
    panels[-1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def columns(found: Results) -> Any:
    """Where the slope lies, and for whom a yes exists with immutable columns held."""
    figure, panels = plt.subplots(2, 3, figsize=(9.4, 5.0), sharex=True, sharey=True)
    for result, column in zip(found, panels.T, strict=True):
        for kind, colour, marker in (("LR", BLUE, "o"), ("MLP", ORANGE, "^")):
            entries = result.models[kind]
            style = {"color": colour, "marker": marker, "label": kind}
            shares = [interval([s.on_fixed for s in e.splits]) for e in entries.values()]
            _line(column[0], list(entries), shares, **style)
            held = [interval(of(e, lambda s: s.held)) if nothing(e) is None else None for e in entries.values()]
            _line(column[1], list(entries), held, **style)
        for axes in column:
            axes.set_ylim(-0.04, 1.06)
            dress(axes)
        column[0].set_title(result.title, fontsize=9.5)
        column[1].set_xlabel("ε", color=SOFT)
    panels[0, 0].set_ylabel("slope on immutable columns", color=SOFT)
    panels[1, 0].set_ylabel("a yes exists, immutable held", color=SOFT)
    panels[0, 0].legend(frameon=False)
    figure.tight_layout()
    return figure


def nearby(found: Results) -> Any:
    """Rows around one person of Adult, and which of them four networks accept."""
    result = next(r for r in found if r.dataset == "adult")
    assert result.nearby is not None
    person = result.nearby.person
    xy = np.array(person.xy)
    shown = [result.radii.index(r) for r in (0.0, 0.05, 0.1, 0.25)]
    figure, panels = plt.subplots(1, 4, figsize=(9.6, 2.8))
    for k, axes in zip(shown, panels, strict=True):
        yes = np.array(person.accepted[k], bool)
        axes.scatter(*xy[~yes].T, s=8, color=GREY, lw=0, alpha=0.7)
        axes.scatter(*xy[yes].T, s=10, color=ORANGE, lw=0)
        axes.scatter(*xy[:1].T, s=60, marker="*", color=BLUE, lw=0)
        axes.set_title(f"ε = {result.radii[k]:g}: {int(yes[1:].sum())} of {len(yes) - 1} accepted", fontsize=9)
        axes.set(xticks=[], yticks=[])
    figure.tight_layout()
    return figure


def bounds(found: Results) -> Any:
    """Cost differences of a hundred people of Adult at epsilon 0.05, and the bounds on them."""
    result = next(r for r in found if r.dataset == "adult")
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 3.2))
    for axes, kind, theorem in zip(panels, ("LR", "MLP"), ("Theorem 1", "Theorem 2"), strict=True):
        sides = (result.bounds or {})[kind]["0.05"][f"{theorem}, cost weight 0.01"].people or {}
        people = {side: np.array([np.nan if v is None else v for v in values]) for side, values in sides.items()}
        place = np.arange(len(people["difference"]))
        axes.scatter(place, np.abs(people["difference"]), s=8, color=ORANGE, lw=0, label="difference of cost")
        for form, colour in (("printed", GREY), ("corrected", BLUE), ("sharper", GREEN)):
            axes.plot(place, people[form], color=colour, lw=1.2, label=form)
        axes.set_yscale("log")
        axes.set_xlabel("people, by difference", color=SOFT)
        dress(axes, f"Adult, {kind}: {theorem}, ε = 0.05, cost weight 0.01")
    panels[0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def theorems(found: dict[str, Any]) -> Any:
    """Theorem 3: how much of its bound differences of cost fill. Theorem 5: for whom its conclusion is false."""
    there = [name for name in NAMES if "Theorem 3" in found.get(name, {})]
    figure, panels = plt.subplots(1, 2, figsize=(9.0, 3.0))
    place = np.arange(len(there))
    for i, (form, colour) in enumerate((("printed", GREY), ("sharper", GREEN))):
        for at, name in zip(place, there, strict=True):
            filled = [of_splits(found[name]["Theorem 3"][form], f"filled ({p})") for p in ("median", "largest")]
            for k, (median, largest) in enumerate(zip(*filled, strict=True)):
                x = at + 0.2 * (2 * i - 1) + 0.06 * (k - (len(filled[0]) - 1) / 2)
                panels[0].vlines(x, median, largest, color=colour, lw=1)
                label = form if at == 0 and k == 0 else None
                panels[0].plot(x, median, "o", ms=3.5, color=colour, label=label)
    panels[0].axhline(1.0, color=ORANGE, lw=1, label="the bound")
    panels[0].set_yscale("log")
    dress(panels[0], "Theorem 3: share of the bound that is filled, median to largest, by split")
    panels[0].title.set_fontsize(8.5)
    for i, (form, colour) in enumerate((("printed", GREY), ("corrected", BLUE))):
        shares = [broken(found[name]["Theorem 5, own distance"][form]) for name in there]
        means, halves = [np.mean(s) for s in shares], [np.std(s, ddof=1) if len(s) > 1 else 0.0 for s in shares]
        style = {"color": colour, "capsize": 3, "label": f"{form} condition holds"}
        panels[1].bar(place + 0.2 * (2 * i - 1), means, 0.35, yerr=halves, **style)
    dress(panels[1], "Theorem 5: people for whom it holds and the conclusion is false")
    panels[1].title.set_fontsize(8.5)
    panels[0].set_ylim(top=20)
    panels[1].set_ylim(0, 1)
    for axes in panels:
        axes.set_xticks(place, [NAMES[name] for name in there])
        axes.legend(frameon=False, fontsize=7.5, loc="upper left", ncols=3)
    figure.tight_layout()
    return figure
