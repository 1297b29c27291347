"""Tables of further files: searches on our predictors, and what the data themselves say (``facts.json``)."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import cell, read, table
from experiments._results import typed
from experiments.rocoursenet._beside import equal, nested
from experiments.rocoursenet._figures import over
from experiments.rocoursenet._people import intervals
from experiments.rocoursenet._result import OfSeed
from experiments.rocoursenet._tables import forward, printed

GUIDED, LAST = "RoCourseNet, guides", "2009"


def further(folder: Path) -> str:
    """What 2009 has that earlier years have not, and whom both versions of German Credit share."""
    found = read(folder, "facts").get("facts")
    texts = [
        intervals(folder),
        equal(folder),
        nested(folder),
        _told(folder),
        _last_year(folder),
        _again(folder),
        *([] if found is None else [_loan(found["loan"]), _german(found["german"])]),
    ]
    return "\n\n".join(text for text in texts if text) + "\n"


def _told(folder: Path) -> str:
    """How many of the other years' models decide likewise what a year's own models are surest of."""
    found = read(folder, "told").get("told")
    if found is None:
        return ""
    runs = found["found"]
    cells = [
        (wanted, share, side) for wanted in "01" for share in ("0.01", "0.2") for side in ("earlier", "later")
    ]
    rows = []
    for year in runs[0]:
        row = [year]
        for wanted, share, side in cells:
            values = [run[year][wanted][share][side] for run in runs]
            known = [v for v in values if v is not None]
            row.append(cell(float(np.mean(known))) if known else "-")
        rows.append(row)
    named = {"0": "no", "1": "yes"}
    head = ["", *(f"{named[w]}, surest {float(share):.0%}: {side} years" for w, share, side in cells)]
    title = "### Loan: share of other years' models that decide as a year's own are surest of"
    return f"{title}, {len(runs)} seeds\n\n{table(head, rows)}"


def _last_year(folder: Path) -> str:
    """What the mean would be if 2009's people had what is surest by their own loans; what the print would take."""
    told, loan = read(folder, "told").get("told"), read(folder, "loan").get("loan")
    if told is None or loan is None:
        return ""
    matrices = np.array([seed["matrix"] for seed in loan["methods"][GUIDED]])
    k = matrices.shape[1]
    years = np.array([matrices[:, i, [j for j in range(k) if j != i]].mean() for i in range(k)])
    to_no = float(np.mean([seed["favourable"][-1] for seed in loan["performance"][GUIDED]]))

    def surest(wanted: str, share: str) -> float:
        return float(np.mean([run[LAST][wanted][share]["earlier"] for run in told["found"]]))

    rows = [["as it is", "-", "-", cell(years[-1], 3), cell(years.mean(), 3)]]
    rows.append(["left out", "-", "-", "-", cell(years[:-1].mean(), 3)])
    for share in told["found"][0][LAST]["0"]:
        parts = [surest(wanted, share) for wanted in "01"]
        row = to_no * parts[0] + (1 - to_no) * parts[1]
        mean = (years[:-1].sum() + row) / k
        title = f"the surest {float(share):.0%} of 2009's own rows"
        rows.append([title, *(cell(part, 3) for part in parts), cell(row, 3), cell(mean, 3)])
    theirs = printed()["table 2"]["RoCourseNet"]["loan"]["robust"][0]
    row = theirs * k - years[:-1].sum()
    rows.append(
        ["what the print takes", cell((row - (1 - to_no)) / to_no, 3), cell(1.0, 3), cell(row, 3), cell(theirs, 3)]
    )
    head = [
        "2009's people go to",
        "kept towards a no",
        "towards a yes",
        "2009's row",
        "robust validity of all years",
    ]
    text = (
        f"The other years' rows are those of *RoCourseNet, guides*; {to_no:.0%} of 2009's people stand to be "
        "moved towards a no, the others towards a yes."
    )
    title = "### Loan: 2009's people, by what 2009's own loans tell"
    return f"{title}\n\n{textwrap.fill(text, 120)}\n\n{table(head, rows)}"


def _again(folder: Path) -> str:
    """Rows of Loan that were trained again, with fewer seeds than those of Table 2 and by later code."""
    found = read(folder, "again-loan").get("again-loan")
    if found is None:
        return ""
    rows = []
    for name, kept in found["methods"].items():
        seeds = [typed(OfSeed, one) for one in kept]
        pairs = [(over(seeds, key), digits) for key, digits in (("robust", 3), ("validity", 3), ("proximity", 2))]
        cells = [cell(mean, digits, std) for (mean, std), digits in pairs]
        later, earlier = (float(np.mean(part)) for part in forward(seeds))
        time = found["times"][name]["train_s"]
        rows.append([name, *cells, cell(later, 3), cell(earlier, 3), f"{time:.0f}", str(len(seeds))])
    head = ["", "robust validity", "validity", "proximity (l1)", "later years' models", "earlier years'",
            "training, s, all subsets, one seed", "seeds"]  # fmt: skip
    return f"### Loan: three rows of Table 2 trained again\n\n{table(head, rows)}"


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
