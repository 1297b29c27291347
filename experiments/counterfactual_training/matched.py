"""Plausibility at matched cost: ``python -m experiments.counterfactual_training.matched DATASET``.

Our setting gives more plausible recourse than PGD training, at a higher cost. Here each is let go as far as the
other: searches of every model end at several probabilities (0.5 to 0.99) and energy weights, so that a person has
several recourses under each. Of these the most plausible is taken whose cost is at most that of the other regime's
usual one (probability 0.5, the same energy weight). Writes ``results/matched-DATASET.json``.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments import experiment
from experiments._report import write
from experiments._results import made_with
from experiments.counterfactual_training._compare import gain
from experiments.counterfactual_training._search import search
from experiments.counterfactual_training._settings import OURS, PGD, PLAIN, PROTOCOLS, SETTINGS, regimes
from experiments.counterfactual_training._task import read_task
from experiments.counterfactual_training._train import trained

MATURITIES = (0.5, 0.7, 0.9, 0.97, 0.99)
ROOM = 1.02  # of the other's cost: steps of a search are not infinitely small


def within(budget: np.ndarray, cost: np.ndarray, far: np.ndarray) -> np.ndarray:
    """Least implausibility of recourse that costs no more than a budget; NaN where there is none.

    Parameters
    ----------
    budget : (seeds, weights, people)
    cost, far : (ways, seeds, weights, people)
        Of every way to end a search; any of its energy weights will do.
    """
    own = np.moveaxis(far, 2, 0).reshape(-1, far.shape[1], 1, far.shape[3])
    dear = np.moveaxis(cost, 2, 0).reshape(-1, *own.shape[1:]) > ROOM * budget[None]
    allowed = np.where(dear | np.isnan(own), np.inf, own)
    least = allowed.min(axis=0)
    return np.where(np.isfinite(least) & np.isfinite(budget), least, np.nan)


def run(name: str, n_seeds: int, n_people: int, n_epochs: int) -> dict[str, Any]:
    """One dataset: plain, PGD and our training."""
    task, protocol = read_task(name), PROTOCOLS["honest"]
    chosen = regimes(task.setting, n_epochs)
    far, cost = {}, {}
    for kind in (PLAIN, PGD, OURS):
        models = trained(task, [(kind, chosen[kind])], n_seeds)[0]
        found = [search(task, models, protocol, n_people, maturity=m) for m in MATURITIES]
        far[kind], cost[kind] = (np.stack([getattr(f, k) for f in found]) for k in ("implausibility", "cost"))
    out: dict[str, Any] = {}
    for base in (PLAIN, PGD):
        as_they_are = gain(far[base][0], far[OURS][0], paired=True)
        ours_budget = gain(within(cost[OURS][0], cost[base], far[base]), far[OURS][0], paired=True)
        base_budget = gain(far[base][0], within(cost[base][0], cost[OURS], far[OURS]), paired=True)
        both = np.isfinite(far[base][0]) & np.isfinite(far[OURS][0])
        ratio = float(cost[OURS][0][both].mean() / cost[base][0][both].mean()) if both.any() else None
        out[base] = {
            "as they are": as_they_are, "within our cost": ours_budget, "within its cost": base_budget,
            "cost over its": ratio,
        }  # fmt: skip
    return out


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("dataset", choices=[name for name, own in SETTINGS.items() if not own.is_image])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path, default=experiment("counterfactual-training").results)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    found = run(given.dataset, given.seeds, given.people, given.epochs)
    command = (
        f"python -m experiments.counterfactual_training.matched {given.dataset} --seeds {given.seeds} "
        f"--people {given.people} --epochs {given.epochs}"
    )
    kept = {
        "dataset": given.dataset, "title": SETTINGS[given.dataset].title, "n_seeds": given.seeds,
        "n_people": given.people, "n_epochs": given.epochs, "found": found, "command": command,
        "seconds": {"processor": round(time.process_time() - began, 1)},
    }  # fmt: skip
    write(given.out / f"matched-{given.dataset}.json", kept | made_with({}))


if __name__ == "__main__":
    main()
