"""How the settings of our own rows were chosen: ``python -m experiments.rocoursenet.choose german``.

No test row is used: models learn from the first four fifths of the rows to learn from, and are asked about the
rest of them. Prints a line of JSON per setting tried, the most robust last, then the one that is taken: the most
robust among those that keep the limits of `LIMITS`.
"""

import argparse
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments.rocoursenet._data import read_tasks
from experiments.rocoursenet._generators import Recipe, judged, trained
from experiments.rocoursenet._judge import performance
from experiments.rocoursenet._recipes import Sizes, counts, guided, headed, network
from experiments.rocoursenet._settings import BASE_WIDTHS, SETTINGS, ShiftedDataset
from experiments.rocoursenet._train import fit_all, plain
from holdtrue.models import MLP
from holdtrue.training import Guides, RoCourseNet

NONE = 1e-9
"""A share that is none, where 0 would be another program than the grid's other values."""
Trial = tuple[Mapping[str, Sequence[float]], Mapping[str, Any], Mapping[str, Any]]
"""Numbers that one compiled program can vary; what is the same in all of them; and the network's."""
SIMULATED: Trial = {"weight_decay": (0.0, 0.3), "tilt": (1.0, 3.0), "margin": (1.0, 3.0)}, {}, {}
RENUMBERED: dict[str, Sequence[float]] = {
    "hide": (NONE, 0.3, 0.6),
    "renumber": (0.5, 1.0),
    "margin": (2.0, 5.0),
    "weight_decay": (0.3, 1.0, 3.0),
}
STUDENT: dict[str, Sequence[float]] = {
    "hide": (NONE, 0.3, 0.6), "renumber": (0.0, 0.3), "margin": (10.0, 15.0), "cost_weight": (0.05, 0.1),
}  # fmt: skip
LOAN: dict[str, Any] = {
    "average": 0.2, "weight_decay": 1.0, "guard": 0.8, "rare": 0.003, "cost_weight": 0.15, "margin": 2.0,
    "proposals": 8, "strange_weight": 1.0, "n_guides": 8, "tilt": 4.0, "concept_tilt": 0.0, "drop": 0.0,
    "guide_decay": 2.0,
}  # fmt: skip
LARGER: dict[str, Any] = LOAN | {"step_size": 0.003, "guide_rare": 0.01}
TRIALS: dict[str, dict[str, Trial]] = {
    "german": {
        "mean": (RENUMBERED, {"n_guides": 12, "tail": 1.0}, {}),
        "worst": (RENUMBERED, {"n_guides": 12, "tail": 0.25}, {}),
        "blind": (
            {"hide": (NONE, 0.3, 0.6), "margin": (4.0, 8.0), "weight_decay": (0.3, 1.0)},
            {"n_guides": 6, "tail": 1.0, "blind": 1.0, "renumber": 0.0},
            {},
        ),
    },
    "student": {
        "mean": (STUDENT, {"n_guides": 12}, {}),
        "worst": (STUDENT, {"n_guides": 12, "tail": 0.25}, {}),
    },
    "loan": {
        "steps": (
            {"step_size": (0.001, 0.003), "concept_tilt": (0.0, 0.3), "guide_rare": (0.003, 0.01)},
            LOAN,
            {},
        ),
        "charged": ({"cost_weight": (0.1, 0.15), "margin": (1.25, 2.0), "blind": (0.0, 0.2)}, LARGER, {}),
        "harshest": ({"margin": (1.25, 2.0)}, LARGER | {"cost_weight": 0.1, "guard": 0.9, "tail": 0.5}, {}),
        "uncharged": (
            {"cost_weight": (0.05, 0.1), "margin": (1.25, 3.0), "guard": (0.8, 0.9)},
            LARGER | {"strange_weight": 0.0},
            {},
        ),
        "averaged": (
            {"average": (0.2, 0.5), "guide_rare": (0.01, 0.03)},
            LARGER | {"strange_weight": 0.0, "cost_weight": 0.07},
            {},
        ),
    },
    "covariate": {"all": SIMULATED},
    "label": {"all": SIMULATED},
}  # fmt: skip
LIMITS = {"loan": (0.996, 4.9), "german": (0.978, 6.8), "student": (0.995, 16.4)}
"""Least validity and largest cost of what is taken."""
SLACK = {"loan": 0.001}
"""Of the base model's accuracy, else 0.01: rows that stand for the test rows are few, but on the loans."""


def choose(
    name: str,
    grid: Mapping[str, Sequence[float]],
    *,
    n_updates: int | None = None,
    seeds: Sequence[int] = (0,),
    n_people: int = 300,
    subsets: tuple[str, ...] | None = None,
    fixed: Mapping[str, Any] | None = None,
    other_network: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Figures of a grid's settings on rows to learn from alone, of some subsets or all, the most robust last.

    Recourse is that of `n_people` of each subset, accuracy that of all who stand for the test rows.
    """
    tasks = read_tasks(name, n_people=n_people, subsets=subsets, choosing=True)
    setting = SETTINGS[name]
    sizes = Sizes(n_updates or setting.n_updates, setting.batch_size, seeds, 0)
    own: dict[str, Any] = {**setting.ours, **dict(fixed or {}), **counts(sizes)}
    group, options = {}, {}
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        label = json.dumps(chosen)
        group[label] = Recipe(network(setting, **(other_network or {})), tried(setting, {**own, **chosen}))
        options[label] = {k: 0.0 if v == NONE else v for k, v in chosen.items()}
    models, seconds = trained(tasks, group, seeds)
    rows = []
    for label, fitted in models.items():
        figures, accuracy = judged(tasks, fitted)
        row = {key: float(np.mean([f[key] for f in figures])) for key in ("robust", "validity", "proximity")}
        row["least"] = float(min(f["robust"] for f in figures))
        row |= {f"to {d}": float(np.mean([f["towards"][d] or 0 for f in figures])) for d in "01"}
        row["patterns"] = figures[0]["patterns"]
        row["auc"] = float(np.mean([p["auc"] for p in accuracy]))
        row["accuracy"] = float(np.mean([p["accuracy"] for p in accuracy]))
        rows.append(dict(fixed or {}) | options[label] | dict(other_network or {}) | row)
    rows.sort(key=lambda row: row["robust"])
    for row in rows:
        say(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}))
    say(f"{len(group)} settings, {len(seeds)} seeds, {seconds:.1f} s")
    return rows


def tried(setting: ShiftedDataset, options: Mapping[str, Any]) -> RoCourseNet:
    """The regime of options that are its own or its guides'; the guides' `weight_decay` and `rare`, which both
    have, are `guide_decay` and `guide_rare`."""
    both = {"guide_decay": "weight_decay", "guide_rare": "rare"}
    of_guides = both | {key: key for key in Guides().get_params() if key not in both.values()}
    guides = {of_guides[key]: value for key, value in options.items() if key in of_guides}
    own: dict[str, Any] = {key: value for key, value in options.items() if key not in of_guides}
    return headed(RoCourseNet, {**own, **guided(setting, **guides)})


def base_accuracy(
    name: str, *, n_updates: int | None = None, seeds: Sequence[int], subsets: tuple[str, ...] | None = None
) -> float:
    """Accuracy of base models on the same rows: what a chosen setting should not fall below."""
    tasks, setting = read_tasks(name, subsets=subsets, choosing=True), SETTINGS[name]
    base = MLP(widths=BASE_WIDTHS, activation="leaky_relu", dropout=0.3)
    models = fit_all(tasks, base, plain(tasks, n_updates or setting.n_updates, setting.batch_size), seeds)
    return float(np.mean([performance(tasks, own)["accuracy"] for own in models]))


def taken(name: str, rows: Sequence[dict[str, Any]], base: float) -> dict[str, Any]:
    """The most robust setting that is valid and cheap enough; accurate enough too, where there is one."""
    validity, cost = LIMITS.get(name, (0.0, np.inf))
    fine = [r for r in rows if r["validity"] >= validity and r["proximity"] <= cost] or list(rows)
    accurate = [r for r in fine if r["accuracy"] >= base - SLACK.get(name, 0.01)] or fine
    best = max(r["robust"] for r in accurate)
    # Among equals the largest margin, then the cheapest: who are asked about are few.
    return min(
        (r for r in accurate if r["robust"] >= best - 1e-9), key=lambda r: (-r.get("margin", 0.0), r["proximity"])
    )


def main() -> None:
    """Try what `TRIALS` lists, and write it down where ``--out`` says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", choices=list(TRIALS))
    parser.add_argument("--trial", action="append", help="one of the dataset's trials; all when left out")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--updates", type=int)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--subset", action="append", help="some of the subsets, where all would take long")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    seeds, rows = range(asked.seeds), []
    some = tuple(asked.subset) if asked.subset else None
    sizes: dict[str, Any] = {"n_updates": asked.updates, "subsets": some, "seeds": seeds}
    base = base_accuracy(asked.dataset, **sizes)
    print(f"base models: accuracy {base:.4f}", flush=True)
    for trial in asked.trial or TRIALS[asked.dataset]:
        grid, fixed, other = TRIALS[asked.dataset][trial]
        rows += choose(asked.dataset, grid, fixed=fixed, other_network=other, n_people=asked.people, **sizes)
        choice = {
            "base_accuracy": base,
            "seeds": asked.seeds,
            "n_updates": asked.updates or SETTINGS[asked.dataset].n_updates,
            "rows": rows,
            "taken": taken(asked.dataset, rows, base),
        }
        if asked.out is not None:
            write(asked.out, {"dataset": asked.dataset, "choice": choice})
        print(f"taken: {json.dumps(choice['taken'])}", flush=True)


if __name__ == "__main__":
    main()
