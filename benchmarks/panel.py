"""Recourse from a model alone and from a panel (the model and its guides): people per second, and what it costs.

    python -m benchmarks.panel [--people 100] [--guides 20] [--rounds 3]

Two models. XGBoost (150 trees of depth 5) on a table of loan applications whose columns are all numbers; and the
default network on German Credit. Each is asked alone and with guides, the same training on bootstraps, all of whom
must accept by a slack of 0.1 in logits. SparseSearch answers both, Wachter the
network.

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

import jax.numpy as jnp
import numpy as np
import pandas as pd
from xgboost import XGBClassifier

import holdtrue as ht
from benchmarks._common import record
from holdtrue.batch import Predictor
from holdtrue.models import AbstractModel, PanelModel, TreesPanel

SLACK = 0.1
SINGLE = 10  # people asked one by one


@dataclasses.dataclass(frozen=True)
class Job:
    """A model alone and with its guides, training rows, and people it refuses."""

    alone: Predictor
    panel: Predictor
    known: pd.DataFrame
    people: pd.DataFrame


def trees(n_people: int, n_guides: int) -> Job:
    """XGBoost on the loan applications."""
    bank = ht.datasets.load("loanapp")
    X, y = pd.DataFrame(bank.X).copy(), np.asarray(bank.y)
    for name in X:
        X[name] = X[name] if X[name].dtype.kind in "iuf" else pd.factorize(X[name], sort=True)[0]
    X = X.fillna(X.median()).astype(float)
    kinds = {name: "integer" if np.all(X[name].to_numpy() % 1 == 0) else "numeric" for name in X}
    schema = ht.Schema([ht.Feature(name=str(name), kind=kind) for name, kind in kinds.items()])  # type: ignore[arg-type]
    model = XGBClassifier(n_estimators=150, max_depth=5, n_jobs=1, random_state=0).fit(X, y)
    predictor = ht.wrap(model, schema, X)
    (guides,) = ht.retrain(predictor, X, y, n_guides, vary="bootstrap").members
    panel = TreesPanel(predictor.decision.model, guides, jnp.asarray(SLACK), predictor.decision.favourable)  # type: ignore[arg-type]
    people = X[model.predict(X) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    return Job(predictor, with_model(predictor, panel), X, people)


def network(n_people: int, n_guides: int) -> Job:
    """The default network on German Credit."""
    bank = ht.datasets.load("german_credit")
    X, y = pd.DataFrame(bank.X).iloc[:700], bank.y[:700]
    clf = ht.RecourseClassifier(schema=bank.schema, random_state=0).fit(X, y)
    (guides,) = ht.retrain(clf, n=n_guides, vary="bootstrap").members
    predictor = clf.predictor_
    panel = PanelModel(predictor.decision.model, (guides,), jnp.asarray(SLACK), predictor.decision.favourable)
    people = bank.X[clf.predict(bank.X) != predictor.favourable].iloc[:n_people].reset_index(drop=True)
    return Job(predictor, with_model(predictor, panel), X, people)


def with_model(predictor: Predictor, model: AbstractModel) -> Predictor:
    """The same decision of another model."""
    return dataclasses.replace(predictor, decision=predictor.decision.of(model))


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
            held, held_plan = measure(method.rebind(job.panel), job.people, options.rounds)
            both = plan.found & held_plan.found
            for title, row, of in (("alone", alone, plan), ("with guides", held, held_plan)):
                row["cost"] = float(of.cost[both].mean())
                results[f"{name}, {kind}, {title}"] = row
                show(f"{name}, {kind}, {title}", row)
    command = f"python -m benchmarks.panel --people {options.people} --guides {options.guides}"
    values = {"people": options.people, "guides": options.guides, "load before": load, "jobs": results}
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
