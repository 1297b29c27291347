"""Rows that an opaque model is asked about, and what is found: in the order of promise, and through the lists.

    python -m benchmarks.promise

Forests, boosted trees, networks and nearest neighbours are functions of a dataframe, nothing of them read, on two
thirds of a table; up to 60 refused people of the other third are answered by `SparseSearch`, and by the solver
that goes through the lists of values (which it is on holdtrue's own models). `rows` are the rows that the function
was asked about for one person, each distinct row counted once in a search; `ms` the processor's milliseconds for
one, the model's own among them; `cost` the mean cost of those whom both found. German Credit is needed
(`HOLDTRUE_DATA`).
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import holdtrue as ht
from benchmarks._common import record
from holdtrue.batch import solve, trimmed
from holdtrue.schema import as_table, normalise_restrictions
from holdtrue.search import is_found

TABLES = {"loanapp": 0.85, "german_credit": 0.7}
MODELS: dict[str, Callable[[], list[Any]]] = {
    "forest": lambda: [RandomForestClassifier(30, max_depth=8, random_state=0, n_jobs=1)],
    "boosting": lambda: [HistGradientBoostingClassifier(random_state=0, max_iter=50)],
    "network": lambda: [StandardScaler(), MLPClassifier((16,), random_state=0, tol=1e-2)],
    "neighbours": lambda: [StandardScaler(), KNeighborsClassifier(25)],
}
N_PEOPLE = 60


class Asked:
    """A model as a function, and how many rows it was asked about."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows = model, 0

    def __call__(self, X: pd.DataFrame) -> np.ndarray:
        self.rows += len(X)
        return self.model.predict_proba(X)


def measured(name: str, kind: str) -> dict[str, Any]:
    """Both searches, for one table and model."""
    table, threshold = ht.datasets.load(name), TABLES[name]
    y = np.asarray(table.y) == table.favourable
    X = table.X.fillna(table.X.median(numeric_only=True))
    order = np.random.default_rng(0).permutation(len(X))
    known, others = order[: 2 * len(X) // 3], order[2 * len(X) // 3 :]
    levels = [column for column in X if X[column].dtype.kind not in "if"]
    front = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), levels), remainder="passthrough"
    )
    model = make_pipeline(front, *MODELS[kind]()).fit(X.iloc[known], y[known])
    asked = Asked(model)
    predictor = ht.wrap(lambda rows: asked(rows), table.schema, X.iloc[known], threshold=threshold, favourable=1)
    people = X.iloc[others]
    people = people[model.predict_proba(people)[:, 1] < threshold].head(N_PEOPLE)
    search = ht.SparseSearch().fit(predictor, X.iloc[known])
    search.recourse(people.head(2))

    def spent(run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
        assert predictor.foreign is not None
        predictor.foreign._answers.clear()
        asked.rows, began = 0, time.process_time()
        out = run()
        ms = 1000 * (time.process_time() - began) / len(people)
        return out, {"rows": round(asked.rows / len(people)), "ms": round(ms, 1)}

    checked = as_table(people)
    target = np.full(len(people), predictor.decision.favourable)
    problems = search.problems(
        checked, target, normalise_restrictions(None, predictor.encoder.schema, len(people))
    )
    through = lambda: trimmed(search.trimmer(), problems, solve(search.solver(), problems))  # noqa: E731
    through()
    lists, of_lists = spent(through)
    plan, of_promise = spent(lambda: search.recourse(people))
    in_lists = is_found(lists.status)
    both = plan.found & in_lists
    ratio = plan.cost[both] / lists.cost[both]
    shares = {"dearer": float(np.mean(ratio > 1.01)), "cheaper": float(np.mean(ratio < 0.99))}
    return {
        "people": len(people),
        "lists": of_lists | {"found": int(in_lists.sum()), "cost": round(float(lists.cost[both].mean()), 4)},
        "promise": of_promise | {"found": int(plan.found.sum()), "cost": round(float(plan.cost[both].mean()), 4)},
        **{key: round(value, 3) for key, value in shares.items()},
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    cells = {f"{name}, {kind}": measured(name, kind) for name in TABLES for kind in MODELS}
    record("promise", "python -m benchmarks.promise", {"cells": cells})


if __name__ == "__main__":
    main()
