"""SparseSearch beside NICE on boosted trees: one job, in turns, on the same machine.

    python -m benchmarks.nice FOLDER [--people 100] [--rounds 5] [--trees 100]

The mortgage applications as numbers, XGBoost of 100 trees of depth 6, the first people whom it refuses, and no
limits, since NICE knows none. NICE (for sparsity) is installed from the package index into an environment of
its own in FOLDER and kept for the next time; both answer everybody, one after the other, round by round. People
per second are those of the median round, by the clock; processor time is of all threads, in milliseconds a
person, and the one to go by on a machine that others use. Cost is l1 in units of each column's range; `valid`,
what the model itself says. `one` is a call with one person, `first` the first of all.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks._common import record
from benchmarks.panel import as_numbers
from benchmarks.peers import environment

THEIRS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, xgboost
from nice import NICE
place = sys.argv[1]
booster = xgboost.Booster({"nthread": 1}, model_file=place + "/model.json")
def proba(rows):  # the quickest way to ask it
    p = booster.inplace_predict(np.asarray(rows, float))
    return np.column_stack([1 - p, p])
X, y, people = (np.load(f"{place}/{name}.npy") for name in ("X", "y", "people"))
began = time.perf_counter()
nice = NICE(X_train=X, predict_fn=proba, y_train=y, cat_feat=[], num_feat=list(range(X.shape[1])),
            optimization="sparsity", justified_cf=True)
print("ready", flush=True)
for line in sys.stdin:
    n = int(line)
    clock, processor = time.perf_counter(), time.process_time()
    rows = np.concatenate([np.atleast_2d(nice.explain(people[i : i + 1])) for i in range(n)])
    spent = time.perf_counter() - clock, time.process_time() - processor
    np.save(place + "/answers.npy", rows)
    print(json.dumps(spent), flush=True)
"""
ONE = 20  # people asked one by one


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    python, problem = environment("NICEx", options.folder.resolve(), "xgboost-cpu")
    if python is None:
        sys.exit(problem)
    X, y, schema = as_numbers("loanapp")
    model = XGBClassifier(n_estimators=options.trees, max_depth=6, n_jobs=1, random_state=0).fit(X, y)
    predictor = ht.wrap(model, schema, X)
    people = X[model.predict(X) != predictor.favourable].iloc[: options.people].reset_index(drop=True)
    method = ht.SparseSearch().fit(predictor, X)
    plan = []

    def ours(n: int) -> tuple[float, float]:
        clock, processor = time.perf_counter(), time.process_time()
        plan[:] = [method.recourse(people.iloc[:n])]
        return time.perf_counter() - clock, time.process_time() - processor

    with tempfile.TemporaryDirectory() as place:
        model.save_model(Path(place) / "model.json")
        for name, part in (("X", X), ("y", y), ("people", people)):
            np.save(Path(place) / f"{name}.npy", np.asarray(part, np.float64 if name != "y" else np.int64))
        command = [str(python), "-c", THEIRS, place]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
            assert peer.stdin is not None
            assert peer.stdout is not None
            told, asked = peer.stdout, peer.stdin
            told.readline()

            def theirs(n: int) -> tuple[float, float]:
                asked.write(f"{n}\n")
                asked.flush()
                return tuple(json.loads(told.readline()))

            both = {"holdtrue": ours, "NICE": theirs}
            found = {name: _measured(both, name) for name in both}
            rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in both}
            for _ in range(options.rounds):
                for name, ask in both.items():
                    rounds[name].append(ask(len(people)))
            asked.close()
        rows = {"holdtrue": pd.DataFrame(plan[0].recourse.columns), "NICE": None}
        rows["NICE"] = pd.DataFrame(np.load(Path(place) / "answers.npy"), columns=list(X.columns))
    for name, row in found.items():
        clock, processor = (float(np.median(part)) for part in zip(*rounds[name], strict=True))
        row |= {"people per second": len(people) / clock, "processor ms": 1000 * processor / len(people)}
        row |= judged(rows[name], people, model, X, predictor.favourable)
        print(name, {key: round(value, 3) for key, value in row.items()}, flush=True)
    command = f"python -m benchmarks.nice FOLDER --people {options.people} --rounds {options.rounds}"
    values = {"people": len(people), "trees": options.trees, "in turns": found}
    record("nice", f"{command} --trees {options.trees}", values, shown=False)


def _measured(both: dict[str, Callable[[int], tuple[float, float]]], name: str) -> dict[str, float]:
    """The first call of all, and calls with one person."""
    first, _ = both[name](1)
    clock, processor = (
        1000 * float(np.median(part)) for part in zip(*(both[name](1) for _ in range(ONE)), strict=True)
    )
    return {"first, s": first, "one, ms": clock, "one, processor ms": processor}


def judged(rows: Any, people: pd.DataFrame, model: Any, X: pd.DataFrame, favourable: Any) -> dict[str, float]:
    """What the model itself says, and what the changes cost."""
    valid = np.asarray(model.predict(rows[list(X.columns)].astype(float))) == favourable
    span = (X.max() - X.min()).replace(0, 1).to_numpy()
    moved = np.abs(rows[list(X.columns)].to_numpy(float) - people.to_numpy(float)) / span
    return {
        "valid": float(valid.mean()),
        "l1": float(moved.sum(axis=1)[valid].mean()),
        "changes": float((moved > 0).sum(axis=1)[valid].mean()),
    }


if __name__ == "__main__":
    main()
