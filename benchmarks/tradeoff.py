"""The sweep of adversarial training: 8 radii, 10 splits, 3 datasets, two models; and recourse for 1,000 people.

    python -m benchmarks.tradeoff [--splits 10]

Needs the files of German Credit, COMPAS and Adult. Times are wall clock, compilation included for the training;
processor time stands beside.
"""

import argparse
import time

import numpy as np

from benchmarks._common import record
from holdfast.papers._relaxed import as_frame
from holdfast.papers.robustness_tradeoffs._measure import FirstCrossing
from holdfast.papers.robustness_tradeoffs._settings import KINDS, RADII, SETTINGS
from holdfast.papers.robustness_tradeoffs._sweep import Task, sweep


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    values: dict[str, object] = {"splits": options.splits, "radii": len(RADII)}
    total = processor = 0.0
    for name in SETTINGS:
        task = Task.load(name)
        splits = [task.split(seed) for seed in range(options.splits)]
        for kind, recipe in KINDS.items():
            began, cpu = time.perf_counter(), time.process_time()
            models = sweep(task, splits, recipe, RADII)
            seconds, used = time.perf_counter() - began, time.process_time() - cpu
            values[f"seconds, {name} {kind}"], values[f"processor seconds, {name} {kind}"] = seconds, used
            total, processor = total + seconds, processor + used
            if name == "adult" and kind == "MLP":
                method = FirstCrossing().fit(task.relaxed(models[0][0]))
                people = as_frame(np.tile(splits[0].x, (2, 1))[:1000])
                method.recourse(people)  # compile
                began = time.perf_counter()
                method.recourse(people)
                values["seconds, recourse for 1,000 people of Adult, MLP"] = time.perf_counter() - began
    values |= {"seconds, all": total, "processor seconds, all": processor}
    record("tradeoff", f"python -m benchmarks.tradeoff --splits {options.splits}", values)


if __name__ == "__main__":
    main()
