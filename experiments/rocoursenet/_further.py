"""Tables of further files: searches on our predictors, and what the data themselves say (``facts.json``)."""

from pathlib import Path
from typing import Any

from experiments._report import cell, read, table
from experiments.rocoursenet._beside import equal, nested


def further(folder: Path) -> str:
    """What 2009 has that earlier years have not, and whom both versions of German Credit share."""
    found = read(folder, "facts").get("facts")
    texts = [
        equal(folder),
        nested(folder),
        *([] if found is None else [_loan(found["loan"]), _german(found["german"])]),
    ]
    return "\n\n".join(text for text in texts if text) + "\n"


def _loan(years: dict[str, Any]) -> str:
    kinds = [key for key, value in next(iter(years.values())).items() if isinstance(value, dict)]
    rows = [
        [year, f"{own['n']:,}", cell(own["repaid"]),
         *(f"{own[k]['n']:,} ({own[k]['share']:.1%}), {cell(own[k]['repaid'])}" for k in kinds)]
        for year, own in years.items()
    ]  # fmt: skip
    head = ["", "loans", "repaid", *(f"{kind}: loans (share), repaid" for kind in kinds)]
    return f"### Loan: what changes over the years\n\n{table(head, rows)}"


def _german(versions: dict[str, Any]) -> str:
    rows = [[name, str(own["tested"]), str(own["learned_by_the_other"])] for name, own in versions.items()]
    head = ["version", "people asked about", "of them among the other version's rows to learn from"]
    return f"### German Credit: people in both versions\n\n{table(head, rows)}"
