"""What stands of the paper's figures, which have no numbers."""

from collections.abc import Sequence

import numpy as np

from experiments._standing import OTHER, Item, Standing, claimed
from experiments.robustness_tradeoffs._further import NAMES, broken, of_people, of_splits
from experiments.robustness_tradeoffs._result import AtRadius, Result
from experiments.robustness_tradeoffs._settings import BUDGETS, THEOREM_3
from experiments.robustness_tradeoffs._tables import interval, nothing, of, ratio

LATE, EARLY = "0.2", "0.05"
NETWORKS, LINEAR = "MLP", "LR"
MOST = 5  # of ten splits
FIRST = (
    "Figures 1 and 9, validity of SCFE within 1,000 steps, MLP, ε = 0 and 0.2",
    "Figures 1 and 9, validity of SCFE within 1,000 steps, MLP, ε = 0 and 0.05",
    "Figures 2 and 10",
    "Figures 4 and 10",
    "Figure 6, Theorem 1",
    "Figures 7, 13, 15",
    "Figure 11",
    "Figure 16",
)
"""Items that the page begins with."""


def standing(results: Sequence[Result]) -> Standing:
    """Figures, ours beside what the paper says of them."""
    own = list(results)
    items: list[Item] = []
    for kind, figures in ((NETWORKS, "Figures 1 and 9"), (LINEAR, "Figures 3 and 9")):
        items.append(_validity(own, kind, figures, LATE, "falls to 0 from ε = 0.2 on"))
        items.append(_validity(own, kind, figures, EARLY, "falls with ε"))
    for kind, figures in ((NETWORKS, "Figures 2 and 10"), (LINEAR, "Figures 4 and 10")):
        items.append(_cost(own, kind, figures))
    items += _sizes(own)
    items += _bounds(own)
    items += _theory()
    items += [_nearby(own), _accuracy(own), _others(own)]
    intro = (
        "The paper prints pictures without figures, so its claims are held against ours. Seeds are splits: how "
        "many have a figure, of each dataset where they differ. Where a model refuses nobody, or no point of the "
        "domain is accepted, there is no validity or cost to speak of, and the claim is not counted as met."
    )
    return Standing(intro, items, FIRST)


def _n(own: Sequence[Result]) -> str:
    return _splits([r.n_splits for r in own])


def _splits(counts: Sequence[int]) -> str:
    """Splits behind a row: one number, or one for each dataset."""
    return " · ".join(str(n) for n in (counts if len(set(counts)) > 1 else list(counts)[:1]))


def _there(values: Sequence[float | None]) -> int:
    return sum(v is not None for v in values)


def _at(result: Result, kind: str, radius: str) -> AtRadius | None:
    return result.models.get(kind, {}).get(radius)


def _scfe(entry: AtRadius, place: int) -> float | None:
    found = interval(of(entry, lambda s: None if s.scfe is None else s.scfe[place]))
    return None if found is None else found[0]


def _validity(own: Sequence[Result], kind: str, figures: str, radius: str, claim: str) -> Item:
    told, met, counts = {}, {}, []
    for r in own:
        plain, entry = _at(r, kind, "0"), _at(r, kind, radius)
        if plain is None or entry is None:
            continue
        why = nothing(entry)
        counts.append(r.n_splits if why else _there(of(entry, lambda s: None if s.scfe is None else s.scfe[-1])))
        last = BUDGETS.index(1000)
        before, after = _scfe(plain, last), None if why else _scfe(entry, last)
        told[r.title] = why or f"{before:.2f} → {after:.2f}" if before is not None else "-"
        met[r.title] = why is None and after is not None and before is not None and after < before - 0.02
    title = f"{figures}, validity of SCFE within 1,000 steps, {kind}, ε = 0 and {radius}"
    return claimed(title, told, claim, _splits(counts), lambda t: met[t])


def _cost(own: Sequence[Result], kind: str, figures: str) -> Item:
    told, met, counts = {}, {}, []
    for r in own:
        entry = _at(r, kind, EARLY)
        if entry is None:
            continue
        why, found = nothing(entry), interval(ratio(entry))
        counts.append(r.n_splits if why else _there(ratio(entry)))
        told[r.title] = why or ("-" if found is None else f"{found[0]:.1f} ± {found[1]:.1f} times")
        met[r.title] = why is None and found is not None and found[0] - found[1] > 1
    title = f"{figures}, cost of the nearest yes, {kind}, ε = {EARLY} over 0, the same people"
    return claimed(title, told, "rises with ε", _splits(counts), lambda t: met[t])


def _sizes(own: Sequence[Result]) -> list[Item]:
    adult = next((r for r in own if r.sizes), None)
    if adult is None:
        return []
    found = {}
    for name, radii in (adult.sizes or {}).items():
        if EARLY in radii and (own_ratio := interval(ratio(radii[EARLY]))) is not None:
            found[name] = own_ratio[0]
    low, high = min(found.values()), max(found.values())
    n = len(next(iter((adult.sizes or {}).values()))[EARLY].splits)
    return [claimed(f"Figures 5 and 14, cost ratio at ε = {EARLY} over {len(found)} sizes, Adult",
                    {"": f"{low:.0f} to {high:.0f} times"}, "rises with depth and width", n,
                    lambda _: False)]  # fmt: skip


def _bounds(own: Sequence[Result]) -> list[Item]:
    rows = []
    for theorem, figures in (
        ("Theorem 1", "Figure 6"),
        ("Theorem 2", "Figures 7, 13, 15"),
        ("Theorem 4", "section 5"),
    ):
        shares = {}
        for r in own:
            worst = [
                form.violations / form.cases
                for theorems in (of_kind for kinds in (r.bounds or {}).values() for of_kind in kinds.values())
                for name, found in theorems.items()
                for label, form in found.forms.items()
                if name.startswith(theorem) and "printed" in label and form.cases
            ]
            if worst:
                shares[r.title] = max(worst)
        if shares:
            told = {t: f"{v:.0%}" for t, v in shares.items()}
            rows.append(claimed(f"{figures}, {theorem} as printed: largest share of people who break it", told,
                                "holds", _n(own), lambda t, s=shares: s[t] == 0))  # fmt: skip
    return rows


def _theory() -> list[Item]:
    """Theorems 3 and 5 on trained models, which have no figure in the paper."""
    items = []
    for theorem, names, unit in (
        ("Theorem 3", THEOREM_3.values(), "split and pair of models"),
        ("Theorem 5", ("Theorem 5, own distance",), "split"),
    ):
        found = {title: of_people().get(key, {}) for key, title in NAMES.items()}
        forms = {title: [own[n]["printed"] for n in names if n in own] for title, own in found.items()}
        shares = {title: [v for part in own for v in broken(part)] for title, own in forms.items() if own}
        if shares:
            told = {t: "0%" if max(own) == 0 else f"{min(own):.0%} to {max(own):.0%}" for t, own in shares.items()}
            title = f"section 5, {theorem} as printed: share of people who break it, by {unit}"
            n = _splits([len(of_splits(forms[t][0], "cases")) for t in shares])
            items.append(claimed(title, told, "holds", n, lambda t, s=shares: max(s[t]) == 0))
    return items


def _nearby(own: Sequence[Result]) -> Item:
    shares = {
        r.title: [r.nearby.accepted[0], r.nearby.accepted[[f"{v:g}" for v in r.radii].index(EARLY)]]
        for r in own
        if r.nearby is not None
    }
    told = {t: f"{a:.3f} → {b:.3f}" for t, (a, b) in shares.items()}
    return claimed(f"Figure 8, rows near a refused person that are accepted, ε = 0 and {EARLY}", told, "fewer", 1,
                   lambda t: shares[t][1] < shares[t][0])  # fmt: skip


def _accuracy(own: Sequence[Result]) -> Item:
    shares = {}
    for r in own:
        pair = [_at(r, NETWORKS, radius) for radius in ("0", "0.1")]
        if None not in pair:
            shares[r.title] = [float(np.mean([s.robust_common for s in e.splits])) for e in pair if e is not None]
    told = {t: f"{a:.2f} → {b:.2f}" for t, (a, b) in shares.items()}
    return claimed("Figure 11, accuracy under an attack of 0.1, MLP, ε = 0 and 0.1", told, "rises with ε", _n(own),
                   lambda t: shares[t][1] > shares[t][0])  # fmt: skip


def _others(own: Sequence[Result]) -> Item:
    """As in the other rows at 0.05; where fewer than half of the splits have recourse there, at 0.02."""
    told, falls, counts = {}, {}, []
    for r in own:
        radii = r.models.get(NETWORKS, {})
        there = {k: e.others for k, e in radii.items() if e.others and _there(e.others) >= MOST}
        last = next((radius for radius in (EARLY, "0.02") if radius in there), None)
        if "0" not in there or last is None:
            continue
        (a, _), (b, half) = (interval(there[k]) or (0.0, 0.0) for k in ("0", last))
        told[r.title] = f"{a:.2f} → {b:.2f} ± {half:.2f} at {last}"
        falls[r.title] = b + half < a
        counts.append(_there(there[last]))
    title = f"Figure 16, other splits' models that accept SCFE's point, MLP, ε = 0 and {EARLY} or 0.02"
    if not told:
        return Item(title, "-", "falls with ε", "-", OTHER)
    return claimed(title, told, "falls with ε", _splits(counts), lambda t: falls[t])
