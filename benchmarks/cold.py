"""A cold process to its first answer, for every kind of model; and one warm person, and many, after it.

    python -m benchmarks.cold [--kinds xgboost,stack] [--again] [--table]

A model of mortgage applications is in a model file (an opaque function is made by the process itself). A process
that knows nothing but the file imports holdtrue, loads the model, decides about one person and finds recourse:

- `none`: without any cache of compiled programs;
- `filled`: with a cache that a process with another table, of other people and other columns, has filled, and
  `compiled`, how many programs it had to compile all the same;
- `warm`: once more.

Seconds are of the processor (user and system, all threads) and of the clock; on a machine that others use the
first are the ones to go by. `processor` and `clock` are of the whole process, its end included; `answer` and
`answer_clock` stop where the answer is there, which is what somebody at a notebook waits for. The warm process
then answers 30 people one by one and 200 at once: `one_ms` is the median of the processor's milliseconds for
one, `many_ms` those of each of many; `asking_ms` is what the model's own library takes for two questions, about
the person and about the recourse, which `SparseSearch` asks as one where few people are answered. What is done is
written after every kind, and a later call goes on with the others.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import holdtrue as ht
from benchmarks import matrix
from benchmarks._common import RESULTS, record

THRESHOLD = 0.85
COMMAND = "python -m benchmarks.cold"
TABLES = {"first": slice(0, 21), "other": slice(2, 17)}
"""Columns of the two tables; the other has other people too."""
SAID_FIRST = ("status", "answer", "answer_clock")
PROGRAM = """
import time
start = time.perf_counter()
import json, sys, warnings
warnings.simplefilter("ignore")
kind, place, table, more = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4] == "more"
import holdtrue as ht
import numpy as np, pandas as pd
X = pd.read_csv(table)
if kind == "opaque":
    import skops.io
    model, reference = skops.io.load(place, trusted=["sklearn.tree._tree.Tree", "numpy.dtype"]), X
    function = lambda rows: model.predict_proba(rows)
    predictor = ht.wrap(function, None, X, threshold=THRESHOLD, favourable=1)
    asked = ht.SparseSearch().fit(predictor, X)
    refused = X[model.predict_proba(X)[:, 1] < THRESHOLD]
else:
    asked = ht.load(place)
    refused = X[asked.predict(X) != asked.predictor_.favourable]
plan = asked.recourse(refused.head(1))
out = {"status": plan.counts(), "answer": round(time.process_time(), 2),
       "answer_clock": round(time.perf_counter() - start, 2)}
if more:
    spent, asking = [], []
    own = asked.predictor_
    for i in range(35):
        person = refused.iloc[[i % len(refused)]]
        began = time.process_time(); asked.recourse(person); spent.append(time.process_time() - began)
        table = own.encoder.schema.check(person)
        began = time.process_time(); own.logits(table); own.logits(table)
        asking.append(time.process_time() - began)
    many = refused.iloc[np.resize(np.arange(len(refused)), 200)]
    asked.recourse(many)
    began = time.process_time(); plan = asked.recourse(many); each = (time.process_time() - began) / len(many)
    out |= {"one_ms": 1000 * float(np.median(spent[5:])), "asking_ms": 1000 * float(np.median(asking[5:])),
            "many_ms": 1000 * each, "found": float(plan.found.mean())}
print(json.dumps(out))
""".replace("THRESHOLD", str(THRESHOLD))


def own_default(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, place: Path) -> Path:
    """holdtrue's default model, without guides."""
    clf = ht.RecourseClassifier(schema=schema, hold=None, threshold=THRESHOLD, random_state=0)
    clf.fit(X, y).save(place / "own.holdtrue")
    return place / "own.holdtrue"


def opaque(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, place: Path) -> Path:
    """What a process of its own makes a function of."""
    import skops.io

    skops.io.dump(matrix.forest().fit(X, y), place / "opaque.skops")
    return place / "opaque.skops"


def categories(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, place: Path) -> Path:
    """Histogram boosting with native categories."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    names = [f.name for f in schema if f.kind == "categorical"]
    some = [list(X.columns).index(name) for name in names]
    model = HistGradientBoostingClassifier(random_state=0, categorical_features=some or None).fit(X, y)
    return _adopted(model, X, schema, place)


def _adopted(model: Any, X: pd.DataFrame, schema: ht.Schema, place: Path) -> Path:
    ht.adopt(model, schema, reference=X, threshold=THRESHOLD).save(place / "model.holdtrue")
    return place / "model.holdtrue"


def _plain(kind: str) -> Callable[..., Path]:
    def make(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, place: Path) -> Path:
        return _adopted(matrix.KINDS[kind]().fit(X, y), X, schema, place)

    return make


def _file(kind: str) -> Callable[..., Path]:
    def make(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, place: Path) -> Path:
        theirs, *more = matrix.FILES[kind](X, y, place)
        X.to_csv(place / "train.csv", index=False)
        schema.save(place / "schema.yaml")
        out = place / "model.holdtrue"
        asked = ["adopt", theirs, *more, "--reference", place / "train.csv", "--schema", place / "schema.yaml"]
        command = [sys.executable, "-m", "holdtrue.cli", *map(str, asked), "--threshold", str(THRESHOLD)]
        subprocess.run([*command, "--favourable", "1", "--out", str(out)], check=True, capture_output=True)
        return out

    return make


KINDS: dict[str, Callable[..., Path]] = {
    "own default": own_default,
    **{
        kind: _plain(kind)
        for kind in ("xgboost", "lightgbm", "forest", "catboost", "calibrated", "votes", "stack")
    },
    "categories": categories,
    "onnx": _file("onnx"),
    "torch": _file("torch"),
    "opaque": opaque,
}


def ask(kind: str, place: Path, table: Path, cache: Path | None, more: bool = False) -> dict[str, Any]:
    """One cold process: what it says, and its seconds."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    env |= {"HOLDTRUE_CACHE": "off"} if cache is None else {"XDG_CACHE_HOME": str(cache)}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-c", PROGRAM, kind, str(place), str(table), "more" if more else "first"]
    before, began = _processor(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise RuntimeError(done.stderr[-500:])
    said = json.loads(done.stdout.splitlines()[-1])
    return (
        said
        if more
        else {
            "processor": round(_processor() - before, 2),
            "clock": round(time.perf_counter() - began, 2),
            "answer": said["answer"],
            "answer_clock": said["answer_clock"],
        }
    )


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(kind: str, folder: Path) -> dict[str, Any]:
    """All processes of one kind."""
    bank = ht.datasets.load("loanapp")
    y = (np.asarray(bank.y) == 1).astype(int)
    files = {}
    for which, columns in TABLES.items():
        place = folder / which
        place.mkdir()
        names = list(bank.X.columns)[columns]
        rows = slice(0, None) if which == "first" else slice(0, 1200)
        X, schema = bank.X[names].iloc[rows], ht.Schema([bank.schema[name] for name in names])
        X.head(600).to_csv(place / "people.csv", index=False)
        files[which] = KINDS[kind](X, y[rows], schema, place), place / "people.csv"
    cache = folder / "cache"
    none = ask(kind, *files["first"], None)
    ask(kind, *files["other"], cache)
    known = _programs(cache)
    filled = ask(kind, *files["first"], cache)
    compiled = len(_programs(cache) - known)
    warm = ask(kind, *files["first"], cache)
    said = ask(kind, *files["first"], cache, more=True)
    figures = {key: round(value, 2) for key, value in said.items() if key not in SAID_FIRST}
    return {"none": none, "filled": filled | {"compiled": compiled}, "warm": warm, **figures}


def _programs(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*-cache")}


def as_table(kinds: dict[str, Any]) -> str:
    """The result for a page: processor seconds and milliseconds."""
    lines = [
        "| model | no cache, s | cache of another table, s | programs compiled | warm cache, s | one person, ms | "
        "the model asked twice | each of 200, ms |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, said in kinds.items():
        seconds = (said["none"]["processor"], said["filled"]["processor"], said["warm"]["processor"])
        a, b, c = (f"{value:.1f}" for value in seconds)
        figures = f"{said['one_ms']:.0f} | {said['asking_ms']:.1f} | {said['many_ms']:.1f}"
        lines.append(f"| {kind} | {a} | {b} | {said['filled']['compiled']} | {c} | {figures} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--again", action="store_true", help="measure the kinds anew that are in the result")
    parser.add_argument("--table", action="store_true", help="print what is in the result, and measure nothing")
    args = parser.parse_args()
    place = RESULTS / "cold.json"
    if args.table:
        print(as_table(json.loads(place.read_text(encoding="utf-8"))["kinds"]))
        return
    found = json.loads(place.read_text(encoding="utf-8"))["kinds"] if place.exists() else {}
    for kind in args.kinds.split(","):
        if kind in found and not args.again:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[kind] = measured(kind, Path(folder))
        print(kind, found[kind], flush=True)
        load = [round(value, 1) for value in os.getloadavg()]
        record("cold", COMMAND, {"load": load, "kinds": found}, shown=False)


if __name__ == "__main__":
    main()
