"""What no adapter reads, or reads wrongly, is asked as a black box, and the note says why."""

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

import holdtrue as ht
from holdtrue.errors import MissingDependencyError
from holdtrue.models import BlackBoxModel, LinearModel
from holdtrue.models.adapters import from_torch

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"a": RNG.normal(size=200), "b": RNG.normal(size=200), "town": RNG.choice(["x", "y", "z"], 200)}
)
Y = (TABLE["a"] + TABLE["b"] + (TABLE["town"] == "x") > 0).astype(int).to_numpy()
NUMBERS = TABLE[["a", "b"]]


def note(model: Any, table: pd.DataFrame, schema: ht.Schema | None = None) -> str:
    predictor = ht.wrap(model, schema, table, favourable="(last)")
    assert isinstance(predictor.decision.model, BlackBoxModel)
    assert predictor.foreign is not None
    return predictor.foreign.note


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (PCA(2), "PCA"),
        (FunctionTransformer(np.tanh), "FunctionTransformer"),
        (MinMaxScaler(clip=True), "clips"),
    ],
)
def test_steps_that_are_not_known(step: Any, named: str) -> None:
    model = make_pipeline(step, LogisticRegression()).fit(NUMBERS, Y)
    assert named in note(model, NUMBERS)


def test_models_that_are_not_known() -> None:
    model = KNeighborsClassifier().fit(NUMBERS, Y)
    assert "KNeighborsClassifier" in note(model, NUMBERS)


def test_a_level_that_the_model_would_refuse() -> None:
    front = make_column_transformer((OneHotEncoder(), ["town"]), remainder="passthrough")
    model = make_pipeline(front, LogisticRegression()).fit(TABLE, Y)
    inferred = ht.Schema.infer(TABLE)
    levels = ht.Feature(name="town", kind="categorical", levels=("x", "y", "z", "elsewhere"))
    schema = ht.Schema([levels if f.name == "town" else f for f in inferred])
    assert "'elsewhere'" in note(model, TABLE, schema)


class Doubting(LogisticRegression):
    """Says otherwise than its weights do."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return 0.9 * super().predict_proba(X) + 0.05


Doubting.__module__ = "sklearn.linear_model"
Doubting.__name__ = "LogisticRegression"


def test_an_adapter_that_is_wrong_is_not_used() -> None:
    model = Doubting().fit(NUMBERS, Y)
    assert "differ by 0.0" in note(model, NUMBERS)


def test_thresholds_are_holdtrue_s_own_business() -> None:
    model = FixedThresholdClassifier(LogisticRegression(), threshold=0.8).fit(NUMBERS, Y)
    predictor = ht.wrap(model, None, NUMBERS, threshold=0.8)
    assert isinstance(predictor.decision.model, LinearModel)
    assert float(predictor.decision.threshold) == pytest.approx(0.8)


def test_selected_columns_and_weights() -> None:
    front = make_column_transformer((StandardScaler(), ["b"]), ("drop", ["town"]), ("passthrough", ["a"]))
    model = make_pipeline(front, LogisticRegression()).fit(TABLE, Y)
    found = ht.wrap(model, None, TABLE).decision.model
    assert isinstance(found, LinearModel)
    town = np.asarray(found.weight)[:, 2:]
    assert (town == 0).all()


def test_the_model_itself_is_asked_in_the_end() -> None:
    model = LogisticRegression().fit(NUMBERS, Y)
    predictor = ht.wrap(model, None, NUMBERS, favourable="(last)")
    assert predictor.foreign is not None
    assert predictor.foreign.estimator is model
    assert predictor.foreign.note == "Read as LinearModel."


def test_torch_is_asked_for_only_when_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"holdtrue\[torch\]"):
        from_torch(object())


def test_xgboost_answers_an_array_as_it_answers_a_dataframe() -> None:
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=300), "b": rng.integers(0, 5, 300), "c": rng.random(300) < 0.5,
            "d": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300)),
            "e": rng.integers(2**30, 2**40, 300),
        }
    )  # fmt: skip
    y = (X["a"] + X["b"] > 2).astype(int)
    model = xgboost.XGBClassifier(n_estimators=10, n_jobs=1).fit(X, y)
    features = [
        ht.Feature(name="a", kind="numeric"),
        ht.Feature(name="b", kind="integer"),
        ht.Feature(name="c", kind="binary"),
        ht.Feature(name="d", kind="numeric", missing="median"),
        ht.Feature(name="e", kind="integer"),
    ]
    predictor = ht.wrap(model, ht.Schema(features), X)
    foreign = predictor.foreign
    table = predictor.encoder.schema.check(X)
    assert isinstance(foreign.frame(table), np.ndarray)
    np.testing.assert_array_equal(
        np.exp(foreign.log_proba(table)).round(12), model.predict_proba(X).astype(float).round(12)
    )
    assert foreign.reads_as(foreign)
    assert not foreign.reads_as(ht.wrap(model, ht.Schema(features), X.astype(float)).foreign)


def test_a_black_box_that_is_asked_by_two_threads_at_once(monkeypatch):
    """While one waits for its answer, another fills what is remembered, so that it begins anew."""
    monkeypatch.setattr("holdtrue.models.adapters._black_box.REMEMBERED", 3)
    X = pd.DataFrame({"a": np.linspace(0.0, 1.0, 8)})
    meanwhile: list[np.ndarray] = []

    class Asked:
        classes_ = np.array([0, 1])

        def predict_proba(self, rows):
            if meanwhile:
                box._ask(meanwhile.pop())
            a = np.asarray(rows, float)[:, 0]
            return np.column_stack([1 - a, a])

    box = ht.wrap(Asked(), ht.Schema([ht.Feature(name="a", kind="numeric")]), X).foreign
    x = box.encoder.encode(box.encoder.schema.check(X)).astype(np.float32)
    box._ask(x[:2])
    meanwhile.append(x[4:8])
    found = np.exp(box._ask(x[1:3]))[:, 1]
    np.testing.assert_allclose(found, X["a"][1:3], atol=1e-6)
