"""Further tables: matched cost (``matched-*``), Proposition III.1 (``proposition``), RQ5 (``sensitivity-*``)."""

from pathlib import Path

import numpy as np

from experiments._report import cell, read, table
from experiments.counterfactual_training._rq5 import sensitivity, tried


def further(folder: Path) -> str:
    """Plausibility at matched cost, Proposition III.1, then RQ5."""
    texts = [_matched(folder), _proposition(folder), *sensitivity(tried(folder))]
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


def _matched(folder: Path) -> str:
    """Our setting against plain and PGD training where neither may cost more than the other."""
    rows = []
    for own in read(folder, "matched-*").values():
        for base, part in own["found"].items():
            gains = [part[key] for key in ("as they are", "within our cost", "within its cost")]
            told = ["-" if g is None else f"{g['gain']:.0f} [{g['low']:.0f}, {g['high']:.0f}]" for g in gains]
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
