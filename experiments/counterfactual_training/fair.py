"""Tuned baselines, searches outside ECCCo: ``python -m experiments.counterfactual_training.fair DATASET``.

Our setting had its step size and weights chosen on validation rows (`study`), the baselines have the paper's step.
Here plain training, PGD training and TRADES are given theirs in the same way: of five that with the best accuracy
on the last fifth of the training rows (under attack, for those that train against one), two seeds each. With these
steps all are trained again and judged on the test rows: accuracy, and implausibility and cost of recourse by ECCCo
(the honest protocol) and by searches that know nothing of energies. Writes ``results/fair-DATASET.json``.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import experiment
from experiments._report import write
from experiments._results import made_with
from experiments._task import Rows, Task
from experiments.counterfactual_training._compare import gain
from experiments.counterfactual_training._judge import accuracies
from experiments.counterfactual_training._run import searched
from experiments.counterfactual_training._settings import OURS, PGD, PLAIN, PROTOCOLS, TABULAR, regimes
from experiments.counterfactual_training._task import people, read_task, rows_of
from experiments.counterfactual_training._train import trained
from holdtrue.methods import AbstractMethod, GrowingSpheres, NearestNeighbour, Wachter
from holdtrue.metrics import implausibility
from holdtrue.models import AbstractModel, fresh

STEPS = (0.0005, 0.001, 0.002, 0.005, 0.01)
BY = {PLAIN: "accuracy", PGD: "pgd", "TRADES": "pgd"}
"""What a baseline's step is chosen by."""
N_TRIED = 2  # seeds of a step


def outside() -> dict[str, AbstractMethod]:
    """Searches that ask for a decision and nothing else, in the l1 norm that costs are measured in."""
    return {
        "Wachter": Wachter(norm="l1", random_state=0),
        "Growing spheres": GrowingSpheres(norm="l1", random_state=0),
        "Nearest neighbour": NearestNeighbour(norm="l1"),
    }


def tuned(task: Task, kind: str, n_epochs: int) -> dict[str, Any]:
    """The step of one baseline, chosen on the last fifth of the training rows."""
    x, y = task.learned
    cut = len(x) * 4 // 5
    left = Rows(x[cut:], y[cut:])
    own = replace(task, learned=Rows(x[:cut], y[:cut]), tested=left, asked=left)
    base = regimes(task.setting, n_epochs)[kind]
    jobs = [(kind, fresh(base).set_params(step_size=step)) for step in STEPS]
    told = [accuracies(own, models, whole=False) for models in trained(own, jobs, N_TRIED)]
    rows = [
        {"step": step, **{key: float(np.mean(part[key])) for key in ("accuracy", "pgd")}}
        for step, part in zip(STEPS, told, strict=True)
    ]
    return {"tried": rows, "taken": max(rows, key=lambda row: row[BY[kind]])["step"]}


def by_method(
    task: Task, models: Sequence[AbstractModel], method: AbstractMethod, n_people: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Implausibility and cost (seeds, 1, people) of one search, and the share of those asked that it serves."""
    x, target = people(task, n_people)
    table = pd.DataFrame(task.encoder.decode(x.astype(np.float64)))
    far, cost = (np.full((len(models), 1, len(x)), np.nan) for _ in range(2))
    served, asked = 0, 0
    for i, model in enumerate(models):
        predictor = task.predictor(model)
        needs = predictor.decide_of(predictor.logits_of(x)) != target
        plan = method.fit_encoded(predictor, *task.learned).recourse(table, target=target)
        ok = np.asarray(plan.found) & needs
        ends = task.encoder.encode(plan.recourse).astype(np.float32)
        for k in np.unique(target):
            own = ok & (target == k)
            if own.any():
                far[i, 0, own] = implausibility(ends[own], rows_of(task, k))
        cost[i, 0, ok] = np.abs(ends - x).sum(axis=1)[ok]
        served, asked = served + int(ok.sum()), asked + int(needs.sum())
    return far, cost, served / max(asked, 1)


def run(name: str, n_seeds: int, n_people: int, n_epochs: int, place: Path, command: str) -> None:
    """One dataset."""
    began, task = time.process_time(), read_task(name)
    chosen = regimes(task.setting, n_epochs)
    kept: dict[str, Any] = {
        "dataset": name, "title": task.setting.title, "n_seeds": n_seeds, "n_people": n_people,
        "n_epochs": n_epochs, "steps": {}, "performance": {}, "searches": {}, "command": command,
    }  # fmt: skip

    def keep() -> None:
        kept["seconds"] = {"processor": round(time.process_time() - began, 1)}
        write(place, kept | made_with({}))

    models = {}
    for kind in BY:
        kept["steps"][kind] = tuned(task, kind, n_epochs)
        own = fresh(chosen[kind]).set_params(step_size=kept["steps"][kind]["taken"])
        models[kind] = trained(task, [(kind, own)], n_seeds)[0]
        keep()
    models[OURS] = trained(task, [(OURS, chosen[OURS])], n_seeds)[0]
    for kind, own in models.items():
        told = accuracies(task, own, whole=False)
        kept["performance"][kind] = {key: float(np.mean(told[key])) for key in ("accuracy", "pgd")}
    found = {
        kind: (f.implausibility, f.cost, f.validity)
        for kind, f in searched(task, models, PROTOCOLS["honest"], n_people).items()
    }
    kept["searches"]["ECCCo"] = _against(found)
    keep()
    for label, method in outside().items():
        found = {kind: by_method(task, own, method, n_people) for kind, own in models.items()}
        kept["searches"][label] = _against(found)
        keep()


def _against(found: dict[str, tuple[np.ndarray, np.ndarray, float]]) -> dict[str, Any]:
    """What ours gains on every baseline, in percent, in implausibility and in cost; and everybody's validity."""
    out: dict[str, Any] = {"validity": {kind: part[2] for kind, part in found.items()}}
    for base in BY:
        out[base] = {
            "implausibility": gain(found[base][0], found[OURS][0], paired=True),
            "cost": gain(found[base][1], found[OURS][1], paired=True),
        }
    return out


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=list(TABULAR))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=experiment("counterfactual-training").results)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    command = (
        f"python -m experiments.counterfactual_training.fair {given.dataset} --seeds {given.seeds} "
        f"--people {given.people} --epochs {given.epochs}"
    )
    place = given.out / f"fair-{given.dataset}.json"
    run(given.dataset, given.seeds, given.people, given.epochs, place, command)


if __name__ == "__main__":
    main()
