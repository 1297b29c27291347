"""Tables of further files: Figure 16 along the way (``transfer-*``), Theorems 3 and 5 on trained models."""

from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments.robustness_tradeoffs._settings import WAYS
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
    """Forms of lemmas and theorems for the people of a dataset."""
    return read(folder, "theory").get("theory", {}).get("people", {})


def _theorem_3(people: dict[str, Any]) -> str:
    rows = []
    for name, title in NAMES.items():
        for form in ("printed", "sharper"):
            own = people.get(f"{name}: Theorem 3", {}).get(form)
            if own is not None:
                filled = [f"{own[f'filled ({part})']:.1%}" for part in ("median", "largest")]
                rows.append([title, form, str(own["cases"]), str(own["violations"]), *filled])
    if not rows:
        return ""
    head = ["", "bound", "people", "of them outside it", "share of it that is filled, median", "largest"]
    told = "### Theorem 3 on trained models: differences of C-CHVAE's costs, one pair of linear models"
    return f"{told}\n\n{table(head, rows)}"


def _theorem_5(people: dict[str, Any]) -> str:
    rows = []
    for name, title in NAMES.items():
        for form in ("printed", "corrected"):
            own = people.get(f"{name}: Theorem 5, own distance", {}).get(form)
            if own is not None:
                wrong = cell(own["violations"] / own["cases"])
                rows.append([title, form, f"{own['cases']:,}", cell(own["applies"]), wrong])
    if not rows:
        return ""
    head = [
        "",
        "condition",
        "cases",
        "share for which it holds",
        "share for which it holds and the conclusion is false",
    ]
    title = "### Theorem 5 on trained models: kernel models of one split"
    told = "A case is a test row, a radius and an aim of the search."
    return f"{title}\n\n{told}\n\n{table(head, rows)}"
