"""Proposition III.1 (``proposition.json``) and what training depends on (``sensitivity-*.json``)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import cell, read, table


def further(folder: Path) -> str:
    """Proposition III.1, then RQ5."""
    texts = [_proposition(folder), *_sensitivity(list(read(folder, "sensitivity-*").values()))]
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


VARIED = {
    "n_steps": "T", "maturity": "tau", "n_recourses": "n_CE", "burn_in": "burn-in", "search": "engine",
    "search_step_size": "step of the search", "divergence_weight": "lambda_div",
    "adversarial_weight": "lambda_adv", "ridge_weight": "lambda_reg",
}  # fmt: skip
"""What RQ5 varies, in the paper's words."""


def _sensitivity(found: list[dict[str, Any]]) -> Iterator[str]:
    """RQ5: one number at a time; the grid of weights; how much each number matters. Images have TRADES instead."""
    tables = [own for own in found if own["paper"]]
    if tables:
        head = ["", *(own["title"] for own in tables)]
        labels = list(dict.fromkeys(label for own in tables for label in own["kinds"] if _singly(label)))
        rows = [[_called(label), *(_gained(own, label) for own in tables)] for label in labels]
        runs = "; ".join(f"{o['title']}: {o['n_seeds']} seeds, {o['n_epochs']} epochs" for o in tables)
        yield (
            "### RQ5: one number at a time\n\nImplausibility below plain training's, in percent: by the paper's "
            "protocol, with its 99% interval /\nby the honest one; then validity by the honest one, and accuracy. "
            f"The rest is as the paper has it on each set.\n{runs}.\n\n{table(head, rows)}"
        )
        grids = [
            label for own in tables for label in own["kinds"] if label.startswith("{") and len(_set(label)) > 1
        ]
        rows = [[_called(label), *(_gained(own, label) for own in tables)] for label in dict.fromkeys(grids)]
        if rows:
            yield f"### RQ5: the grid of weights\n\n{table(head, rows)}"
    for own in found:
        if not own["paper"]:
            rows = [
                [label, cell(kind["accuracy"], 3), cell(kind["pgd"], 3), _gained(own, label)]
                for label, kind in own["kinds"].items()
            ]
            title = f"### {own['title']}: TRADES with a radius that grows over a share of the epochs"
            yield f"{title}, {own['n_seeds']} seeds\n\n{table(['', 'accuracy', 'under PGD', 'IP below BL'], rows)}"


def _set(label: str) -> dict[str, Any]:
    return json.loads(label)


def _singly(label: str) -> bool:
    return not label.startswith("{") or len(_set(label)) <= 1


def _called(label: str) -> str:
    if not label.startswith("{"):
        return label
    return ", ".join(f"{VARIED[key]} {value}" for key, value in _set(label).items()) or "CT, as the paper has it"


def _gained(own: dict[str, Any], label: str) -> str:
    kind = own["kinds"].get(label)
    if kind is None:
        return "-"
    paper, honest = (kind[key]["implausibility"] for key in ("paper", "honest"))
    span = "" if paper["gain"] is None else f" [{paper['low']:.0f}, {paper['high']:.0f}]"
    figures = f"{cell(paper['gain'], 0)}{span} / {cell(honest['gain'], 0)}"
    return f"{figures}; {cell(kind['honest']['validity'])}, {cell(kind['accuracy'], 3)}"
