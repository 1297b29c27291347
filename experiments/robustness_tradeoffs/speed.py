"""The sweep of adversarial training: 8 radii, 10 splits, 3 datasets, two models; and recourse for 1,000 people.

    python -m experiments.robustness_tradeoffs.speed [--splits 10]

Needs the files of German Credit, COMPAS and Adult. Times are wall clock, compilation included for the training;
processor time stands beside. Where cores are to spare (an accelerator's host), the six programs are compiled side
by side; two cores are busy with one.
"""

import argparse
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks._common import record
from experiments import experiment
from experiments._report import told_place
from experiments.robustness_tradeoffs._measure import FirstCrossing
from experiments.robustness_tradeoffs._settings import KINDS, RADII, SETTINGS
from experiments.robustness_tradeoffs._sweep import Encoded, space, sweep
from holdtrue.models import AbstractModel

RESULTS = experiment("robustness-tradeoffs").results


def main() -> None:
    """Time the whole sweep, and recourse under one of its models."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--out", type=Path, default=RESULTS / "speed.json", help="the file")
    options = parser.parse_args()
    workers = max(1, min(6, (os.cpu_count() or 1) // 2))
    values: dict[str, object] = {"splits": options.splits, "radii": len(RADII), "programs at a time": workers}
    data = {name: Encoded.load(name) for name in SETTINGS}
    tasks = {name: [own.task(seed) for seed in range(options.splits)] for name, own in data.items()}

    def train(job: tuple[str, str]) -> tuple[float, list[list[AbstractModel]]]:
        name, kind = job
        began = time.perf_counter()
        models = sweep(tasks[name], KINDS[kind], RADII)
        return time.perf_counter() - began, models

    jobs = [(name, kind) for name in SETTINGS for kind in KINDS]
    began, cpu = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(workers) as pool:
        trained = dict(zip(jobs, pool.map(train, jobs), strict=True))
    total, processor = time.perf_counter() - began, time.process_time() - cpu
    values |= {f"seconds, {name} {kind}": seconds for (name, kind), (seconds, _) in trained.items()}

    _, models = trained["adult", "MLP"]
    first = tasks["adult"][0]
    own = space(first, models[0][0])
    method, people = own.fitted(FirstCrossing()), np.tile(first.tested.x, (2, 1))[:1000]
    own.recourse(method, people)  # compile
    began = time.perf_counter()
    own.recourse(method, people)
    values["seconds, recourse for 1,000 people of Adult, MLP"] = time.perf_counter() - began
    values |= {"seconds, all": total, "processor seconds, all": processor}
    told = "" if options.out == RESULTS / "speed.json" else told_place(options.out, RESULTS)
    command = f"python -m experiments.robustness_tradeoffs.speed --splits {options.splits}{told}"
    record(options.out.stem, command, values, folder=options.out.parent)


if __name__ == "__main__":
    main()
