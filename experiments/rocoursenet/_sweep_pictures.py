"""Pictures of the RoCourseNet page's attacks and sweeps: Figures 4, 5, 6 and 12 of the paper."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.lines import Line2D

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, SOFT, dress
from experiments.rocoursenet._figures import over, spread
from experiments.rocoursenet._look import STYLES
from experiments.rocoursenet._result import Result

KINDS = {"linf, sgd": "plain steps, l-inf", "linf, adam": "Adam, l-inf", "l2, adam": "Adam, l2"}
Results = Sequence[Result]
Pair = tuple[float | None, float | None]
"""Mean and deviation over seeds."""
SHADES = {"0.1": 0.35, "0.3": 0.65, "1": 1.0}


def bars(axes: Any, x: Sequence[float], pairs: Sequence[Pair], **style: Any) -> None:
    """A line through means, with deviations over seeds."""
    half = [0.0 if s is None else s for _, s in pairs]
    axes.errorbar(x, [m for m, _ in pairs], yerr=half, capsize=2, ms=3.5, lw=1, elinewidth=0.7, **style)


def swept(result: Result, title: str, key: str) -> tuple[list[float], list[Pair]]:
    """Numbers of a sweep, in order, and the figures that belong to them."""
    named = sorted(result.sweeps_of.get(title, {}).items(), key=lambda pair: float(pair[1]))
    return [float(label) for _, label in named], [over(result.methods[n], key) for n, _ in named]


def even(axes: Any, values: Sequence[float]) -> None:
    """Ticks at the values themselves; they are set by hand and far from even."""
    axes.set_xticks(range(len(values)), [f"{v:g}" for v in values])


def explained(figure: Any, handles: Sequence[Any], labels: Sequence[str], room: float = 0.05) -> Any:
    """One legend for all panels, in some room above them."""
    figure.legend(handles, labels, loc="upper center", ncols=len(labels), frameon=False, fontsize=8)
    figure.tight_layout(rect=(0, 0, 1, 1 - room))
    return figure


def attacks(found: Results) -> Any:
    """Recourse that survives an attack of more steps or a larger radius (Figures 4a, 4d and 12)."""
    have = [r for r in found if r.attacks]
    if not have:
        return None
    panels = [(sweep, kind) for sweep in ("steps T", "radius E") for kind in KINDS]
    figure, grid = plt.subplots(
        len(have), len(panels), figsize=(2.0 * len(panels), 2.3 * len(have) + 0.5), squeeze=False, sharey=True
    )
    for result, row in zip(have, grid, strict=True):
        for (sweep, kind), axes in zip(panels, row, strict=True):
            for name, values in result.attacks.get(f"{sweep}, {kind}", {}).items():
                colour, marker = STYLES.get(name, (GREY, "x"))
                pairs = [spread(v.survival) for v in values.values()]
                bars(axes, range(len(pairs)), pairs, color=colour, marker=marker, label=name)
                even(axes, [float(v) for v in values])
            axes.set_ylim(-0.03, 1.04)
            axes.set_xlabel(sweep, color=SOFT)
            dress(axes, f"{result.title}\n{KINDS[kind]}")
            axes.title.set_fontsize(8.5)
        row[0].set_ylabel("survives", color=SOFT)
    return explained(figure, *grid[0, 0].get_legend_handles_labels())


def attackers(found: Results) -> Any:
    """Training against attackers of more steps or a larger radius (Figures 4b, 4c, 4e, 4f and 12)."""
    have = [r for r in found if r.sweeps_of.get("radius E")]
    if not have:
        return None
    panels = [(s, k) for k in ("robust", "proximity") for s in ("attacker steps T", "radius E")]
    figure, grid = plt.subplots(len(have), 4, figsize=(9.6, 2.4 * len(have) + 0.4), squeeze=False)
    for result, row in zip(have, grid, strict=True):
        for (sweep, key), axes in zip(panels, row, strict=True):
            kinds = ((sweep, "l-inf", GREEN, "P"), (f"{sweep}, l2", "l2", ORANGE, "^"))
            shown = sorted({v for title, *_ in kinds for v in swept(result, title, key)[0]})
            for title, label, colour, marker in kinds:
                values, pairs = swept(result, title, key)
                if values:
                    places = [shown.index(v) for v in values]
                    bars(axes, places, pairs, color=colour, marker=marker, label=label)
            even(axes, shown)
            plain = over(result.methods.get("CounterNet", []), key)[0]
            if plain is not None and _of_all_subsets(result, sweep):
                axes.axhline(plain, color=GREY, lw=1, ls="--", label="no attacker (CounterNet)")
            axes.set_xlabel(f"{sweep.removeprefix('attacker ')} in training", color=SOFT)
            axes.set_ylim(0, 1.04 if key == "robust" else None)
            axes.set_ylabel("robust validity" if key == "robust" else "l1 cost", color=SOFT)
            dress(axes, result.title)
    return explained(figure, *grid[0, 0].get_legend_handles_labels())


def _of_all_subsets(result: Result, sweep: str) -> bool:
    """Whether a sweep has every subset, as the rows of Table 2 do."""
    own = [seed for name in result.sweeps_of.get(sweep, {}) for seed in result.methods[name]]
    return all(len(seed.matrix) == len(result.subsets) for seed in own)


def sizes(found: Results) -> Any:
    """Fronts of trainings on a part of the rows (Figure 5)."""
    have = [r for r in found if any("of the rows" in t for t in r.sweeps_of)]
    if not have:
        return None
    figure, grid = plt.subplots(1, 2 * len(have), figsize=(2.7 * 2 * len(have), 3.2), squeeze=False, sharey=True)
    shown = [(r, m) for r in have for m in ("RoCourseNet", "RoCourseNet, guides")]
    for (result, method), axes in zip(shown, grid[0], strict=True):
        for share, shade in SHADES.items():
            labels = result.sweeps_of.get(f"{share} of the rows, {method}", {})
            if share == "1" and not labels:
                # Of all rows there are the front, or else the row of Table 2.
                labels = result.sweeps_of.get(f"cost weight, {method}", {method: ""})
            own = [result.methods[name] for name in labels]
            rows = [(over(seeds, "proximity")[0], *over(seeds, "robust")) for seeds in own]
            if rows:
                x, y, half = zip(*rows, strict=True)
                colour = GREEN if method == "RoCourseNet" else BLUE
                bars(axes, x, list(zip(y, half, strict=True)), color=colour, alpha=shade, marker="o")
        axes.set_ylim(0, 1.04)
        axes.set_xlabel("l1 cost", color=SOFT)
        dress(axes, f"{result.title}\n{method}")
    grid[0, 0].set_ylabel("robust validity", color=SOFT)
    shades = [Line2D([], [], color="#1f2933", alpha=a, marker="o", ms=3.5, lw=1) for a in SHADES.values()]
    names = [f"{float(share):.0%} of the rows" for share in SHADES]
    return explained(figure, shades, names, room=0.07)


def schedules(found: Results) -> Any:
    """A radius that grows over the training beside one that does not (Figure 6)."""
    have = [r for r in found if r.sweeps_of.get("schedule")]
    if not have:
        return None
    figure, grid = plt.subplots(1, len(have), figsize=(3.0 * len(have), 2.7), squeeze=False, sharey=True)
    for result, axes in zip(have, grid[0], strict=True):
        by = {label: over(result.methods[n], "robust") for n, label in result.sweeps_of["schedule"].items()}
        radii = list(dict.fromkeys(label.split("E = ")[1] for label in by))
        for offset, schedule, colour in ((-0.15, "linear", GREEN), (0.15, "static", ORANGE)):
            pairs = [by[f"{schedule}, E = {e}"] for e in radii]
            place = np.arange(len(radii)) + offset
            half = [0.0 if s is None else s for _, s in pairs]
            heights = [np.nan if m is None else m for m, _ in pairs]
            axes.bar(place, heights, width=0.26, yerr=half, color=colour, alpha=0.8, capsize=3, label=schedule)
        axes.set_xticks(range(len(radii)), radii)
        axes.set_ylim(0, 1.04)
        axes.set_xlabel("radius E in training", color=SOFT)
        dress(axes, result.title)
    grid[0, 0].set_ylabel("robust validity", color=SOFT)
    grid[0, 0].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


PICTURES = {"attacks": attacks, "attackers": attackers, "sizes": sizes, "schedules": schedules}
