"""Proofs: what share of the refused is settled, and how long it takes.

    python -m benchmarks.proof [--people 100] [--seconds 10] [--data german_credit,heloc,adult]
        [--kinds forest,xgboost] [--to proof]
    python -m benchmarks.proof --kinds linear,mlp-16,mlp-64,mlp-128-64-16 --to proof-layers --people 40

Models learned from at most 20,000 rows of 70% of a table: forests and XGBoost of 100 trees of depth 6, holdtrue's
own linear model and networks (20 epochs); people from the other rows whom the model refuses, under every limit of
the table's schema. `ExactSearch` is asked about one person after the other, so that seconds are a person's own,
from the table to the checked table. Settled: OPTIMAL or INFEASIBLE.
"""

import argparse
import os
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks._common import record
from holdtrue.search import Status

ROWS = 20_000


def job(dataset: str, kind: str, n_people: int) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """A model as the package reads it, the rows it learned from, and people it refuses."""
    data = ht.datasets.load(dataset)
    X, y = pd.DataFrame(data.X).copy(), np.asarray(data.y)
    order = np.random.default_rng(0).permutation(len(X))
    cut = int(0.7 * len(X))
    known, rest = order[:cut][:ROWS], order[cut:]
    words = [name for name in X if X[name].dtype.kind not in "biuf"]
    model: Any
    if kind == "linear" or kind.startswith("mlp"):
        widths = tuple(int(w) for w in kind.split("-")[1:])
        layers = ht.MLP(widths=widths) if widths else ht.Linear()
        quick = ht.StandardTraining(n_epochs=20)
        clf = ht.RecourseClassifier(schema=data.schema, model=layers, regime=quick, hold=None, random_state=0)
        clf.fit(X.iloc[known], y[known])
        refused = rest[np.asarray(clf.predict(X.iloc[rest])) != clf.predictor_.favourable][:n_people]
        return clf.predictor_, X.iloc[known], X.iloc[refused].reset_index(drop=True)
    if kind == "xgboost":
        X = X.astype(dict.fromkeys(words, "category"))
        model = XGBClassifier(n_estimators=100, max_depth=6, enable_categorical=True, n_jobs=1, random_state=0)
    else:
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        model = RandomForestClassifier(100, max_depth=6, random_state=0)
        model = make_pipeline(make_column_transformer((codes, words), remainder="passthrough"), model)
    model.fit(X.iloc[known], y[known])
    predictor = ht.wrap(model, data.schema, X.iloc[known])
    refused = rest[np.asarray(model.predict(X.iloc[rest])) != predictor.favourable][:n_people]
    return predictor, X.iloc[known], X.iloc[refused].reset_index(drop=True)


def measure(dataset: str, kind: str, n_people: int, seconds: float) -> dict[str, Any]:
    """Ask about everybody, one after the other."""
    predictor, known, people = job(dataset, kind, n_people)
    method = ht.ExactSearch(time_limit=seconds).fit(predictor, known)
    began = time.perf_counter()
    method.recourse(people.iloc[:1])
    first = time.perf_counter() - began
    spent, worked, status, gaps, boxes, costs = [], [], [], [], [], []
    for i in range(len(people)):
        began, before = time.perf_counter(), time.process_time()
        plan = method.recourse(people.iloc[i : i + 1])
        spent.append(time.perf_counter() - began)
        worked.append(time.process_time() - before)
        status.append(Status(plan.status[0]).name)
        gaps.append(float(plan.gap[0]))
        costs.append(float(plan.cost[0]))
        boxes.append(int(plan.n_steps[0]))
    quick = ht.SparseSearch().fit(predictor, known).recourse(people)
    both = np.isfinite(costs) & quick.found
    counts = {name: status.count(name) for name in sorted(set(status))}
    open_ = [gap for gap, name in zip(gaps, status, strict=True) if name == "FOUND"]
    ours = np.array(costs)[both].sum()
    return {
        "people": len(people),
        "statuses": counts,
        "settled": (counts.get("OPTIMAL", 0) + counts.get("INFEASIBLE", 0)) / len(people),
        "seconds, median": float(np.median(spent)),
        "seconds, 95%": float(np.quantile(spent, 0.95)),
        "seconds, most": float(np.max(spent)),
        "within .1 s": float(np.mean(np.array(spent) <= 0.1)),
        "seconds of a core, median": float(np.median(worked)),
        "seconds of a core, most": float(np.max(worked)),
        "first call, s": first,
        "boxes, median": float(np.median(boxes)),
        "boxes, most": int(np.max(boxes)),
        "gap of the others, mean": float(np.mean(open_)) if open_ else None,
        "SparseSearch over the cheapest": float(quick.cost[both].sum() / ours) if both.any() else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--data", default="german_credit,heloc,adult")
    parser.add_argument("--kinds", default="forest,xgboost")
    parser.add_argument("--to", default="proof")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    load = os.getloadavg()[0]
    for dataset in options.data.split(","):
        for kind in options.kinds.split(","):
            row = results[f"{dataset}, {kind}"] = measure(dataset, kind, options.people, options.seconds)
            print(f"{dataset:<16}{kind:<10}{row}", flush=True)
    given = f"--people {options.people} --seconds {options.seconds} --data {options.data}"
    given += f" --kinds {options.kinds} --to {options.to}"
    record(options.to, f"python -m benchmarks.proof {given}", {"load before": load, "jobs": results})


if __name__ == "__main__":
    main()
