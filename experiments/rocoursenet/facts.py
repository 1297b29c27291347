"""What the page says of the data themselves: ``python -m experiments.rocoursenet.facts``.

Of Loan, what 2009 has that no earlier year has; of German Credit, how many test people of one version stand among
the rows to learn from of the other. Writes ``results/facts.json``.
"""

from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments.rocoursenet._data import LEARNED
from experiments.rocoursenet._settings import SETTINGS
from holdtrue.datasets import load

RESULTS = Path(__file__).parent / "results"
AMONG = ("Duration", "Credit amount", "Installment rate", "Age", "Existing credits")
"""Columns that the correction of German Credit left alone: by them its people are known in both versions."""
TERM = 8  # years


def loan() -> dict[str, Any]:
    """By year: loans repaid, and those of a level or term that 2009 stands out by."""
    setting = SETTINGS["loan"]
    data = load(setting.dataset, **setting.options)
    assert data.groups is not None
    year = data.groups[setting.group].astype(str).to_numpy()
    repaid = np.asarray(data.y) == data.favourable
    columns = {
        "low documentation S": np.asarray(data.X["LowDoc"].astype(str)) == "S",
        f"term of {TERM} years": np.asarray(data.X["Term"]) == TERM,
        "no sector": np.asarray(data.X["Sector_Points"]) == 0,
    }
    out: dict[str, Any] = {}
    for own in sorted(set(year)):
        here = year == own
        out[own] = {"n": int(here.sum()), "repaid": _share(repaid[here])} | {
            name: {
                "share": _share(has[here]),
                "n": int((has & here).sum()),
                "repaid": _share(repaid[has & here]),
            }
            for name, has in columns.items()
        }
    return out


def german() -> dict[str, Any]:
    """Of every version's test people, how many the other version's model has learned from."""
    setting = SETTINGS["german"]
    data = load(setting.dataset, **setting.options)
    assert data.groups is not None
    version = data.groups[setting.group].astype(str).to_numpy()
    y = np.asarray(data.y)
    rows = [tuple(float(v) for v in row) for row in data.X[list(AMONG)].to_numpy(float)]
    people = [(*row, int(label)) for row, label in zip(rows, y, strict=True)]
    parts = {}
    for own in dict.fromkeys(version.tolist()):
        places = np.flatnonzero(version == own)
        cut = round(LEARNED * len(places))
        parts[own] = ([people[i] for i in places[:cut]], [people[i] for i in places[cut:]])
    out = {}
    for own, (_, tested) in parts.items():
        others = {person for name, (learned, _) in parts.items() if name != own for person in learned}
        out[own] = {"tested": len(tested), "learned_by_the_other": sum(person in others for person in tested)}
    return out


def _share(values: np.ndarray) -> float | None:
    return round(float(values.mean()), 4) if len(values) else None


if __name__ == "__main__":
    found = {"command": "python -m experiments.rocoursenet.facts", "loan": loan(), "german": german()}
    write(RESULTS / "facts.json", found)
