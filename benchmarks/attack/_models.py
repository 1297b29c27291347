"""Models of a world: of the package's own, somebody else's that are read, and ones that only answer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import holdtrue as ht
from benchmarks.attack._worlds import World

KINDS = ("linear", "network", "trees", "logistic", "black box", "linear", *("network", "linear") * 3)
"""Kinds of model, in the order in which the worlds of a mould have them: most are of the package's own,
whose searches are compiled once for all of them."""


class Foreign(ClassifierMixin, BaseEstimator):
    """A model that reads the columns itself: levels by their place in a list of its own, missing values as -1."""

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Foreign":
        """Learn."""
        self.levels_ = {n: sorted({str(v) for v in X[n].dropna()}) for n in X if X[n].dtype == object}
        self.classes_, self.feature_names_in_ = np.unique(y), np.array(X.columns)
        self.model_ = self.inner.fit(self._numbers(X), y)
        return self

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        columns = []
        for name in X:
            values = X[name]
            if name in self.levels_:
                known = {level: float(i) for i, level in enumerate(self.levels_[name])}
                values = pd.Series([np.nan if v is None or v != v else known.get(str(v), -2.0) for v in values])
            columns.append(values.astype(float).fillna(-1.0).to_numpy())
        return np.stack(columns, axis=1)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Chances of the classes."""
        return self.model_.predict_proba(self._numbers(X))

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        """The likelier class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@dataclass(frozen=True)
class Model:
    """A model of a world, and the labels that it learned from."""

    kind: str
    model: Any
    labels: np.ndarray

    @property
    def own(self) -> bool:
        """Whether it is one of the package's."""
        return self.kind in ("linear", "network", "trained", "generator")


def model(place: World, kind: str) -> Model:
    """A model of a kind that refuses about two in three; one that only answers where a kind cannot take gaps."""
    own = place.linear()
    decided = own.decide(place.table)
    labels = decided if len(np.unique(decided)) == 2 else np.arange(len(decided)) % 2
    if kind == "linear":
        return Model(kind, own, labels)
    if kind in ("network", "trained", "generator"):
        return Model(kind, _classifier(place, kind, labels), labels)
    trees = [
        RandomForestClassifier(15, max_depth=6, random_state=0),
        GradientBoostingClassifier(n_estimators=15, random_state=0),
    ][place.rng.integers(2)]
    if kind == "black box" or place.table.isna().any().any():
        inner = LogisticRegression(max_iter=200) if place.rng.random() < 0.3 else trees
        return Model("black box", Foreign(inner).fit(place.table, labels), labels)
    words = make_column_selector(dtype_include=object)
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), words), remainder="passthrough")
    last = trees if kind == "trees" else LogisticRegression(max_iter=200)
    return Model(kind, make_pipeline(columns, last).fit(place.table, labels), labels)


def _classifier(place: World, kind: str, labels: np.ndarray) -> ht.RecourseClassifier:
    if kind == "generator":
        regime, shape = ht.CounterNetTraining(n_epochs=20, min_updates=0), None
    else:
        regime = ht.StandardTraining(n_epochs=20, class_weight="balanced")
        shape = ht.MLP(widths=(8,)) if kind == "network" else ht.Linear()
    made = ht.RecourseClassifier(
        schema=place.schema, model=shape, regime=regime, hold=None, n_guides=10, random_state=0
    )
    return made.fit(place.table, labels)
