"""Wachter for 10,000 refused German-Credit applicants, beside the floor.

    python -m benchmarks.wachter [--people 10000]

Floor: the floating-point operations the search did (one forward and one backward pass through the layers per
step) over the rate of plain matrix products of the same shapes on the same cores.
"""

import argparse
import time

import numpy as np

from benchmarks._common import WIDTHS, best_of, forward_operations, german_job, matmul_rate, record
from holdtrue.batch import slots_for, solve
from holdtrue.encoding import feasible_sets
from holdtrue.models import n_cores
from holdtrue.schema import as_table
from holdtrue.search import Problems


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=10_000)
    n = parser.parse_args().people
    clf, refused, data = german_job()
    rows = np.random.default_rng(0).integers(0, len(refused), n)
    people = refused.iloc[rows].reset_index(drop=True)
    method, predictor = clf.method_, clf.predictor_
    feasible = feasible_sets(predictor.encoder, as_table(people))
    x = feasible.x
    problems = Problems(x, np.ones(n, np.int32), feasible, method._keys(x), x)
    solver = method.solver()

    began = time.perf_counter()
    answer = solve(solver, problems)
    first = time.perf_counter() - began
    seconds = best_of(lambda: solve(solver, problems), 3)
    whole = best_of(lambda: clf.recourse(people), 2)
    plan = clf.recourse(people)

    widths = (predictor.encoder.n_columns, *WIDTHS, 2)
    # Per step: forward, and backward to the input (the weights need no gradient).
    operations = int(np.asarray(answer.n_steps).sum()) * 2 * forward_operations(widths)
    rate = matmul_rate(slots_for(n), widths, n_cores())
    record(
        "wachter",
        f"python -m benchmarks.wachter --people {n}",
        {
            "data": data,
            "people": n,
            "steps at most": method.n_steps,
            "steps per person (mean)": float(np.asarray(answer.n_steps).mean()),
            "found": float(plan.found.mean()),
            "cost l1 (mean of found)": float(np.nanmean(plan.cost)),
            "seconds, search, first call (compiles)": first,
            "seconds, search": seconds,
            "people per second, search": n / seconds,
            "people per second, table to checked table": n / whole,
            "people per second if all took 500 steps": int(np.asarray(answer.n_steps).sum()) / seconds / 500,
            "search, GFLOP/s": operations / seconds / 1e9,
            "plain matrix products, GFLOP/s": rate / 1e9,
            "ratio to the floor": operations / seconds / rate,
        },
    )


if __name__ == "__main__":
    main()
