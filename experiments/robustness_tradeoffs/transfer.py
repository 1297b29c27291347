"""Figure 16, further along the way: ``python -m experiments.robustness_tradeoffs.transfer DATASET``.

Networks of the sweep (or its linear models, ``--kind LR``) for three radii, trained anew for every split; SCFE for
the refused, and how many of the
other splits' models accept its points, and points half as far again and twice as far along each person's way. The
sweep itself asks the same of every radius and kind of model, beside much else. Writes
``results/transfer-DATASET.json``, of linear models ``results/transfer-DATASET-LR.json``.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments._report import write
from experiments._results import made_with
from experiments.robustness_tradeoffs._measure import FirstCrossing, accepts
from experiments.robustness_tradeoffs._run import carried, others
from experiments.robustness_tradeoffs._settings import KINDS, SETTINGS, WAYS
from experiments.robustness_tradeoffs._sweep import Encoded, space, sweep

RESULTS = Path(__file__).parent / "results"
RADII = (0.0, 0.02, 0.05)
NETWORKS = "MLP"


def run(name: str, kind: str, n_splits: int, n_people: int) -> dict[str, Any]:
    """By radius and way, a share per split; None where a split has too few."""
    data = Encoded.load(name)
    tasks = [data.task(seed, n_people) for seed in range(n_splits)]
    models = sweep(tasks, KINDS[kind], RADII)
    out: dict[str, Any] = {}
    for radius, row in zip(RADII, models, strict=True):
        ends = []
        for task, model in zip(tasks, row, strict=True):
            points, refused = np.full(task.asked.x.shape, np.nan), ~accepts(model, task.asked.x)
            if refused.any():
                own = space(task, model)
                found = own.recourse(own.fitted(FirstCrossing()), task.asked.x[refused])
                points[refused] = np.where(found.found[:, None], found.x, np.nan)
            ends.append(points)
        out[f"{radius:g}"] = {
            key: [others(row, carried(task, ends[i], way), i) for i, task in enumerate(tasks)]
            for key, way in WAYS.items()
        }
    return out


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=list(SETTINGS))
    parser.add_argument("--kind", choices=list(KINDS), default=NETWORKS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    linear = given.kind != NETWORKS
    kept = {
        "dataset": given.dataset, "title": SETTINGS[given.dataset].title, "kind": given.kind,
        "n_splits": given.splits, "n_people": given.people,
        "found": run(given.dataset, given.kind, given.splits, given.people),
        "command": f"python -m experiments.robustness_tradeoffs.transfer {given.dataset} "
        f"{f'--kind {given.kind} ' if linear else ''}--splits {given.splits} --people {given.people}",
    }  # fmt: skip
    ending = f"-{given.kind}" if linear else ""
    write(given.out / f"transfer-{given.dataset}{ending}.json", kept | made_with({}))


if __name__ == "__main__":
    main()
