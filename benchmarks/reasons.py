"""Reasons: how fast exact contributions of a tree ensemble are, and whether retrained models give the same ones.

    python -m benchmarks.reasons [--models 50] [--people 300] [--data german_credit,heloc,loanapp]

Speed: XGBoost, 150 trees of depth 5, on HELOC; 100 reference rows at the cut-off; contributions of 4,000 people,
the best of five runs, by the wall clock and by processor time (the two differ where the machine has other work).

Agreement: the same ensemble, and a logistic regression, fitted on the first 60 % of a dataset's rows; the first
refused people of the rest; the four main reasons of the model, and of each of `--models` trainings of it on
resampled rows with other seeds, each against people at its own cut-off. Of a person's reasons, the share that a
retrained model gives too, in the mean, with its interval over models; the same of the first reason; and the
share of all reasons given that at least four of five models give.
"""

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import holdtrue as ht
from benchmarks._common import record
from holdtrue.attribution import Players, Reasoner

TRAIN = 0.6


def xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=150, max_depth=5, learning_rate=0.1, n_jobs=1, random_state=0)


def fitted(kind: str, X: pd.DataFrame, y: np.ndarray) -> Any:
    """A pipeline from the columns to a decision."""
    texts = [c for c in X if X[c].dtype.kind not in "iufb"]
    numbers = [c for c in X if c not in texts]
    if kind == "xgboost":
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        front = make_column_transformer((codes, texts), ("passthrough", numbers))
        return make_pipeline(front, xgboost()).fit(X, y)
    levels = OneHotEncoder(handle_unknown="ignore")
    filled = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    front = make_column_transformer((levels, texts), (filled, numbers))
    return make_pipeline(front, LogisticRegression(max_iter=2000)).fit(X, y)


def speed() -> dict[str, Any]:
    bank = ht.datasets.load("heloc")
    X, y = pd.DataFrame(bank.X[bank.schema.names]), np.asarray(bank.y)
    model = fitted("xgboost", X, y)
    predictor = ht.wrap(model, bank.schema, X)
    people = X[:4000]
    reasoner = Reasoner(predictor, X, n_reference=100)
    players = Players(predictor.encoder.schema, predictor.encoder.layout)
    x = predictor.encoder.encode(predictor.encoder.schema.check(people))
    pair = reasoner._own.pair(1, 0)
    pair.share(x[:64])
    wall, used = [], []
    for _ in range(5):
        began, spent = time.perf_counter(), time.process_time()
        shares, _ = pair.share(x)
        wall.append(time.perf_counter() - began)
        used.append(time.process_time() - spent)
    gap = pair.reference.score - pair.score.margins(x)
    began = time.perf_counter()
    reasoner.of(people).columns()
    return {
        "people": len(people), "features": len(players.names), "reference rows": len(pair.reference),
        "leaves": len(reasoner._own.pair(1, 0).score.paths.n_on_path),  # type: ignore[attr-defined]
        "people per second": len(people) / min(wall),
        "people per second of two cores, by processor time": 2 * len(people) / min(used),
        "seconds, named and told": time.perf_counter() - began,
        "largest remainder of the gap": float(np.abs(-shares.sum(axis=1) - gap).max()),
    }  # fmt: skip


def agreement(data: str, kind: str, n_models: int, n_people: int) -> dict[str, Any]:
    bank = ht.datasets.load(data)
    X, y = pd.DataFrame(bank.X[bank.schema.names]), np.asarray(bank.y)
    n = int(TRAIN * len(X))
    known, rest = X.iloc[:n], X.iloc[n:]
    model = fitted(kind, known, y[:n])
    predictor = ht.wrap(model, bank.schema, known)
    refused = rest[np.asarray(model.predict(rest)) != predictor.favourable][:n_people]
    guides = ht.retrain(predictor, known, y[:n], n=n_models, vary="anew", random_state=1)
    why = Reasoner(predictor, known, guides=guides).of(refused)
    stands = [reason.stands for i in range(len(why)) for reason in why.of(i)]
    return {
        "people": len(why), "models": n_models, "agreement": why.agreement, "first": why.first_agreement,
        "stands": float(np.mean(stands)), "reasons": len(stands), "how": why.how,
        "largest remainder of the gap": float(np.abs(why.contributions.sum(axis=1) - why.gap).max()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=int, default=50)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--data", default="german_credit,heloc,loanapp")
    options = parser.parse_args()
    out: dict[str, Any] = {"speed": speed(), "agreement": {}}
    command = f"python -m benchmarks.reasons --models {options.models} --people {options.people}"
    command += f" --data {options.data}"
    for data in options.data.split(","):
        for kind in ("xgboost", "logistic regression"):
            row = out["agreement"][f"{data}, {kind}"] = agreement(data, kind, options.models, options.people)
            print(f"{data}, {kind}: {row}", flush=True)
            record("reasons", command, out, shown=False)  # an interruption loses one at most


if __name__ == "__main__":
    main()
