"""A line over three numbers that are encoded as they are: distances and margins can be worked out by hand."""

from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.models import Decision, LinearModel


class Opaque(LinearModel):
    """The same line, of which nothing but predictions is to be had."""

    capabilities: ClassVar[frozenset[str]] = frozenset()


class Plane(NamedTuple):
    """A model, the same without a gradient, rows it could have learned from, and people it refuses."""

    predictor: Predictor
    opaque: Predictor
    rows: pd.DataFrame
    people: pd.DataFrame
    w: np.ndarray
    b: float

    def margin(self, x: np.ndarray) -> np.ndarray:
        """Log-odds of a yes."""
        return np.asarray(x, np.float64) @ self.w + self.b

    def forest(self) -> tuple[pd.DataFrame, np.ndarray, RandomForestClassifier]:
        """Rows, noisy labels, and a few trees that have learned them."""
        noise = np.random.default_rng(0).normal(size=len(self.rows))
        y = (self.margin(self.rows.to_numpy()) + noise > 0).astype(int)
        return self.rows, y, RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(self.rows, y)

    @staticmethod
    def points(plan) -> np.ndarray:
        """What a plan proposes, as an array."""
        return np.column_stack([plan.recourse.columns[name] for name in "abc"])


@pytest.fixture(scope="session")
def plane() -> Plane:
    w, b = np.array([2.0, -1.0, 0.5]), -0.2
    table = pd.DataFrame(np.random.default_rng(0).uniform(-2, 2, (60, 3)), columns=list("abc"))
    schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(-20, 20)) for name in "abc"])
    fitted, ones = Encoder.fit(schema, table), np.ones(3)
    encoder = Encoder(fitted.schema, "minmax", fitted.layout, ones, 0 * ones, ones, {})
    arrays = np.stack([0 * w, w]).astype(np.float32), np.array([0, b], np.float32)
    predictors = [
        Predictor(encoder, Decision(kind(*arrays), np.float32(0.5), 1), np.array([0, 1]))
        for kind in (LinearModel, Opaque)
    ]
    people = table[table.to_numpy() @ w + b < -0.2].reset_index(drop=True).head(6)
    return Plane(*predictors, table, people, w, b)
