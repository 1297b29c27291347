"""Proposition III.1 (``proposition.json``) and what training depends on (``sensitivity-*.json``)."""

from pathlib import Path

import numpy as np

from experiments._report import cell, read, table
from experiments.counterfactual_training._rq5 import sensitivity, tried


def further(folder: Path) -> str:
    """Proposition III.1, then RQ5."""
    texts = [_proposition(folder), *sensitivity(tried(folder))]
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
