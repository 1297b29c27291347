"""The paper's figures as Markdown tables: means over splits with 95% intervals, words where there are none.

The paper prints no numbers beside its pictures, so there is nothing of its own to put beside ours.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
from scipy import stats

from experiments._report import table
from experiments.robustness_tradeoffs._result import AtRadius, ByRadius, OnSplit, Result
from experiments.robustness_tradeoffs._settings import BUDGETS, FEWEST, WAYS

SHOWN_RADII = ("0.05", "0.1")  # of the theorems; the JSON has all
Get = Callable[[OnSplit], float | None]


def markdown(results: Sequence[Result], parts: Collection[str] = ()) -> str:
    """Tables of some datasets' results: what was run of it."""
    texts = []
    for result in results:
        for kind, radii in result.models.items():
            texts += [_people(result, kind, radii), _validity(result, kind, radii), _cost(result, kind, radii)]
            texts += [_others(result, kind, radii), _methods(result, kind, radii), _columns(result, kind, radii)]
        texts += [_bounds(result, kind) for kind in result.bounds or ()]
        texts.append(_threats(result, "threats", "Other threat models and a ramp"))
        texts.append(_threats(result, "sizes", "Depth and width (Figures 5 and 14)"))
        texts.append(_threats(result, "kernel", "Kernel models"))
        texts.append(_nearby(result))
        texts.append(_run(result))
    return "\n\n".join(text for text in texts if text) + "\n"


def interval(values: Sequence[float | None]) -> tuple[float, float] | None:
    """Mean over splits and half the width of its 95% t interval (NaN under three); None for no values."""
    there = np.array([v for v in values if v is not None], float)
    if len(there) == 0:
        return None
    if len(there) < 3:  # an interval of two has no meaning that a reader would guess
        return float(there.mean()), float("nan")
    half = stats.t.ppf(0.975, len(there) - 1) * there.std(ddof=1) / np.sqrt(len(there))
    return float(there.mean()), float(half)


def shown(values: Sequence[float | None], digits: int = 2) -> str:
    """Mean and interval in a cell, with the number of splits where some have nothing."""
    found = interval(values)
    if found is None:
        return "-"
    mean, half = found
    n = sum(v is not None for v in values)
    some = "" if n == len(values) else f" ({n} of {len(values)})"
    return f"{mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {half:.{digits}f}") + some


def nothing(entry: AtRadius) -> str | None:
    """Why there is no recourse to speak of at a radius, in words; None where there is."""
    splits = entry.splits
    if any(s.n_refused >= FEWEST and s.exists == "yes" for s in splits):
        return None
    if all(s.n_refused < FEWEST for s in splits):
        return "none refused" if all(s.n_refused == 0 for s in splits) else f"fewer than {FEWEST} refused"
    if all(s.exists == "no" for s in splits if s.n_refused >= FEWEST):
        return "none exists"
    return "none found"


def of(entry: AtRadius, get: Get) -> list[float | None]:
    """A figure of every split that refuses somebody and accepts some point."""
    return [get(s) if s.n_refused >= FEWEST and s.exists == "yes" else None for s in entry.splits]


def ratio(entry: AtRadius, key: str = "paired") -> list[float | None]:
    """Cost under the model over cost under the plain one, same people, by split."""
    return [None if p.plain is None else p.robust / p.plain for p in getattr(entry, key)]


def difference(entry: AtRadius, key: str = "paired") -> list[float | None]:
    """Cost under the model minus cost under the plain one, same people, by split."""
    return [None if p.plain is None else p.robust - p.plain for p in getattr(entry, key)]


def _plain(entry: AtRadius, name: str) -> list[Any]:
    return [getattr(s, name) for s in entry.splits]


def _existence(entry: AtRadius) -> str:
    answers = [s.exists for s in entry.splits]
    names = {"yes": "yes", "no": "no", "unknown": "none found"}
    counts = {names[a]: answers.count(a) for a in ("yes", "no", "unknown") if a in answers}
    return next(iter(counts)) if len(counts) == 1 else ", ".join(f"{n}: {c}" for n, c in counts.items())


def _people(result: Result, kind: str, radii: ByRadius) -> str:
    collapse = np.mean(result.collapse["linf"])
    rows = [
        [
            radius,
            f"{float(radius) / collapse:.2f}",
            *(shown(_plain(entry, key), 3) for key in ("accuracy", "robust", "robust_common", "favourable")),
            f"{np.mean(_plain(entry, 'n_refused')):.0f} of {entry.splits[0].n_people}",
            _existence(entry),
        ]
        for radius, entry in radii.items()
    ]
    head = ["ε", "ε / ε*", "accuracy", "under attack, own ε", "under attack, ε = 0.1", "predicted favourable"]
    text = table([*head, "refused", "accepted point exists"], rows)
    return f"### {result.title}, {kind}: who is refused (Figure 11)\n\nε* = {collapse:.3f}\n\n{text}"


def _at(values: Sequence[float] | None, place: int) -> float | None:
    return None if values is None else values[place]


def _validity(result: Result, kind: str, radii: ByRadius) -> str:
    if not any(s.scfe is not None for entry in radii.values() for s in entry.splits):
        return ""
    at = [BUDGETS.index(b) for b in (20, 50, 100, 1000)]
    rows = []
    for radius, entry in radii.items():
        why = nothing(entry)
        if why is not None:
            rows.append([radius, why, *[""] * (len(at) + 3)])
            continue
        cells = [shown(of(entry, lambda s, i=i: _at(s.scfe, i))) for i in at]
        hard = shown(of(entry, lambda s: _at(s.scfe_hardened, -1)))
        eager = shown(of(entry, lambda s: _at(s.scfe_without_cost, -1)))
        rows.append([radius, *cells, eager, hard, shown(of(entry, lambda s: s.near)), shown(entry.others or [])])
    head = ["ε", *(f"SCFE, {BUDGETS[i]} steps" for i in at), "1000, no cost weight", "1000, hardened"]
    head += ["budget-free", "other splits accept"]
    return f"### {result.title}, {kind}: validity in [0, 1]^d (Figures 1, 3, 9, 12, 16)\n\n{table(head, rows)}"


def _others(result: Result, kind: str, radii: ByRadius) -> str:
    if any(getattr(entry, way) is None for entry in radii.values() for way in WAYS):
        return ""
    rows = []
    for radius, entry in radii.items():
        why = nothing(entry)
        rows.append([radius, *([why, "", ""] if why else [shown(getattr(entry, way)) for way in WAYS])])
    head = ["ε", "SCFE's point", "half as far again", "twice as far"]
    title = f"{result.title}, {kind}: share of the other splits' models that accept it (Figure 16)"
    return f"### {title}\n\n{table(head, rows)}"


def _cost(result: Result, kind: str, radii: ByRadius) -> str:
    rows = []
    for radius, entry in radii.items():
        why = nothing(entry)
        if why is not None:
            rows.append([radius, why, *[""] * 5])
            continue
        people = [p.n for p in entry.paired if p.plain is not None]
        rows.append(
            [
                radius,
                shown(of(entry, lambda s: s.near_cost), 3),
                shown([p.robust for p in entry.paired], 3),
                shown([p.plain for p in entry.paired], 3),
                shown(difference(entry), 3),
                shown(ratio(entry), 1),
                f"{np.mean(people):.0f}" if people else "-",
            ]
        )
    head = ["ε", "own refused", "refused by both", "the same under ε = 0", "difference", "ratio", "people"]
    return f"### {result.title}, {kind}: l2 cost of the nearest yes (Figures 2, 4, 10)\n\n{table(head, rows)}"


def _methods(result: Result, kind: str, radii: ByRadius) -> str:
    names = next((list(s.methods) for e in radii.values() for s in e.splits if s.methods), [])
    if not names:
        return ""

    def get(name: str, key: str) -> Get:
        return lambda s: getattr((s.methods or {})[name], key)

    rows = []
    for radius, entry in radii.items():
        why = nothing(entry)
        cells = [
            f"{shown(of(entry, get(name, 'valid')))} at {shown(of(entry, get(name, 'cost')))}" for name in names
        ]
        rows.append([radius, *([why, *[""] * (len(names) - 1)] if why is not None else cells)])
    title = f"{result.title}, {kind}: the methods in hardened points, validity at l2 cost"
    return f"### {title}\n\n{table(['ε', *names], rows)}"


def _columns(result: Result, kind: str, radii: ByRadius) -> str:
    rows = []
    for radius, entry in radii.items():
        why = nothing(entry)
        shares = [shown(_plain(entry, key)) for key in ("slope", "on_fixed", "on_actionable_numbers")]
        held = why if why is not None else shown(of(entry, lambda s: s.held))
        rows.append([radius, *shares, held])
    head = ["ε", "sum of slopes", "on what nobody can change", "on numbers people can change"]
    title = f"{result.title}, {kind}: where the weight goes, and for whom a yes exists with the immutable held"
    return f"### {title}\n\n{table([*head, 'a yes exists'], rows)}"


def _threats(result: Result, key: str, title: str) -> str:
    rows = []
    for name, radii in (getattr(result, key) or {}).items():
        for radius, entry in radii.items():
            why = nothing(entry)
            cost = why if why is not None else shown(of(entry, lambda s: s.near_cost), 3)
            rows.append(
                [
                    name,
                    radius,
                    *(shown(_plain(entry, k), 3) for k in ("accuracy", "robust", "favourable")),
                    f"{np.mean(_plain(entry, 'n_refused')):.0f}",
                    _existence(entry),
                    "" if why is not None else shown(of(entry, lambda s: s.near)),
                    cost,
                    shown(ratio(entry), 1),
                ]
            )
    head = ["", "ε", "accuracy", "under own attack", "predicted favourable", "refused", "accepted point exists"]
    if not rows:
        return ""
    text = table([*head, "budget-free validity", "cost, own refused", "ratio, same people"], rows)
    return f"### {result.title}: {title[0].lower()}{title[1:]}\n\n{text}"


def _bounds(result: Result, kind: str) -> str:
    rows = []
    for radius, theorems in (result.bounds or {})[kind].items():
        for name, found in theorems.items() if radius in SHOWN_RADII else ():
            for form, s in found.forms.items():
                share = s.violations / s.cases
                rows.append(
                    [radius, name, form, f"{s.cases:,}", f"{s.applies:.2f}",
                     f"{s.violations:,} ({share:.0%})",
                     *("-" if v is None else f"{v:.2g}" for v in (s.median, s.largest))]
                )  # fmt: skip
    if not rows:
        return ""
    head = ["ε", "theorem", "form", "people", "applies", "violated", "left / right, median", "largest"]
    title = f"{result.title}, {kind}: the theorems, person by person (Figures 6, 7, 13, 15)"
    return f"### {title}\n\n{table(head, rows)}"


def _nearby(result: Result) -> str:
    near = result.nearby
    if near is None:
        return ""
    rows = [[f"{r:g}", f"{share:.3f}"] for r, share in zip(result.radii, near.accepted, strict=True)]
    text = table(["ε", "accepted"], rows)
    title = f"{result.title}, MLP: of the {near.n_rows} rows nearest to a refused person (Figure 8)"
    return f"### {title}\n\n{text}"


def _run(result: Result) -> str:
    training = sum(s for n, s in result.seconds.items() if n.startswith("training"))
    rows = [
        ["splits", str(result.n_splits)],
        ["training rows", f"{result.n_train:,}"],
        ["ε*: a linear model has no weights left", f"{np.mean(result.collapse['linf']):.2f}"],
        ["columns, and of them fixed", f"{result.n_columns}, {result.n_fixed_columns}"],
        ["seconds in all", f"{sum(result.seconds.values()):.0f}"],
        ["of which training the sweep", f"{training:.0f}"],
    ]
    return f"### {result.title}: what was run\n\n" + table(["", "of this dataset"], rows)
