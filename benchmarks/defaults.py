"""The default classifier beside histogram boosting and logistic regression: how well each ranks people unseen.

    python -m benchmarks.defaults [--tables german_credit,loanapp] [--splits 3] [--rows 15000]

Every table is split into 70% to learn from and 30% to judge by, several times; tables longer than `--rows` are
first cut to so many rows, drawn at random. Ours is ``RecourseClassifier(schema=...)`` with nothing else said
(without guides, which do not change the model); the others are scikit-learn's with their defaults, on the same
columns: boosting with categories of its own, logistic regression on one-hot columns and standardised numbers.
`behind` counts the splits on which the classifier itself said, from rows held out of its 70%, that one of the two
does better. The splits (seeds 20 and up) are none that anything was chosen by (0 to 2, 10 to 12).
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
FIRST_SEED = 20


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
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ht.errors.QualityWarning)
        clf = ht.RecourseClassifier(schema=schema, hold=None, random_state=seed).fit(learn, y_learn)
    out: dict[str, Any] = {
        "seconds": time.perf_counter() - began,
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


def told() -> str:
    """The committed result as the table of docs/reference/models.md."""
    result = json.loads((RESULTS / "defaults.json").read_text(encoding="utf-8"))
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
    parser.add_argument("--tables", default=TABLES)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=15_000)
    parser.add_argument("--table", action="store_true", help="print the committed result as a table")
    args = parser.parse_args()
    if args.table:
        print(told())
        return
    use_cache()
    found: dict[str, Any] = {}
    for name in args.tables.split(","):
        data = ht.datasets.load(name)
        X, y = data.X[list(data.schema.names)], np.asarray(data.y)
        if len(y) > args.rows:
            some = np.random.default_rng(0).permutation(len(y))[: args.rows]
            X, y = X.iloc[some], y[some]
        runs = [one_split(X, y, data.schema, FIRST_SEED + i) for i in range(args.splits)]
        row = {key: float(np.mean([run[key] for run in runs])) for key in ("ours", "boosting", "logistic")}
        row |= {key: float(np.median([run[key] for run in runs])) for key in ("seconds", "epochs")}
        row["behind"] = sum(run["behind"] for run in runs)
        row["within"] = bool(row["ours"] >= row["boosting"] - 0.01)
        found[name] = {"rows": len(y), "features": len(data.schema), **row}
        print(name, found[name], flush=True)
    command = f"python -m benchmarks.defaults --splits {args.splits} --rows {args.rows} --tables {args.tables}"
    record("defaults", command, {"splits": args.splits, "tables": found}, shown=False)


if __name__ == "__main__":
    main()
