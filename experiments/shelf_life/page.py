"""Write docs/explanation/what-buys-shelf-life.md's tables and its picture from committed results.

``python -m experiments.shelf_life.page`` reads ``results/*.json``; nothing is measured.
"""

import json
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SOFT, dress, plt, save
from experiments._report import table
from experiments.shelf_life._result import Cell, Offers
from experiments.shelf_life.study import DATASETS, MISCOVERAGE, RESULTS, TRAININGS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "explanation" / "what-buys-shelf-life.md"
BEGIN, END = "<!-- tables: made by python -m experiments.shelf_life.page -->", "<!-- end of tables -->"
TABLES = {"german_credit": "German Credit", "loanapp": "mortgages", "heloc": "HELOC", "adult": "Adult"}
NAMES = {
    "plain": "plain", "early": "plain, stopped early", "adversarial": "adversarial", "recourse": "for recourse",
    "counterfactual": "counterfactual", "rocoursenet": "RoCourseNet",
}  # fmt: skip
COLOURS = dict(zip(TRAININGS, (GREY, SOFT, ORANGE, GREEN, BLUE, PURPLE), strict=True))
OFFERS = {"plain": "plain search", "held": "`hold` at 95%", "generated": "its generator"}
EQUAL = 0.01  # shares that differ by less count as equal
RARE = 0.01
"""As in `holdtrue.verify`: so many without recourse would be a coincidence as rare as this."""
Values = Sequence[float | None]
TOGETHER = """In the mean over tables, each counting the same. *Found*: share of refused people with recourse.
*Cost*: l1, in ranges of the columns, a changed category counting 2. *Survives*: share of 20 unseen retrained
models that accept, with a 95% interval over people."""
SAME = """Trainings refuse different people. Here are the {} (over all tables and splits) whom the models of all
six refuse and have recourse for."""
PROMISED = """Before it, at most 5% of people were promised to be without recourse, at the highest threshold for
which that could be promised (confidence 95%). Afterwards: share of held-out people without recourse at that
threshold, in the mean and at most over retrainings; then the share of retrainings after which the promise is
refuted (so many without recourse have a probability below 0.01 if it held, as `verify` counts). Then the same
at the model's own threshold, where it could be certified."""


def cells(folder: Path = RESULTS) -> list[Cell]:
    """What is committed, a table, a split and a training each."""
    return [Cell.from_dict(json.loads(place.read_text("utf-8"))) for place in sorted(folder.glob("*.json"))]


def _mean(values: Values) -> float | None:
    there = [v for v in values if v is not None]
    return float(np.mean(there)) if there else None


def _said(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def averaged(some: Sequence[Cell], figure: Callable[[Cell], float | None]) -> float | None:
    """Mean over tables of the mean over splits, so that each table counts the same."""
    by = [_mean([figure(c) for c in some if c.dataset == name]) for name in DATASETS]
    return _mean(by)


def of_offer(name: str, key: str) -> Callable[[Cell], float | None]:
    """A figure of one kind of recourse in a cell, over its people."""
    return lambda c: _mean(getattr(c.offers[name], key)) if name in c.offers else None


def without(cell: Cell, at: int) -> list[float] | None:
    """Shares of people without recourse after each retraining; at 0, the highest certified threshold; at 1, the
    model's own."""
    made = cell.certified
    if made.after is None or made.n_use is None or len(made.after) <= at:
        return None
    return [n / made.n_use for n in made.after[at]]


def broken(cell: Cell, at: int) -> float | None:
    """Share of retrainings after which so many are without recourse that the promise is refuted."""
    made = cell.certified
    if made.after is None or made.n_use is None or len(made.after) <= at:
        return None
    return float(np.mean([binom.sf(n - 1, made.n_use, MISCOVERAGE) <= RARE for n in made.after[at]]))


def common(some: Sequence[Cell], offer: str, key: str, training: str) -> float | None:
    """A figure over people whom every training's model of that split refuses and has recourse for."""
    by_table = []
    for name in DATASETS:
        values: list[float | None] = []
        for split in sorted({c.split for c in some if c.dataset == name}):
            own = {c.title: c for c in some if (c.dataset, c.split) == (name, split)}
            if training not in own or set(own) != set(TRAININGS):
                continue
            shared = set.intersection(*(_served(c) for c in own.values()))
            offers: Offers = own[training].offers[offer]
            at = {row: i for i, row in enumerate(own[training].people)}
            values += [getattr(offers, key)[at[row]] for row in sorted(shared)]
        by_table.append(_mean(values))
    return _mean(by_table)


def _served(cell: Cell) -> set[int]:
    both = zip(cell.people, cell.offers["plain"].found, cell.offers["held"].found, strict=True)
    return {row for row, plain, held in both if plain and held}


def n_common(some: Sequence[Cell]) -> int:
    """People whom every training's model refuses and has recourse for, over all tables and splits."""
    total = 0
    for key in {(c.dataset, c.split) for c in some}:
        own = [c for c in some if (c.dataset, c.split) == key]
        if {c.title for c in own} == set(TRAININGS):
            total += len(set.intersection(*(_served(c) for c in own)))
    return total


def sentence(some: Sequence[Cell]) -> str:
    """What to remember, in figures."""
    by = {t: [c for c in some if c.title == t] for t in TRAININGS if any(c.title == t for c in some)}
    if "plain" not in by or len(by) == 1:
        return "Too little was run for a sentence about it."

    def get(training: str, offer: str, key: str) -> float:
        return averaged(by[training], of_offer(offer, key)) or float("nan")

    plain = get("plain", "plain", "survival")
    others = {t: get(t, "plain", "survival") for t in by if t != "plain"}
    best = max(others, key=lambda t: others[t])
    held = [get(t, "held", "survival") for t in by]
    factor = get("plain", "held", "cost") / get("plain", "plain", "cost")
    accuracy = [averaged(by[t], lambda c: c.accuracy) or 0.0 for t in ("plain", best)]
    found = [get(t, "plain", "found") for t in ("plain", best)]
    ruined = [averaged(own, lambda c: broken(c, 0)) for own in by.values()]
    known = [share for share in ruined if share is not None]
    first = (
        "Shelf life is bought by a margin that is chosen on models trained again, more than by any training"
        if max(others.values()) < min(held)
        else "Shelf life is bought by a margin that is chosen on models trained again, and by some trainings"
    )
    paid = [
        *(["less accurate than plain training"] if accuracy[1] < accuracy[0] else []),
        *(["with recourse for fewer"] if found[1] < found[0] else []),
    ]
    return _filled(
        f"**The sentence to remember.** {first}: of recourse by a plain search, retrained models accept "
        f"{plain:.0%} after plain training and {others[best]:.0%} after the training that does most for it "
        f"({', '.join([NAMES[best], *paid])}); with `hold` it is {get('plain', 'held', 'survival'):.0%} after "
        f"plain training, at {factor:.1f} times the cost.{_cheapest(by)} A certificate that promises as much as "
        f"it can is refuted after {min(known):.0%} to {max(known):.0%} of retrainings, by training: make it anew "
        "for every model."
    )


def _cheapest(by: dict[str, list[Cell]]) -> str:
    """The training under which a margin costs least, of those that serve as many and hold as well as plain."""
    figures = {
        t: [averaged(own, of_offer("held", key)) or 0.0 for key in ("found", "survival", "cost")]
        for t, own in by.items()
    }
    plain = figures["plain"]
    as_good = {t: f for t, f in figures.items() if f[0] >= plain[0] - EQUAL and f[1] >= plain[1] - EQUAL}
    best = min(as_good, key=lambda t: as_good[t][2])
    if best == "plain":
        return " No training makes that margin cheaper without losing people or survival."
    cost = figures[best][2]
    return (
        f" What a training can do is make the margin cheap: trained {NAMES[best]}, held recourse costs "
        f"{1 - cost / plain[2]:.0%} less, survives as well and is there for as many of the refused."
    )


def _filled(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def half(some: Sequence[Cell], offer: str) -> float | None:
    """Half of the 95% interval of survival over people, each table counting the same."""
    variances = []
    for name in DATASETS:
        cells = [c for c in some if c.dataset == name and offer in c.offers]
        values = [v for c in cells for v in c.offers[offer].survival if v is not None]
        if len(values) > 1:
            variances.append(float(np.var(values, ddof=1)) / len(values))
    return 1.96 * float(np.sqrt(sum(variances))) / len(variances) if variances else None


def overall(some: Sequence[Cell]) -> str:
    """Every training, in the mean over tables."""
    rows = []
    for training in TRAININGS:
        own = [c for c in some if c.title == training]
        if not own:
            continue
        figures = [averaged(own, f) for f in (lambda c: c.accuracy, lambda c: c.auc, lambda c: c.accepted)]
        moved = averaged(own, lambda c: c.moved)
        offers = []
        for name in ("plain", "held"):
            found, cost, lasts = (averaged(own, of_offer(name, key)) for key in ("found", "cost", "survival"))
            offers += [_said(found, 2), _said(cost, 2), f"{_said(lasts)} ± {_said(half(own, name))}"]
        rows.append([NAMES[training], *(_said(f) for f in figures), _said(moved), *offers, str(len(own))])
    head = [
        "training", "accuracy", "AUC", "accepts", "decided otherwise when trained again", "plain: found", "cost",
        "survives", "held: found", "cost", "survives", "cells",
    ]  # fmt: skip
    return table(head, rows)


def shared(some: Sequence[Cell]) -> str:
    """The same people under every training."""
    rows = []
    for training in TRAININGS:
        figures = [
            _said(common(some, offer, key, training), digits)
            for offer in ("plain", "held")
            for key, digits in (("cost", 2), ("survival", 3))
        ]
        rows.append([NAMES[training], *figures])
    return table(["training", "plain: cost", "survives", "held: cost", "survives"], rows)


def by_table(some: Sequence[Cell]) -> str:
    """Every table by itself."""
    rows = []
    for name in DATASETS:
        for training in TRAININGS:
            own = [c for c in some if (c.dataset, c.title) == (name, training)]
            if not own:
                continue
            parts = []
            for offer in OFFERS:
                cost, lasts = (_mean([of_offer(offer, key)(c) for c in own]) for key in ("cost", "survival"))
                parts.append("-" if lasts is None else f"{lasts:.3f} at {_said(cost, 2)}")
            accuracy, auc, yes = (_mean([getattr(c, k) for c in own]) for k in ("accuracy", "auc", "accepted"))
            found = _mean([of_offer("plain", "found")(c) for c in own])
            figures = [_said(accuracy), _said(auc), _said(yes, 2), _said(found, 2)]
            rows.append([TABLES[name], NAMES[training], *figures, *parts, str(len(own))])
    head = ["table", "training", "accuracy", "AUC", "accepts", "found", *OFFERS.values(), "splits"]
    return table(head, rows)


def certificates(some: Sequence[Cell]) -> str:
    """Who was without recourse after retrainings, where a certificate had promised that 5% at most would be."""
    rows = []
    for name in DATASETS:
        for training in TRAININGS:
            own = [c for c in some if (c.dataset, c.title) == (name, training)]
            made = [c for c in own if c.certified.after is not None]
            if not own:
                continue
            parts = []
            for at in (0, 1):
                lack = [share for c in made for share in (without(c, at) or [])]
                refuted = _mean([broken(c, at) for c in made])
                parts.append("-" if not lack or refuted is None else
                             f"{np.mean(lack):.3f}, {max(lack):.3f} at most; {refuted:.0%}")  # fmt: skip
            levels = [c.certified.thresholds[0] for c in made if c.certified.thresholds]
            before = _mean([c.certified.before[0] / c.certified.n_use for c in made if c.certified.before])  # type: ignore[operator]
            rows.append([TABLES[name], NAMES[training], f"{len(made)} of {len(own)}", _said(_mean(levels)),
                         _said(before), *parts])  # fmt: skip
    head = [
        "table", "training", "certified", "highest threshold", "without recourse before",
        "after, at that threshold; refuted", "after, at the model's own; refuted",
    ]  # fmt: skip
    return table(head, rows)


def markdown(some: Sequence[Cell]) -> str:
    """The page's tables."""
    return "\n\n".join([
        sentence(some),
        "### All tables together", _filled(TOGETHER), overall(some),
        "### The same people under every training", _filled(SAME.format(n_common(some))), shared(some),
        "### Table by table", "Survival at its mean cost.", by_table(some),
        "### A certificate after a retraining", _filled(PROMISED), certificates(some),
    ]) + "\n"  # fmt: skip


def draw(some: Sequence[Cell], folder: Path) -> None:
    """Cost against survival: from a plain search to `hold`, a line for each training."""
    figure, axes = plt.subplots(1, len(DATASETS), figsize=(3.1 * len(DATASETS), 3.2), sharey=True)
    for panel, name in zip(axes, DATASETS, strict=True):
        dress(panel, TABLES[name])
        for training in TRAININGS:
            own = [c for c in some if (c.dataset, c.title) == (name, training)]
            points: list[Any] = [
                [_mean([of_offer(offer, key)(c) for c in own]) for key in ("cost", "survival")] for offer in OFFERS
            ]
            if not own or points[0][1] is None or points[1][1] is None:
                continue
            line, colour = np.array(points[:2], float), COLOURS[training]
            panel.plot(*line.T, "-", lw=1.2, color=colour)
            panel.plot(*line[0], "o", ms=5, mfc="white", color=colour)
            panel.plot(*line[1], "o", ms=5, color=colour, label=NAMES[training])
            if points[2][1] is not None:
                panel.plot(*points[2], "^", ms=5, color=colour)
        panel.set_xlabel("cost")
    axes[0].set_ylim(0.2, 1.02)
    axes[0].set_ylabel("accepted by models trained again")
    axes[0].legend(fontsize=6.5, loc="lower right")
    figure.tight_layout()
    save(figure, folder, "shelf-life-trainings")


def page() -> str:
    """The page with the tables of what is committed."""
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n\n{markdown(cells())}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    draw(cells(), DOCS / "images")
