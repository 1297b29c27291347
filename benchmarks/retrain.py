"""200 retrainings of an MLP 128-64-16 on 700 rows, 100 epochs, batch 32: three ways.

    python -m benchmarks.retrain [--models 200] [--sample 20]

``threads`` runs in full; ``sequential`` and ``vmap`` on a sample, scaled up, unless ``--sample`` is 0.
"""

import argparse
import time

import jax

from benchmarks._common import WIDTHS, forward_operations, german_job, matmul_rate, record
from holdtrue.retraining import retrain


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--sample", type=int, default=20)
    options = parser.parse_args()
    clf, _, data = german_job()
    retrain(clf, n=2, strategy="sequential")  # compile
    values: dict[str, object] = {"data": data, "models": options.models}
    chosen = "threads" if jax.default_backend() == "cpu" else "vmap"
    for strategy in ("sequential", "vmap", "threads"):
        n = options.models if strategy == chosen or options.sample == 0 else options.sample
        if strategy == "vmap":
            retrain(clf, n=n, strategy="vmap")  # compile
        began = time.perf_counter()
        retrain(clf, n=n, strategy=strategy)
        seconds = time.perf_counter() - began
        values[f"seconds, {strategy}" + ("" if n == options.models else f" (scaled from {n})")] = (
            seconds * options.models / n
        )
        if strategy == chosen:
            chosen_seconds = seconds
    rows = clf.training_.data.x.shape[0]
    widths = (clf.predictor_.encoder.n_columns, *WIDTHS, 2)
    operations = options.models * 100 * rows * 3 * forward_operations(widths)
    rate = matmul_rate(32, widths, 2)
    values |= {
        "chosen": chosen,
        "training, GFLOP/s": operations / chosen_seconds / 1e9,
        "plain matrix products of batch 32, GFLOP/s": rate / 1e9,
        "ratio to the floor": operations / chosen_seconds / rate,
    }
    record("retrain", f"python -m benchmarks.retrain --models {options.models}", values)


if __name__ == "__main__":
    main()
