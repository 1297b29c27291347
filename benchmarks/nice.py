"""SparseSearch beside NICE on the models that lenders run: one job, in turns, on the same machine.

    python -m benchmarks.nice FOLDER [--model xgboost,stack] [--people 100] [--rounds 3] [--seconds 2]

The mortgage applications as numbers, the first people whom a model refuses, and no limits, since NICE knows
none. NICE (for sparsity) is unpacked from the package index into FOLDER, kept for the next time, and asked in a
process of its own that has the same libraries and the same model, each library in the way that answers quickest.
Both answer one after the other, round by round: holdtrue all people at once, NICE as many of them as it answers
in `--seconds`, all where it is quick. People per second are those of the median round, by the clock; processor
time is of all threads, in milliseconds a person, and the one to go by on a machine that others use. `valid` is
what the model itself says, `cost` l1 in units of each column's range, over the people whom both answered. `one`
is a call with one person, `first` the first of all.

`load` is how many processes wanted a core when it began. Beside each kind stands its goal: of trees, no fewer
people a second than NICE in the same run; of what is composed of models that can be read, 100 a second; of an
opaque function, 50. What is measured is added to the result, so that kinds can be measured one by one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import holdtrue as ht
from benchmarks._common import RESULTS, record
from benchmarks.panel import as_numbers

PACKAGE = "NICEx"
THEIRS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import joblib, numpy as np
from nice import NICE
place = sys.argv[1]
model = joblib.load(place + "/model.joblib")
kind = type(model).__module__.partition(".")[0]
def proba(rows):  # the quickest way to ask it
    rows = np.asarray(rows, float)
    if kind == "xgboost":
        p = booster.inplace_predict(rows)
    elif kind == "lightgbm":
        p = model.booster_.predict(rows, num_threads=1)
    elif kind == "catboost":
        return model.predict_proba(rows, thread_count=1)
    else:
        return model.predict_proba(rows)
    return np.column_stack([1 - p, p])
if kind == "xgboost":
    booster = model.get_booster()
X, y, people = (np.load(f"{place}/{name}.npy") for name in ("X", "y", "people"))
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
ONE = 10  # people asked one by one
FEWEST = 5  # whom NICE answers in a round, however slow
Spent = tuple[float, float]
"""Seconds by the clock and of the processor."""


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, n_jobs=1, random_state=0, verbose=-1)


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=100, depth=6, thread_count=1, random_seed=0, verbose=0, allow_writing_files=False
    )


def forest(trees: int = 100) -> Any:
    return RandomForestClassifier(trees, random_state=0, n_jobs=1)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


MODELS: dict[str, tuple[Callable[[], Any], float | None]] = {
    "xgboost": (xgboost, None),
    "lightgbm": (lightgbm, None),
    "catboost": (catboost, None),
    "forest of 100": (forest, None),
    "forest of 200": (lambda: forest(200), None),
    "calibrated xgboost": (lambda: CalibratedClassifierCV(xgboost(), cv=3), 100.0),
    "calibrated forest": (lambda: CalibratedClassifierCV(forest(), cv=3), 100.0),
    "votes": (lambda: VotingClassifier([("x", xgboost()), ("l", logistic())], voting="soft"), 100.0),
    "stack": (lambda: StackingClassifier([("x", xgboost()), ("f", forest()), ("l", logistic())], cv=3), 100.0),
    "opaque": (forest, 50.0),
}
"""Kinds, of 100 trees unless they say otherwise; and people a second that are wanted (None: as many as NICE)."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default=",".join(MODELS))
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    for name in options.model.split(","):
        if name not in MODELS:
            sys.exit(f"nice: no such model; got {name!r}. Known are {', '.join(MODELS)}.")
    peer = unpacked(options.folder.resolve())
    sizes = f"--people {options.people} --rounds {options.rounds} --seconds {options.seconds:g}"
    command = f"python -m benchmarks.nice FOLDER {sizes}"
    place = RESULTS / "nice.json"
    before = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    found = before.get("models", {}) if before.get("command") == command else {}
    load = max(before.get("load", 0.0) if found else 0.0, os.getloadavg()[0])  # of others: nothing has begun here
    for name in options.model.split(","):
        found[name] = measured(name, peer, options.people, options.rounds, options.seconds)
        print(name, json.dumps(found[name]), flush=True)
        ordered = {kind: found[kind] for kind in MODELS if kind in found}
        record("nice", command, {"load": round(load, 1), "models": ordered}, shown=False)


def unpacked(folder: Path) -> Path:
    """Where NICE is, without what it would bring along: it is to use the libraries that are there."""
    place = folder / PACKAGE
    if not (place / "nice").is_dir():
        options = ("--quiet", "--no-deps", "--target", str(place))
        subprocess.run([sys.executable, "-m", "pip", "install", *options, PACKAGE], check=True)
    return place


def measured(name: str, peer: Path, n_people: int, n_rounds: int, seconds: float) -> dict[str, Any]:
    """Both on one kind of model."""
    X, y, schema = as_numbers("loanapp")
    make, goal = MODELS[name]
    model = make().fit(X.to_numpy(), y)
    given = model if name != "opaque" else lambda rows: model.predict_proba(rows.to_numpy(float))
    predictor = ht.wrap(given, schema, X)
    foreign = predictor.foreign
    assert foreign is not None
    people = X[model.predict(X.to_numpy()) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    method = ht.SparseSearch().fit(predictor, X)
    plans: list[ht.RecourseFrame] = []

    def ours(n: int) -> Spent:
        foreign._answers.clear()  # what an earlier round was told
        clock, processor = time.perf_counter(), time.process_time()
        plans[:] = [method.recourse(people.iloc[:n])]
        return time.perf_counter() - clock, time.process_time() - processor

    with tempfile.TemporaryDirectory() as place:
        joblib.dump(model, Path(place) / "model.joblib")
        for part, values in (("X", X), ("y", y), ("people", people)):
            np.save(Path(place) / f"{part}.npy", np.asarray(values, np.float64 if part != "y" else np.int64))
        command = [sys.executable, "-c", THEIRS, place]
        paths = os.pathsep.join(path for path in (str(peer), os.environ.get("PYTHONPATH", "")) if path)
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": paths},
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            told, asked = process.stdout, process.stdin
            told.readline()

            def theirs(n: int) -> Spent:
                asked.write(f"{n}\n")
                asked.flush()
                return tuple(json.loads(told.readline()))

            one = {"holdtrue": alone(ours), "NICE": alone(theirs)}
            fitting = int(1000 * seconds / one["NICE"]["one, ms"])
            n_theirs = min(len(people), max(FEWEST, fitting))
            rounds: dict[str, list[Spent]] = {"holdtrue": [], "NICE": []}
            for _ in range(n_rounds):
                rounds["holdtrue"].append(ours(len(people)))
                rounds["NICE"].append(theirs(n_theirs))
            asked.close()
        both, mine = slice(n_theirs), pd.DataFrame(plans[0].recourse.columns)[list(X.columns)].to_numpy(float)
        answers = {"holdtrue": mine[both], "NICE": np.load(Path(place) / "answers.npy")}
    row: dict[str, Any] = {"read": foreign.note}
    span = (X.max() - X.min()).replace(0, 1).to_numpy()
    for who, n in (("holdtrue", len(people)), ("NICE", n_theirs)):
        clock, processor = (float(np.median(part)) for part in zip(*rounds[who], strict=True))
        spent = {"people": n, "people per second": n / clock, "processor ms": 1000 * processor / n}
        spent |= one[who] | judged(answers[who], people[both].to_numpy(float), model, span, predictor.favourable)
        row[who] = {key: round(value, 4) for key, value in spent.items()}
    wanted = row["NICE"]["people per second"] if goal is None else goal
    return row | {"goal": round(wanted, 1), "reached": bool(row["holdtrue"]["people per second"] >= wanted)}


def alone(ask: Callable[[int], Spent]) -> dict[str, float]:
    """The first call of all, and calls with one person."""
    first, _ = ask(1)
    clock, processor = (1000 * float(np.median(part)) for part in zip(*(ask(1) for _ in range(ONE)), strict=True))
    return {"first, s": first, "one, ms": clock, "one, processor ms": processor}


def judged(
    rows: np.ndarray, people: np.ndarray, model: Any, span: np.ndarray, favourable: Any
) -> dict[str, float]:
    """What the model itself says, and what the changes cost."""
    valid = np.ravel(model.predict(rows)) == favourable
    moved = np.abs(rows - people) / span
    return {
        "valid": float(valid.mean()),
        "cost": float(moved.sum(axis=1)[valid].mean()),
        "changes": float((moved > 0).sum(axis=1)[valid].mean()),
    }


if __name__ == "__main__":
    main()
