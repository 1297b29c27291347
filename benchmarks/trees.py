"""Recourse from tree ensembles: SparseSearch on their thresholds beside growing spheres, by rows asked.

    python -m benchmarks.trees [--people 100] [--data german_credit,heloc]

Three ensembles (a random forest of 50 trees, XGBoost, LightGBM) are fitted on the first 60 % of a dataset's rows;
the first refused people of the rest are answered by both methods. Costs are in units scaled to [0, 1]; a changed
category counts 2 in l1. Each method minimises both norms in turn, since growing spheres' own is l2.

Rows: what a search costs in rows asked of the model. Growing spheres hands over `n_candidates` a shell; the rows
of its second phase (one per feature and round) are not counted, which favours it. SparseSearch asks about one
row a step, and looks at all leaves once: a look counts as the rows that visit as many nodes, though it is one
vectorised call. Rows really handed over are `calls`; people whom no dive helps have up to 128 more, the training
rows they start from.

The yardstick: valid wherever growing spheres is, cheaper, and with a tenth of the rows.
"""

import argparse
import importlib
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import holdtrue as ht
from benchmarks._common import record
from holdtrue.batch import Predictor
from holdtrue.metrics import costs

TRAIN = 0.6
NORMS = ("l1", "l2")
FORESTS = ("random forest", "xgboost", "lightgbm")


def forest(kind: str) -> Any:
    """An unfitted ensemble with its library's defaults."""
    if kind == "xgboost":
        return importlib.import_module("xgboost").XGBClassifier(n_jobs=1, random_state=0)
    if kind == "lightgbm":
        return importlib.import_module("lightgbm").LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
    return RandomForestClassifier(50, random_state=0)


def job(data: str, kind: str, n_people: int) -> tuple[Predictor, pd.DataFrame, pd.DataFrame]:
    """The ensemble behind holdtrue's interface, its training rows, and people it refuses."""
    bank = ht.datasets.load(data)
    assert bank.schema is not None
    X, y = pd.DataFrame(bank.X[bank.schema.names]), np.asarray(bank.y)
    n = int(TRAIN * len(X))
    texts = [c for c in X if X[c].dtype.kind not in "iufb"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    front = make_column_transformer((codes, texts), remainder="passthrough").set_output(transform="pandas")
    known, rest = X.iloc[:n], X.iloc[n:]
    model = make_pipeline(front, forest(kind)).fit(known, y[:n])
    predictor = ht.wrap(model, bank.schema, known)
    refused = np.flatnonzero(np.asarray(model.predict(rest)) != predictor.favourable)[:n_people]
    return predictor, known, rest.iloc[refused].reset_index(drop=True)


def answers(method: Any, predictor: Any, known: pd.DataFrame, people: pd.DataFrame) -> dict[str, np.ndarray]:
    """Per person: found, valid, costs, and rows asked of the model."""
    method.fit(predictor, known)
    plan = method.recourse(people)
    encoder = predictor.encoder
    cost = costs(encoder, encoder.encode(plan.factual), encoder.encode(plan.recourse))
    steps = np.asarray(plan.n_steps)
    # A box looked at counts as a row asked; where candidates are drawn, each of them is one.
    rows = steps if isinstance(method, ht.SparseSearch) else steps * method.solver().n_asked
    return {"found": plan.found, "valid": plan.valid & plan.found, "rows": rows, "calls": rows, **cost}


def compare(predictor: Any, known: pd.DataFrame, people: pd.DataFrame, norm: Any) -> dict[str, Any]:
    """Both methods on the same people, and by how much one beats the other."""
    ours = answers(ht.SparseSearch(norm=norm), predictor, known, people)
    theirs = answers(ht.GrowingSpheres(norm=norm, random_state=0), predictor, known, people)
    both = ours["valid"] & theirs["valid"]
    out: dict[str, Any] = {"people": len(people)}
    for name, had in (("sparse_search", ours), ("growing_spheres", theirs)):
        out[name] = {
            "found": float(had["found"].mean()),
            "valid": float(had["valid"].mean()),
            **{k: float(had[k][both].mean()) for k in ("l1", "l2", "l0")},
            "calls, mean": float(had["calls"].mean()),
            "rows asked, mean": float(had["rows"].mean()),
            "rows asked, median": float(np.median(had["rows"])),
            "rows asked, most": float(had["rows"].max()),
        }
    out["missed where growing spheres is valid"] = int((theirs["valid"] & ~ours["valid"]).sum())
    out["dearer than growing spheres"] = int((ours[norm] > theirs[norm] + 1e-5)[both].sum())
    out["calls, ratio of means"] = float(ours["calls"].mean() / theirs["calls"].mean())
    out["rows, ratio of means"] = float(ours["rows"].mean() / theirs["rows"].mean())
    out["people above a tenth of the rows"] = int((ours["rows"] > theirs["rows"] / 10).sum())
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=100)
    parser.add_argument("--data", default="german_credit,heloc")
    options = parser.parse_args()
    print(
        f"{'':<34}{'':<17}{'valid':>7}{'l1':>8}{'l2':>8}{'l0':>6}{'rows':>9}{'most':>9}"
        f"{'missed':>8}{'dearer':>8}{'ratio':>8}{'calls':>8}"
    )
    results: dict[str, Any] = {}
    for data in options.data.split(","):
        for kind in FORESTS:
            setting = job(data, kind, options.people)
            for norm in NORMS:
                name = f"{data}, {kind}, {norm}"
                results[name] = row = compare(*setting, norm)
                show(name, row)
    command = f"python -m benchmarks.trees --people {options.people} --data {options.data}"
    record("trees", command, {"jobs": results}, shown=False)


def show(name: str, row: dict[str, Any]) -> None:
    """Print both methods' lines."""
    for method in ("sparse_search", "growing_spheres"):
        had = row[method]
        line = f"{name:<34}{method:<17}{had['valid']:>7.2f}{had['l1']:>8.3f}{had['l2']:>8.3f}{had['l0']:>6.2f}"
        line += f"{had['rows asked, mean']:>9,.0f}{had['rows asked, most']:>9,.0f}"
        if method == "sparse_search":
            line += f"{row['missed where growing spheres is valid']:>8}{row['dearer than growing spheres']:>8}"
            line += f"{row['rows, ratio of means']:>8.3f}{row['calls, ratio of means']:>8.4f}"
        print(line, flush=True)
        name = ""


if __name__ == "__main__":
    main()
