"""Counterfactual training on Adult: seconds against plain and adversarial training, with and without compilation.

    python -m experiments.counterfactual_training.speed [DATASET]

One hidden layer of 32, 100 epochs of batches of 1,000; 5,000 searches of 30 steps an epoch, as in the paper. One
model at a time. Needs the file of Adult (or of another dataset of ``holdtrue papers counterfactual-training``).
"""

import sys
import time
from typing import Any

from benchmarks._common import forward_operations, record
from experiments import experiment
from experiments._task import Task
from experiments.counterfactual_training._settings import OURS, PAPER, PGD, PLAIN, WIDTHS, regimes
from experiments.counterfactual_training._task import read_task
from experiments.counterfactual_training._train import trained


def operations(task: Task, regime: Any) -> dict[str, int]:
    """Multiplications and additions of an epoch's matrix products: of plain training, and of what CT adds to it.

    A row's slope in the weights takes two products more than asking about it, less the one that would lead on to
    the row itself; a search's slope in the row takes one more each step. Nobody is taken to mature before the end.
    """
    d, n = task.encoder.n_columns, min(regime.n_recourses, len(task.learned.x))
    ask = forward_operations((d, *WIDTHS, task.n_classes))
    learn = 3 * ask - forward_operations((d, WIDTHS[0]))
    return {
        "plain": len(task.learned.x) * learn,
        "searches": n * (regime.n_steps + 1) * 2 * ask,
        "terms of the loss": 3 * n * learn,
    }


def main(name: str = "adult") -> None:
    """Time four regimes on a dataset, each twice."""
    task = read_task(name)
    chosen = regimes(task.setting)
    values: dict[str, Any] = {"dataset": name, "rows": len(task.learned.x), "columns": task.encoder.n_columns}
    for kind in (PLAIN, PAPER, OURS, PGD):
        seconds = []
        for _ in range(2):
            began = time.perf_counter()
            trained(task, [(kind, chosen[kind])], 1)
            seconds.append(time.perf_counter() - began)
        values[f"{kind}: seconds, first call"] = seconds[0]
        values[f"{kind}: seconds"] = seconds[1]
    counted = operations(task, chosen[PAPER])
    values |= {f"million operations an epoch, {what}": count / 1e6 for what, count in counted.items()}
    values["CT over plain, by operations"] = sum(counted.values()) / counted["plain"]
    for kind in (PAPER, OURS, PGD):
        values[f"{kind} over plain"] = values[f"{kind}: seconds"] / values[f"{PLAIN}: seconds"]
    suffix = "" if name == "adult" else f"-{name}"
    command = f"python -m experiments.counterfactual_training.speed{'' if name == 'adult' else f' {name}'}"
    record(f"speed{suffix}", command, values, folder=experiment("counterfactual-training").results)


if __name__ == "__main__":
    main(*sys.argv[1:])
