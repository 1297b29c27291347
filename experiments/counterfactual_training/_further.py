"""Further tables: tuned baselines and other searches (``fair-*``), matched cost, Proposition III.1, RQ5."""

from pathlib import Path

import numpy as np

from experiments._report import cell, read, table
from experiments.counterfactual_training._rq5 import sensitivity, tried


def further(folder: Path) -> str:
    """Tuned baselines and other searches, plausibility at matched cost, Proposition III.1, then RQ5."""
    texts = [*_fair(folder), _matched(folder), _proposition(folder), *sensitivity(tried(folder))]
    return "\n\n".join(text for text in texts if text) + "\n"


def _proposition(folder: Path) -> str:
    """Shares of the sensitivity on the protected feature, by form and geometry."""
    found = read(folder, "proposition").get("proposition")
    if found is None:
        return ""
    centres = found["centres"]
    forms = list(next(iter(centres.values())))
    texts = []
    for key, called in (("slope", "slope"), ("gradients", "integrated gradients")):
        rows = [
            [centre, *(cell(float(np.mean(own[form][key]))) for form in forms)] for centre, own in centres.items()
        ]
        title = f"### Proposition III.1, linear classifiers: share of the {called} on the protected feature"
        n = len(next(iter(centres.values()))[forms[0]][key])
        texts.append(f"{title}, {n} seeds\n\n{table(['centres', *forms], rows)}")
    return "\n\n".join(texts)


def _fair(folder: Path) -> list[str]:
    """Baselines with steps of their own, and ours against them by ECCCo and by other searches."""
    steps, gains = [], []
    for own in read(folder, "fair-*").values():
        told = own["performance"]
        figures = [" / ".join(f"{part[key]:.3f}" for part in told.values()) for key in ("accuracy", "pgd")]
        taken = " / ".join(f"{part['taken']:g}" for part in own["steps"].values())
        steps.append([own["title"], taken, *figures, str(own["n_seeds"])])
        for label, part in own["searches"].items():
            cells = [_gained(part[base][key]) for key in ("implausibility", "cost") for base in own["steps"]]
            valid = " / ".join(cell(value) for value in part["validity"].values())
            gains.append([own["title"], label, *cells, valid])
    if not steps:
        return []
    kinds = "BL / PGD / TRADES"
    first = "### Baselines with steps chosen on validation rows, and ours"
    head = ["", f"step: {kinds}", f"accuracy: {kinds} / ours", f"under PGD 0.1: {kinds} / ours", "seeds"]
    second = "### Ours against tuned baselines, by ECCCo and by other searches: percent below, 99% intervals"
    names = [f"{key} below {base}" for key in ("IP", "cost") for base in kinds.split(" / ")]
    return [
        f"{first}\n\n{table(head, steps)}",
        f"{second}\n\n{table(['', 'search', *names, f'validity: {kinds} / ours'], gains)}",
    ]


def _gained(found: dict[str, float] | None) -> str:
    return "-" if found is None else f"{found['gain']:.0f} [{found['low']:.0f}, {found['high']:.0f}]"


def _matched(folder: Path) -> str:
    """Our setting against plain and PGD training where neither may cost more than the other."""
    rows = []
    for own in read(folder, "matched-*").values():
        for base, part in own["found"].items():
            gains = [part[key] for key in ("as they are", "within our cost", "within its cost")]
            told = [_gained(g) for g in gains]
            people = "-" if gains[2] is None else f"{gains[2]['share']:.0%}"
            rows.append([own["title"], base, *told, people, cell(part["cost over its"]), str(own["n_seeds"])])
    if not rows:
        return ""
    head = [
        "", "against", "as they are", "the other may cost as much as ours", "ours may cost as much as the other",
        "people compared in the last", "our cost over the other's", "seeds",
    ]  # fmt: skip
    title = "### Our setting at matched cost: implausibility below another regime's in percent, honest protocol"
    return f"{title}\n\n{table(head, rows)}"
