"""The default classifier: how well it ranks people unseen, and what a retraining does to its recourse.

    python -m benchmarks.defaults [--tables german_credit,loanapp] [--splits 3] [--rows 15000]
    python -m benchmarks.defaults --holding [--kinds default,network] [--tables ...] [--splits 3]

Every table is split into 70% to learn from and 30% to judge by, several times; tables longer than `--rows` are
first cut to so many rows, drawn at random. Ours is ``RecourseClassifier(schema=...)`` with nothing else said
(without guides, which do not change the model); the others are scikit-learn's with their defaults, on the same
columns: boosting with categories of its own, logistic regression on one-hot columns and standardised numbers.
`behind` counts the splits on which the classifier itself said, from rows held out of its 70%, that one of the two
does better. The splits (seeds 50 and up) are none that anything was chosen by (0 to 2, 10 to 12, 40 to 42).

With `--holding` guides are trained, on 4,000 rows at most, and the first 60 refused people of the 30% are given
the cheapest recourse and recourse that holds. Twenty further retrainings, which neither guided nor judged, say who
is still accepted. `network` is what the default was before: ``PiecewiseMLP()`` with ``EarlyStopping()``. Seconds
are of the processor, compiling included where no earlier run has kept the programs.

Both go on where they were interrupted: what is in the result file is not measured again (`--again` does).
"""

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import holdtrue as ht
from benchmarks._common import RESULTS, record
from holdtrue._cache import use_cache

TABLES = "german_credit,loanapp,heloc,adult,give_me_some_credit,taiwan_credit"
FIRST_SEED = 50
HELD_TABLES = "loanapp,german_credit,heloc,adult"
HELD_ROWS = 5_700
"""Of which 70% are learned from."""
PEOPLE = 60
UNSEEN = 20
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "network": {"model": ht.PiecewiseMLP(), "regime": ht.EarlyStopping()},
}


def others(schema: ht.Schema, seed: int) -> dict[str, Any]:
    named = [feature.name for feature in schema if feature.has_levels]
    places = list(range(len(named)))
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    hot = OneHotEncoder(handle_unknown="ignore")
    boosting = HistGradientBoostingClassifier(random_state=seed, categorical_features=places or None)
    return {
        "boosting": make_pipeline(make_column_transformer((codes, named), remainder="passthrough"), boosting),
        "logistic": make_pipeline(
            make_column_transformer((hot, named), remainder=StandardScaler()), LogisticRegression(max_iter=1000)
        ),
    }


def complete(X: pd.DataFrame, schema: ht.Schema) -> pd.DataFrame:
    """Numbers without holes, for logistic regression."""
    numbers = [feature.name for feature in schema if not feature.has_levels]
    return X.fillna({name: X[name].median() for name in numbers})


def one_split(X: pd.DataFrame, y: np.ndarray, schema: ht.Schema, seed: int) -> dict[str, Any]:
    learn, judge, y_learn, y_judge = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    began = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ht.errors.QualityWarning)
        clf = ht.RecourseClassifier(schema=schema, hold=None, random_state=seed).fit(learn, y_learn)
    out: dict[str, Any] = {
        "seconds": time.process_time() - began,
        "epochs": int(clf.history_.n_epochs),
        "behind": any(issubclass(w.category, ht.errors.QualityWarning) for w in said),
    }
    top = clf.classes_[-1]
    out["ours"] = float(roc_auc_score(y_judge == top, clf.predict_proba(judge)[:, -1]))
    with threadpool_limits(1):
        for name, model in others(schema, seed).items():
            model.fit(complete(learn, schema) if name == "logistic" else learn, y_learn)
            asked = complete(judge, schema) if name == "logistic" else judge
            out[name] = float(roc_auc_score(y_judge == top, model.predict_proba(asked)[:, -1]))
    return out


def one_holding(X: pd.DataFrame, y: np.ndarray, data: ht.datasets.Dataset, kind: str, seed: int) -> dict[str, Any]:
    learn, judge, y_learn, y_judge = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    clf = ht.RecourseClassifier(schema=data.schema, favourable=data.favourable, random_state=seed, **KINDS[kind])
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ht.errors.QualityWarning)
        clf.fit(learn, y_learn)
    out: dict[str, Any] = {"fit": time.process_time() - began}
    top = clf.classes_[-1]
    out["auc"] = float(roc_auc_score(y_judge == top, clf.predict_proba(judge)[:, -1]))
    refused = judge[clf.predict(judge) != data.favourable][:PEOPLE]
    cheapest, held = clf.recourse(refused, hold=None), clf.recourse(refused)
    began = time.process_time()
    clf.recourse(refused)
    out["people_a_second"] = len(refused) / (time.process_time() - began)
    unseen = clf.retrain(UNSEEN, vary="anew", random_state=seed)
    for name, plan in (("cheapest", cheapest), ("held", held)):
        found = plan.found
        kept = unseen.accepts(plan.recourse.take(found), plan.target[found])
        out[name] = {
            "found": int(found.sum()),
            "accepted": float(kept.mean()),
            "median_cost": float(np.median(plan.cost[found])),
        }
    out |= {"people": len(refused), "hold": int(held.held.holds.sum()), "slack": float(clf.method_.level_.slack)}
    both = cheapest.found & held.found
    out["price"] = float(np.median(held.cost[both]) / np.median(cheapest.cost[both]))
    return out


def cut(data: ht.datasets.Dataset, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table's columns and labels, of so many rows at most."""
    X, y = data.X[list(data.schema.names)], np.asarray(data.y)
    if len(y) > rows:
        some = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X.iloc[some], y[some]
    return X, y


def kept(name: str) -> dict[str, Any]:
    """What an earlier run has measured."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def holding(tables: list[str], kinds: list[str], splits: int, again: bool) -> None:
    cells: dict[str, Any] = {} if again else kept("defaults-holding").get("cells", {})
    command = "python -m benchmarks.defaults --holding"
    for seed in range(FIRST_SEED, FIRST_SEED + splits):
        for name in tables:
            data = ht.datasets.load(name)
            for kind in kinds:
                key = f"{name}/{kind}/{seed}"
                if key not in cells:
                    cells[key] = one_holding(*cut(data, HELD_ROWS), data, kind, seed)
                    print(key, cells[key], flush=True)
                    record("defaults-holding", command, {"cells": cells}, shown=False)


def told_holding() -> str:
    """The committed cells as the second table of docs/reference/models.md."""
    cells = kept("defaults-holding")["cells"]
    lines = [
        "| table | model | splits | AUC | cheapest accepted by | cost | held accepted by | cost | hold | fit, s |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for pair in dict.fromkeys(key.rsplit("/", 1)[0] for key in cells):
        runs = [cell for key, cell in cells.items() if key.startswith(f"{pair}/")]

        def mean(*path: str, runs: list[dict[str, Any]] = runs) -> float:
            values = [run[path[0]] if len(path) == 1 else run[path[0]][path[1]] for run in runs]
            return float(np.mean(values))

        name, kind = pair.split("/")
        asked = [f"{mean(way, 'accepted'):.0%} | {mean(way, 'median_cost'):.2f}" for way in ("cheapest", "held")]
        hold = f"{sum(run['hold'] for run in runs)} of {sum(run['people'] for run in runs)}"
        figures = f"{mean('auc'):.3f} | {' | '.join(asked)} | {hold} | {mean('fit'):.0f}"
        lines.append(f"| `{name}` | {kind} | {len(runs)} | {figures} |")
    return "\n".join(lines)


def told() -> str:
    """The committed result as the table of docs/reference/models.md."""
    result = kept("defaults")
    lines = [
        "| table | rows | default | boosting | logistic regression | says it is behind |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in result["tables"].items():
        aucs = " | ".join(f"{row[key]:.3f}" for key in ("ours", "boosting", "logistic"))
        lines.append(f"| `{name}` | {row['rows']:,} | {aucs} | {row['behind']} of {result['splits']} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--table", action="store_true", help="print the committed result as a table")
    parser.add_argument("--holding", action="store_true", help="measure what retrainings do to recourse")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--again", action="store_true", help="measure also what was measured before")
    args = parser.parse_args()
    if args.table:
        print(told_holding() if args.holding else told())
        return
    use_cache()
    tables = (args.tables or (HELD_TABLES if args.holding else TABLES)).split(",")
    if args.holding:
        holding(tables, args.kinds.split(","), args.splits, args.again)
        return
    before = {} if args.again else kept("defaults")
    found: dict[str, Any] = before.get("tables", {}) if before.get("first_seed") == FIRST_SEED else {}
    command = f"python -m benchmarks.defaults --splits {args.splits} --rows {args.rows}"
    for name in tables:
        if name in found:
            continue
        data = ht.datasets.load(name)
        X, y = cut(data, args.rows)
        runs = [one_split(X, y, data.schema, FIRST_SEED + i) for i in range(args.splits)]
        row = {key: float(np.mean([run[key] for run in runs])) for key in ("ours", "boosting", "logistic")}
        row |= {key: float(np.median([run[key] for run in runs])) for key in ("seconds", "epochs")}
        row["behind"] = sum(run["behind"] for run in runs)
        row["within"] = bool(row["ours"] >= row["boosting"] - 0.01)
        found[name] = {"rows": len(y), "features": len(data.schema), **row}
        print(name, found[name], flush=True)
        record(
            "defaults", command, {"splits": args.splits, "first_seed": FIRST_SEED, "tables": found}, shown=False
        )


if __name__ == "__main__":
    main()
