"""Recourse from a model alone and from a panel (the model and its guides): people per second, and what it costs.

    python -m benchmarks.panel [--people 100] [--guides 20] [--rounds 3]

Two models. XGBoost (150 trees of depth 5) on a table of loan applications whose columns are all numbers; and the
default network on German Credit. Each is asked alone and with guides, the same training on bootstraps, all of whom
must accept by a slack of 0.1 in logits; and, as a person is answered, by `Holding` with these guides and as many
judges. SparseSearch answers both, Wachter the network. Beside it: seconds to train guides of XGBoost on 30,000
rows of Adult, where that file is there.

Speed is from the table to the checked table, the best of some rounds after the first call. Processor time, of all
threads, says what it would be on cores that nobody else uses: two of them answer ``2000 / ms`` people a second.
`one` is the median of single people, `first` the first call of all, with its compilations (fewer where jax's
cache has them). `cost` is over those that the method found alone and with guides.
"""

import argparse
import dataclasses
import os
import time
from typing import Any

import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks._common import record
from holdtrue.batch import Predictor
from holdtrue.hold import with_guides
from holdtrue.retraining import AbstractRetrained

SLACK = 0.1
SINGLE = 10  # people asked one by one
ROWS = 30_000


@dataclasses.dataclass(frozen=True)
class Job:
    """A model alone and with its guides, training rows, and people it refuses."""

    model: Any
    alone: Predictor
    models: AbstractRetrained
    known: pd.DataFrame
    labels: np.ndarray
    people: pd.DataFrame


def as_numbers(data: str) -> tuple[pd.DataFrame, np.ndarray, ht.Schema]:
    """A table with numbers in place of levels and gaps, its labels, and a schema without limits."""
    bank = ht.datasets.load(data)
    X, y = pd.DataFrame(bank.X).copy(), np.asarray(bank.y)
    for name in X:
        X[name] = X[name] if X[name].dtype.kind in "iuf" else pd.factorize(X[name], sort=True)[0]
    X = X.fillna(X.median()).astype(float)
    kinds = {name: "integer" if np.all(X[name].to_numpy() % 1 == 0) else "numeric" for name in X}
    schema = ht.Schema([ht.Feature(name=str(name), kind=kind) for name, kind in kinds.items()])  # type: ignore[arg-type]
    return X, y, schema


def trees(n_people: int, n_guides: int) -> Job:
    """XGBoost on the loan applications."""
    X, y, schema = as_numbers("loanapp")
    model = XGBClassifier(n_estimators=150, max_depth=5, n_jobs=1, random_state=0).fit(X, y)
    predictor = ht.wrap(model, schema, X)
    models = ht.retrain(predictor, X, y, 2 * n_guides, vary="bootstrap")
    people = X[model.predict(X) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    return Job(predictor, predictor, models, X, y, people)


def network(n_people: int, n_guides: int) -> Job:
    """A network (`MLP`) on German Credit."""
    bank = ht.datasets.load("german_credit")
    X, y = pd.DataFrame(bank.X).iloc[:700], bank.y[:700]
    clf = ht.RecourseClassifier(schema=bank.schema, model=ht.MLP(), hold=None, random_state=0).fit(X, y)
    models = ht.retrain(clf, n=2 * n_guides, vary="bootstrap")
    predictor = clf.predictor_
    people = bank.X[clf.predict(bank.X) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    return Job(clf, predictor, models, X, np.asarray(y), people)


def training(n_guides: int) -> dict[str, float] | None:
    """Seconds to train guides of XGBoost on 30,000 rows, and to read them; None without the data set."""
    try:
        adult = ht.datasets.load("adult")
    except ht.errors.DataError:
        return None
    X, y = pd.DataFrame(adult.X).iloc[:ROWS].copy(), np.asarray(adult.y)[:ROWS]
    for name in X:
        X[name] = X[name] if X[name].dtype.kind in "biuf" else X[name].astype("category")
    model = XGBClassifier(n_estimators=150, max_depth=5, subsample=0.8, enable_categorical=True, random_state=0)
    predictor = ht.wrap(model.fit(X, y), adult.schema, X)
    began = time.perf_counter()
    models = ht.retrain(predictor, X, y, n_guides, vary="anew")
    trained = time.perf_counter()
    assert sum(part.n_members for part in models.members) == n_guides
    return {"trained, s": trained - began, "read, s": time.perf_counter() - trained}


def measure(method: Any, people: pd.DataFrame, rounds: int) -> tuple[dict[str, Any], Any]:
    """Speed of a fitted method, and its plan."""
    began = time.perf_counter()
    plan = method.recourse(people)
    first = time.perf_counter() - began
    seconds, processor, single = [], [], []
    for _ in range(rounds):
        began, busy = time.perf_counter(), time.process_time()
        plan = method.recourse(people)
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - busy)
    method.recourse(people.iloc[:1])
    for i in range(min(SINGLE, len(people))):
        began = time.perf_counter()
        method.recourse(people.iloc[i : i + 1])
        single.append(time.perf_counter() - began)
    return {
        "people per second": len(people) / min(seconds),
        "processor ms per person": 1000 * min(processor) / len(people),
        "one person, ms": 1000 * float(np.median(single)),
        "first call, s": first,
        "found": float(plan.found.mean()),
        "steps": float(np.mean(plan.n_steps)),
    }, plan


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--guides", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(
        f"{'':<34}{'people/s':>10}{'cpu ms':>9}{'one ms':>9}{'first s':>9}{'found':>8}{'cost':>9}{'steps':>8}",
        flush=True,
    )
    results: dict[str, Any] = {}
    load = os.getloadavg()[0]  # of others: above 0, people per second are fewer than they could be
    for name, make, methods in (
        ("XGBoost", trees, {"SparseSearch": ht.SparseSearch()}),
        ("network", network, {"SparseSearch": ht.SparseSearch(), "Wachter": ht.Wachter(random_state=0)}),
    ):
        job = make(options.people, options.guides)
        for kind, method in methods.items():
            method.fit(job.alone, job.known)
            alone, plan = measure(method, job.people, options.rounds)
            guides, judges = (job.models.take(np.arange(options.guides) * 2 + i) for i in (0, 1))
            panel = with_guides(job.alone, guides.members, SLACK)
            held, held_plan = measure(method.rebind(panel), job.people, options.rounds)
            whole = ht.Holding(base=method, random_state=0).fit(
                job.model, job.known, job.labels, guides=guides, judges=judges, level=ht.Level(0.95, SLACK)
            )
            told, told_plan = measure(whole, job.people, options.rounds)
            both = plan.found & held_plan.found
            rows = (("alone", alone, plan), ("with guides", held, held_plan), ("hold", told, told_plan))
            for title, row, of in rows:
                row["cost"] = float(of.cost[both].mean())
                results[f"{name}, {kind}, {title}"] = row
                show(f"{name}, {kind}, {title}", row)
    command = f"python -m benchmarks.panel --people {options.people} --guides {options.guides}"
    values: dict[str, Any] = {
        "people": options.people,
        "guides": options.guides,
        "load before": load,
        "jobs": results,
    }
    values["guides of 30,000 rows"] = training(options.guides)
    print(f"guides of 30,000 rows: {values['guides of 30,000 rows']}")
    record("panel", f"{command} --rounds {options.rounds}", values, shown=False)


def show(name: str, row: dict[str, Any]) -> None:
    """Print one line."""
    print(
        f"{name:<34}{row['people per second']:>10,.0f}{row['processor ms per person']:>9.1f}"
        f"{row['one person, ms']:>9.1f}{row['first call, s']:>9.1f}{row['found']:>8.2f}{row['cost']:>9.4f}"
        f"{row['steps']:>8.0f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
