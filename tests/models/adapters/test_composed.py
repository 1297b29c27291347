"""Classifiers made of classifiers are read, and say what scikit-learn says."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.svm import LinearSVC

import holdtrue as ht
from holdtrue.models.adapters import BlackBoxModel, ComposedModel, TreesModel
from holdtrue.schema import as_table
from holdtrue.testing._world import SCHEMA, people

from .conftest import CATEGORIES, labels, mixed, ours

DATA = Path(os.environ.get("HOLDTRUE_DATA", Path(__file__).parents[4] / "shared" / "data"))


def forest(seed: int = 0) -> Any:
    return RandomForestClassifier(8, max_depth=6, random_state=seed)


def boosted() -> Any:
    return HistGradientBoostingClassifier(max_iter=12, random_state=0)


def xgboost() -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, max_depth=4, n_jobs=1)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def svc() -> Any:
    return make_pipeline(StandardScaler(), LinearSVC(random_state=0))


Make = Callable[[], Any]
COMPOSED: dict[str, tuple[Make, type]] = {
    "soft": (lambda: VotingClassifier([("f", forest()), ("x", xgboost())], voting="soft"), ComposedModel),
    "weighted": (
        lambda: VotingClassifier([("f", forest()), ("l", logistic())], voting="soft", weights=[1, 3]),
        ComposedModel,
    ),
    "hard": (
        lambda: VotingClassifier([("f", forest()), ("e", ExtraTreesClassifier(8, max_depth=5, random_state=1)),
                                  ("x", xgboost())]),
        ComposedModel,
    ),
    "one vote": (lambda: VotingClassifier([("x", xgboost())], voting="soft"), TreesModel),
    "sigmoid": (lambda: CalibratedClassifierCV(forest(), cv=3), ComposedModel),
    "isotonic": (lambda: CalibratedClassifierCV(xgboost(), cv=3, method="isotonic"), ComposedModel),
    "sigmoid of log-odds": (lambda: CalibratedClassifierCV(boosted(), cv=2), ComposedModel),
    "support vectors": (lambda: CalibratedClassifierCV(svc(), cv=3), ComposedModel),
    "stack": (lambda: StackingClassifier([("f", forest()), ("x", xgboost())], cv=3), ComposedModel),
    "stack of scores": (
        lambda: StackingClassifier([("f", forest()), ("s", svc()), ("h", boosted())], cv=2), ComposedModel,
    ),
    "stack under a network": (
        lambda: StackingClassifier([("f", forest()), ("l", logistic())], cv=2, final_estimator=make_pipeline(
            StandardScaler(), MLPClassifier((4,), random_state=0, tol=1e-2))), ComposedModel,
    ),
    "stack of votes": (
        lambda: StackingClassifier([("v", VotingClassifier([("f", forest()), ("g", forest(1))], voting="soft")),
                                    ("c", CalibratedClassifierCV(forest(), cv=2))], cv=2), ComposedModel,
    ),
}  # fmt: skip


def check(model: Any, kind: type | None, schema: ht.Schema, X: pd.DataFrame, tol: float = 2e-6) -> Any:
    predictor = ht.wrap(model, schema, X, favourable="(last)")
    assert predictor.foreign is not None
    assert not isinstance(predictor.decision.model, BlackBoxModel), predictor.foreign.note
    if kind is not None:
        assert isinstance(predictor.decision.model, kind), predictor.foreign.note
    for rows in (X, mixed(X, 300, seed=3)):
        if hasattr(model, "predict_proba"):
            np.testing.assert_allclose(ours(predictor, rows), model.predict_proba(rows), atol=tol)
        assert (predictor.classes[predictor.decide(as_table(rows))] == model.predict(rows)).all()
    return predictor


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name: str) -> None:
    bank = ht.datasets.load("loanapp")
    make, kind = COMPOSED[name]
    check(make().fit(bank.X, bank.y), kind, bank.schema, bank.X)


@pytest.mark.parametrize("name", ["german_credit", "heloc"])
@pytest.mark.parametrize("kind", ["soft", "isotonic", "stack"])
def test_real_data(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not DATA.is_dir():
        pytest.skip("needs the data files in ../shared/data beside the repository")
    monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    bank = ht.datasets.load(name)
    X, y = bank.X[bank.schema.names].head(3000), np.asarray(bank.y)[:3000]
    texts = [c for c in X if X[c].dtype.kind not in "iufb"]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    front = make_column_transformer((codes, texts), remainder="passthrough").set_output(transform="pandas")
    make, expected = COMPOSED[kind]
    model = make_pipeline(front, make()) if texts else make()
    # Between two steps of an isotonic regression that lie close, float32's error grows with the slope.
    check(model.fit(X[::2], y[::2]), expected, bank.schema, X, tol=2e-5 if kind == "isotonic" else 2e-6)


def test_three_classes() -> None:
    table, _ = people()
    front = make_column_transformer((OrdinalEncoder(), CATEGORIES), remainder="passthrough")
    for last in (
        VotingClassifier([("f", forest()), ("g", forest(1))], voting="soft"),
        CalibratedClassifierCV(forest(), cv=2),
        StackingClassifier([("f", forest()), ("x", xgboost())], cv=2),
    ):
        check(make_pipeline(front, last).fit(table, labels(3)), ComposedModel, SCHEMA, table)


def test_recourse_on_a_stack_is_accepted_by_it() -> None:
    bank = ht.datasets.load("loanapp")
    model = COMPOSED["stack"][0]().fit(bank.X, bank.y)
    refused = bank.X[model.predict(bank.X) == 0].head(12)
    plan = ht.recourse(model, refused, bank.schema, reference=bank.X)
    assert plan.found.all()
    assert (model.predict(plan.to_frame()[bank.schema.names]) == 1).all()


# ---- thresholds, frozen estimators -------------------------------------------------------------------


def test_a_threshold_of_the_model_s_own() -> None:
    bank = ht.datasets.load("loanapp")
    fixed = FixedThresholdClassifier(forest(), threshold=0.8).fit(bank.X, bank.y)
    tuned = TunedThresholdClassifierCV(logistic(), cv=3).fit(bank.X, bank.y)
    frozen = FixedThresholdClassifier(FrozenEstimator(forest().fit(bank.X, bank.y)), threshold=0.7)
    for model in (fixed, tuned, frozen.fit(bank.X, bank.y)):
        check(model, None, bank.schema, bank.X)
        for favourable in (0, 1):
            predictor = ht.wrap(model, bank.schema, bank.X, favourable=favourable)
            assert (predictor.decide(as_table(bank.X)) == model.predict(bank.X)).all()
    assert check(fixed, TreesModel, bank.schema, bank.X).threshold == pytest.approx(0.8, abs=1e-6)
    scored = FixedThresholdClassifier(logistic(), threshold=0.3, response_method="decision_function")
    with pytest.raises(ht.errors.CapabilityError, match=r"`decision_function`; got 0\.3"):
        ht.wrap(scored.fit(bank.X, bank.y), bank.schema, bank.X)


# ---- columns -----------------------------------------------------------------------------------------


def test_histogram_boosting_with_categories_of_its_own() -> None:
    table, _ = people()
    table = table.astype(dict.fromkeys(CATEGORIES, "category"))
    for k in (2, 3):
        model = HistGradientBoostingClassifier(max_iter=15, random_state=0, categorical_features="from_dtype")
        check(model.fit(table, labels(k)), TreesModel, SCHEMA, table)


@pytest.mark.parametrize("k", [2, 3])
def test_target_encoder(k: int) -> None:
    table, _ = people()
    front = make_column_transformer(
        (TargetEncoder(), CATEGORIES), (SimpleImputer(), ["tenure"]), remainder="passthrough"
    )
    check(make_pipeline(front, forest()).fit(table, labels(k)), TreesModel, SCHEMA, table)
    linear = make_pipeline(front, StandardScaler(), LogisticRegression(max_iter=1000))
    check(linear.fit(table, labels(k)), None, SCHEMA, table)


def test_imputers_that_mark_what_was_missing() -> None:
    table, _ = people()
    front = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
            ["tenure", "debt"],
        ),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["job"]),
    )
    for last in (LogisticRegression(), forest()):
        check(make_pipeline(front, last).fit(table, labels(2)), None, SCHEMA, table)
