"""Models made of models, and opaque functions: people per second of the default method, and what is found.

    python -m benchmarks.composed [--people 200] [--rounds 3] [--kinds stack,calibrated forest]

The mortgage applications as numbers; every model is learned on all of them, and the first people whom it refuses
are answered by `SparseSearch`. An opaque one is the model's `predict_proba` as a plain function of a dataframe.
People per second are those of the fastest round, by the clock, on all cores; processor time is of all threads, in
milliseconds a person, and the one to go by on a machine that others use; `asking_ms` is the share of it that the
model's own library takes for the two questions about a person and their recourse. `digest` is of all answers: the
same number means the same answers to the last bit. What is done is written after every kind.
"""

import argparse
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import holdtrue as ht
from benchmarks._common import record
from benchmarks.panel import as_numbers
from holdtrue.schema import as_table


def forest(n: int = 100) -> Any:
    return RandomForestClassifier(n, random_state=0, n_jobs=1)


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)


def lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=100, n_jobs=1, verbose=-1, random_state=0)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def network() -> Any:
    return make_pipeline(StandardScaler(), MLPClassifier((16,), random_state=0, tol=1e-2))


KINDS: dict[str, Callable[[], Any]] = {
    "stack": lambda: StackingClassifier([("f", forest()), ("x", xgboost()), ("l", logistic())], cv=3),
    "calibrated forest": lambda: CalibratedClassifierCV(forest(), cv=5),
    "calibrated xgboost": lambda: CalibratedClassifierCV(xgboost(), cv=5, method="isotonic"),
    "votes": lambda: VotingClassifier([("f", forest()), ("x", xgboost()), ("g", lightgbm())], voting="soft"),
    "opaque xgboost": xgboost,
    "opaque network": network,
    "opaque forest": lambda: forest(30),
}


def measured(kind: str, n_people: int, rounds: int) -> dict[str, Any]:
    """One kind of model."""
    X, y, schema = as_numbers("loanapp")
    model = KINDS[kind]().fit(X, y)
    asked = (lambda rows: model.predict_proba(rows)) if kind.startswith("opaque") else model
    favourable = {"threshold": 0.5, "favourable": 1} if kind.startswith("opaque") else {}
    predictor = ht.wrap(asked, schema, X, **favourable)
    people = X[model.predict(X) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    method = ht.SparseSearch().fit(predictor, X)
    plan = method.recourse(people)
    spent = []
    for _ in range(rounds):
        if predictor.foreign is not None:
            predictor.foreign._answers.clear()
        clock, processor = time.perf_counter(), time.process_time()
        plan = method.recourse(people)
        spent.append((time.perf_counter() - clock, time.process_time() - processor))
    table, n = as_table(people), len(people)
    processor = time.process_time()
    predictor.logits(table)
    predictor.logits(table)
    asking = time.process_time() - processor
    clock, best = (min(part) for part in zip(*spent, strict=True))
    text = plan.to_frame()[schema.names].to_csv() + np.asarray(plan.cost, np.float64).tobytes().hex()
    found = plan.cost[plan.found]
    return {
        "people": n,
        "per_second": round(n / clock, 1),
        "ms": round(1000 * best / n, 2),
        "asking_ms": round(1000 * asking / n, 2),
        "found": int(plan.found.sum()),
        "cost": round(float(found.mean()), 4),
        "digest": hashlib.sha256(text.encode()).hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    kinds = {}
    for kind in options.kinds.split(","):
        kinds[kind] = measured(kind, options.people, options.rounds)
        kinds[kind]["load"] = round(os.getloadavg()[0], 1)
        print(kind, kinds[kind], flush=True)
        record(
            "composed", f"python -m benchmarks.composed --people {options.people}", {"kinds": kinds}, shown=False
        )


if __name__ == "__main__":
    main()
