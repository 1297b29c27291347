"""How the settings of our own rows were chosen: ``python -m holdfast.papers.rocoursenet._choose german``.

No test row is used: models learn from the first four fifths of the rows to learn from, and are asked about the
rest of them. Prints a line of JSON per setting tried, the best last.
"""

import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.papers.rocoursenet._data import Task
from holdfast.papers.rocoursenet._generators import Recipe, judged, trained
from holdfast.papers.rocoursenet._recipes import Sizes, counts, guided, network
from holdfast.papers.rocoursenet._settings import SETTINGS
from holdfast.training import RoCourseNet

GRIDS: dict[str, dict[str, Sequence[float]]] = {
    "loan": {"weight_decay": (0.5, 1.0, 2.0), "blind": (0.0, 0.3), "margin": (1.0, 2.0)},
    "german": {"blind": (0.0, 0.5, 1.0), "margin": (2.0, 4.0), "cost_weight": (0.1, 0.3)},
    "student": {"blind": (0.3, 0.6), "margin": (4.0, 10.0)},
    "covariate": {"weight_decay": (0.0, 0.3), "tilt": (1.0, 3.0), "margin": (1.0, 3.0)},
    "label": {"weight_decay": (0.0, 0.3), "tilt": (1.0, 3.0), "margin": (1.0, 3.0)},
}
"""Numbers that one compiled program can vary."""


def choose(
    name: str,
    grid: Mapping[str, Sequence[float]],
    *,
    n_updates: int | None = None,
    seeds: Sequence[int] = (0,),
    n_people: int = 300,
    fixed: Mapping[str, Any] | None = None,
    other_network: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Figures of every setting of a grid on rows to learn from alone, the most robust last."""
    task = Task.load(name, n_people=n_people, choosing=True)
    setting = SETTINGS[name]
    sizes = Sizes(n_updates or setting.n_updates, setting.batch_size, seeds, 0)
    own: dict[str, Any] = {**setting.ours, **guided(setting), **dict(fixed or {}), **counts(sizes)}
    group, options = {}, {}
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        label = json.dumps(chosen)
        group[label] = Recipe(network(setting, **(other_network or {})), RoCourseNet(**{**own, **chosen}))
        options[label] = chosen
    models, seconds = trained(task, group, seeds)
    rows = []
    for label, fitted in models.items():
        figures, performance = judged(task, fitted)
        row = {key: float(np.mean([f[key] for f in figures])) for key in ("robust", "validity", "proximity")}
        row |= {f"to {d}": float(np.mean([f["towards"][d] or 0 for f in figures])) for d in "01"}
        row["patterns"] = figures[0]["patterns"]
        row["accuracy"] = float(np.mean([p["accuracy"] for p in performance]))
        rows.append(options[label] | dict(fixed or {}) | dict(other_network or {}) | row)
    rows.sort(key=lambda row: row["robust"])
    for row in rows:
        say(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}))
    say(f"{len(group)} settings, {seconds:.1f} s")
    return rows


if __name__ == "__main__":
    choose(sys.argv[1], GRIDS[sys.argv[1]])
