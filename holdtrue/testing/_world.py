"""A small world with every kind of feature and limit, on which the checks run."""

import functools
from typing import Any

import numpy as np
import pandas as pd

from holdtrue.batch import Predictor
from holdtrue.classifier import RecourseClassifier, wrap
from holdtrue.models import MLP, AbstractArchitecture, CounterNet, Linear
from holdtrue.schema import LAST, Feature, Implication, LinearConstraint, Schema, TableLike, as_table
from holdtrue.training import AbstractRegime, CounterNetTraining, StandardTraining

SCHEMA = Schema(
    [
        Feature(name="income", kind="numeric", bounds=(0, 100), step=0.5, direction="increase", unit="k"),
        Feature(name="debt", kind="numeric", bounds=(0, 60)),
        Feature(name="age", kind="integer", bounds=(18, 90), direction="fixed"),
        Feature(name="accounts", kind="integer", bounds=(0, 9), direction="decrease"),
        Feature(name="sex", kind="binary", levels=("f", "m"), direction="fixed"),
        Feature(name="insured", kind="binary", levels=("no", "yes")),
        Feature(name="education", kind="ordinal", levels=("none", "school", "degree"), direction="increase"),
        Feature(
            name="status",
            kind="categorical",
            levels=("single", "married", "divorced"),
            transitions={"married": ("divorced",), "divorced": ("married",)},
        ),
        Feature(name="housing", kind="categorical", levels=("rent", "own", "family")),
        Feature(name="job", kind="categorical", levels=("none", "part", "full"), missing="level"),
        Feature(name="tenure", kind="numeric", bounds=(0, 20), direction="increase", missing="median"),
    ],
    [
        LinearConstraint(coefficients={"debt": 1.0, "income": -1.0}, bound=0.0, name="debt at most income"),
        LinearConstraint(coefficients={"income": 1.0}, bound=30.0, on="change", name="raise of at most 30"),
        LinearConstraint(coefficients={"accounts": 1.0, "housing=own": 2.0}, bound=9.0, name="accounts of owners"),
    ],
    [
        Implication(when={"job": ["full"]}, then={"insured": ["yes"]}, name="full jobs insure"),
        Implication(was={"education": ["degree"]}, then={"housing": ["rent", "own"]}, name="graduates move out"),
    ],
)

PLAIN = Schema(list(SCHEMA))
"""The same features without limits across them."""

FEW = Schema([SCHEMA[name] for name in ("income", "accounts", "housing")])
"""Three of them, a kind each of what a search moves; its program is compiled in half the time."""


@functools.cache
def people(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """People who keep every limit of `SCHEMA`, and whether they were accepted."""
    rng = np.random.default_rng(seed)
    income = np.round(rng.gamma(4, 8, n).clip(1, 95) * 2) / 2
    debt = income * rng.beta(1.2, 2.5, n)
    job = rng.choice(np.array(["none", "part", "full", None], object), n, p=[0.25, 0.3, 0.4, 0.05])
    education = rng.choice(["none", "school", "degree"], n, p=[0.2, 0.5, 0.3])
    housing = rng.choice(["rent", "own", "family"], n, p=[0.4, 0.4, 0.2])
    table = pd.DataFrame(
        {
            "income": income,
            "debt": debt,
            "age": rng.integers(18, 80, n),
            "accounts": rng.integers(0, 8, n),
            "sex": rng.choice(["f", "m"], n),
            "insured": np.where(job == "full", "yes", rng.choice(["no", "yes"], n)),
            "education": education,
            "status": rng.choice(["single", "married", "divorced"], n),
            "housing": np.where((education == "degree") & (housing == "family"), "rent", housing),
            "job": job,
            "tenure": np.where(rng.random(n) < 0.1, np.nan, rng.uniform(0, 20, n)),
        }
    )
    score = (
        0.08 * income
        - 0.12 * debt
        - 0.3 * table["accounts"]
        + 1.5 * (job == "full")
        + 0.8 * (education == "degree")
        + 0.7 * (table["housing"] == "own")
        + 0.05 * table["tenure"].fillna(10)
    )
    y = (score + rng.logistic(0, 0.5, n) > np.quantile(score, 0.5)).astype(int)
    return table, y


@functools.cache
def classifier(
    kind: str = "mlp", threshold: float = 0.5, n_classes: int = 2, limits: bool = True, few: bool = False
) -> RecourseClassifier:
    """A fitted classifier on `people`.

    Limits across features make every search more than twice as long to compile; without `limits` there are none.
    With `few` features, as with three classes, it takes half of that again.
    """
    table, y = people()
    if n_classes == 3:
        y = y + (table["income"].to_numpy() > table["income"].quantile(0.75)) * y
    if kind == "generator":
        if threshold != 0.5:
            return classifier(kind, n_classes=n_classes, limits=limits).at_threshold(threshold)
        model: AbstractArchitecture = CounterNet(encoder=(16, 8), predictor=(8,), generator=(32,), dropout=0.0)
        regime: AbstractRegime = CounterNetTraining(n_epochs=80, batch_size=128, step_size=0.01, min_updates=0)
    else:
        model = Linear() if kind == "linear" else MLP(widths=(16, 8))
        regime = StandardTraining(n_epochs=60, step_size=0.01)
    schema = FEW if few or n_classes == 3 else SCHEMA if limits else PLAIN
    clf = RecourseClassifier(
        schema=schema, model=model, regime=regime, threshold=threshold, favourable=LAST, random_state=0
    )
    return clf.fit(table, y)


@functools.cache
def black_box(limits: bool = True) -> Predictor:
    """A foreign classifier that offers nothing but `predict_proba`; without limits, of few features."""
    clf = classifier("linear", few=not limits)
    return wrap(_Foreign(clf), clf.predictor_.encoder.schema, people()[0])


class _Foreign:
    def __init__(self, clf: RecourseClassifier) -> None:
        self.clf = clf
        self.classes_ = clf.classes_
        self.feature_names_in_ = np.asarray(clf.predictor_.encoder.schema.names, object)

    def predict_proba(self, X: TableLike) -> np.ndarray:
        # In numpy: a callback inside a compiled search must not call jax again.
        model: Any = self.clf.predictor_.decision.model
        x = self.clf.predictor_.encoder.encode(X)
        logits = x @ np.asarray(model.weight, np.float64).T + np.asarray(model.bias, np.float64)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def refused(predictor: Predictor, n: int) -> pd.DataFrame:
    """The first `n` people a classifier refuses."""
    table, _ = people()
    decided = predictor.decide(as_table(table))
    return table.loc[decided != predictor.decision.favourable].head(n).reset_index(drop=True)
