"""Tables of further files: Figure 16 along the way (``transfer-*``), Theorems 3 and 5 on trained models."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import cell, read, table
from experiments.robustness_tradeoffs._settings import THEOREM_3, WAYS
from experiments.robustness_tradeoffs._tables import shown

CALLED = {"others": "SCFE's own point", "others_half_more": "half as far again", "others_twice": "twice as far"}
NAMES = {"german_credit": "German Credit", "compas": "COMPAS", "adult": "Adult"}
"""As `theory` names its datasets, and as the page does."""
RESULTS = Path(__file__).parent / "results"


def further(folder: Path) -> str:
    """The tables of what was run."""
    texts = [_transfer(folder), _theorem_3(of_people(folder)), _theorem_5(of_people(folder))]
    return "\n\n".join(text for text in texts if text) + "\n"


def _transfer(folder: Path) -> str:
    rows = [
        [f"{found['title']}, {found.get('kind', 'MLP')}", radius, *(shown(ways[key]) for key in WAYS)]
        for found in read(folder, "transfer-*").values()
        for radius, ways in found["found"].items()
    ]
    if not rows:
        return ""
    title = "### Other splits' models that accept points along the way of SCFE (Figure 16), ten splits"
    return f"{title}\n\n{table(['', 'ε', *CALLED.values()], rows)}"


def of_people(folder: Path = RESULTS) -> dict[str, Any]:
    """By dataset what `theorems` found: of every figure a list, a value a split."""
    return read(folder, "theorems").get("theorems", {})


def of_splits(own: Mapping[str, Sequence[float | None]], key: str) -> list[float]:
    """A figure's values, of those splits that have it."""
    return [value for value in own[key] if value is not None]


def broken(own: Mapping[str, Sequence[float | None]]) -> list[float]:
    """By split the share of cases in which a condition holds and the conclusion is false, or a bound is passed."""
    return [v / n for v, n in zip(of_splits(own, "violations"), of_splits(own, "cases"), strict=True)]


def share(values: Sequence[float], digits: int = 2) -> str:
    """Mean and deviation over splits."""
    return cell(float(np.mean(values)), digits, float(np.std(values, ddof=1)) if len(values) > 1 else None)


def _pairs(own: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Forms of Theorem 3 by the radius that the pair's robust model was trained for."""
    return {f"{radius:g}": own[name] for radius, name in THEOREM_3.items() if name in own}


def _theorem_3(found: dict[str, Any]) -> str:
    rows = []
    for name, title in NAMES.items():
        for radius, forms in _pairs(found.get(name, {})).items():
            for form in ("printed", "sharper"):
                own = forms[form]
                people, outside = (f"{sum(of_splits(own, key)):,}" for key in ("cases", "violations"))
                medians, largest = (of_splits(own, f"filled ({part})") for part in ("median", "largest"))
                filled = [f"{min(medians):.2%} to {max(medians):.2%}", f"{max(largest):.1%}"]
                rows.append([title, radius, form, str(len(medians)), people, outside, *filled])
    if not rows:
        return ""
    head = ["", "ε of the pair's robust model", "bound", "splits", "people", "of them outside it",
            "share of it that is filled, median, by split", "largest"]  # fmt: skip
    told = "### Theorem 3 on trained models: differences of C-CHVAE's costs, pairs of linear models"
    return f"{told}\n\n{table(head, rows)}"


def _theorem_5(found: dict[str, Any]) -> str:
    rows = []
    for name, title in NAMES.items():
        for form in ("printed", "corrected"):
            own = found.get(name, {}).get("Theorem 5, own distance", {}).get(form)
            if own is not None:
                wrong, cases = broken(own), of_splits(own, "cases")
                cells = [share(of_splits(own, "applies")), share(wrong), f"{min(wrong):.2f} to {max(wrong):.2f}"]
                rows.append([title, form, str(len(cases)), f"{sum(cases):,}", *cells])
    if not rows:
        return ""
    head = [
        "",
        "condition",
        "splits",
        "cases",
        "share for which it holds",
        "share for which it holds and the conclusion is false",
        "by split",
    ]
    title = "### Theorem 5 on trained models: kernel models"
    told = "A case is a test row, a radius and an aim of the search. ± is the deviation over splits."
    return f"{title}\n\n{told}\n\n{table(head, rows)}"
