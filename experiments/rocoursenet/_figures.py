"""What the paper shows in figures, as Markdown: fronts, attacks, sweeps, curves."""

from collections.abc import Callable, Sequence

import numpy as np

from experiments._report import cell, table
from experiments.rocoursenet._result import OfSeed, Performance, Result

Seeds = Sequence[OfSeed | Performance]
Results = Sequence[Result]


def over(seeds: Seeds, key: str) -> tuple[float | None, float | None]:
    """Mean of a figure over seeds and its deviation."""
    return spread([value for s in seeds if (value := getattr(s, key)) is not None])


def spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean and deviation; None where there is nothing, or one value alone."""
    if not len(values):
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def fronts(results: Results) -> str:
    """Robust validity and cost as the cost weighs more or less (Figure 3)."""
    return _swept(results, lambda t: t.startswith(("cost weight", "slack")), "fronts (Figure 3)")


def attackers(results: Results, *, norm: str, figure: int) -> str:
    """Training against attackers of more steps or a larger radius."""

    def own(title: str) -> bool:
        return title.startswith(("attacker steps", "radius")) and title.endswith(", l2") == (norm == "l2")

    return _swept(results, own, f"RoCourseNet trained against other attackers, {norm} (Figure {figure})")


def sizes(results: Results) -> str:
    """Fronts of trainings on fewer rows."""
    return _swept(results, lambda t: "of the rows" in t, "trained on fewer rows (Figure 5)")


def schedules(results: Results) -> str:
    """A radius that grows over the training, and one that does not."""
    return _swept(results, lambda t: t == "schedule", "schedules of the radius (Figure 6)")


def _swept(results: Results, wanted: Callable[[str], bool], title: str) -> str:
    texts = []
    for r in results:
        rows = []
        for sweep, labels in r.sweeps_of.items():
            for name, label in labels.items() if wanted(sweep) else ():
                own = r.methods.get(name, [])
                cells = [
                    _cell(over(own, key), digits)
                    for key, digits in (("robust", 3), ("validity", 3), ("proximity", 2))
                ]
                rows.append([f"{sweep}: {label}", *cells, str(len(own))])
        if rows:
            head = ["", "robust validity", "validity", "proximity (l1)", "seeds"]
            texts.append(f"### {r.title}: {title}\n\n" + table(head, rows))
    return "\n\n".join(texts)


def _cell(pair: tuple[float | None, float | None], digits: int = 3) -> str:
    return cell(pair[0], digits, pair[1])


def attacks(results: Results, *, norm: str, figure: int) -> str:
    """Recourse that survives an attack, and how good the shifted model still is."""
    texts = []
    for r in results:
        for sweep, found in r.attacks.items():
            if f", {norm}," not in sweep or not found:
                continue
            values = list(next(iter(found.values())))
            rows = [
                [f"{name}{what}", *(_cell(spread(getattr(found[name][v], key))) for v in values)]
                for name in found
                for key, what in (("survival", ""), ("accuracy", ": accuracy of the shifted model"))
            ]
            n = len(next(iter(found.values()))[values[0]].survival)
            texts.append(f"### {r.title}: validity under attack, {sweep}, {n} seeds (Figure {figure})\n\n"
                         + table(["", *values], rows))  # fmt: skip
    return "\n\n".join(texts)


def losses(results: Results) -> str:
    """What trainings told, at five moments, in the mean over subsets."""
    rows = []
    for r in results:
        for name, seeds in r.losses.items():
            at = [round(v) for v in np.linspace(0, len(seeds[0]) - 1, 5)]
            known = [[curve[i] for curve in seeds if curve[i] is not None] for i in at]
            rows.append([f"{r.title}, {name}", *(_cell(spread(v)) for v in known)])
    head = ["", "first epoch", "a quarter", "half", "three quarters", "last"]
    return "### Training losses (Figure 11)\n\n" + table(head, rows) if rows else ""
