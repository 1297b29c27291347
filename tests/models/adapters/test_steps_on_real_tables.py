"""Steps before a model and around it, on tables of real people: every decision is the library's own."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

import holdtrue as ht
from holdtrue.models.adapters import BlackBoxModel
from holdtrue.schema import as_table

from .conftest import mixed, ours

DATA = Path(os.environ.get("HOLDTRUE_DATA", Path(__file__).parents[4] / "shared" / "data"))
TABLES = ["loanapp", "german_credit", "give_me_some_credit"]
"""The first comes with holdtrue; the second has words, the third missing numbers."""


def forest() -> Any:
    return RandomForestClassifier(25, max_depth=7, random_state=0)


def logistic() -> Any:
    return LogisticRegression(max_iter=2000)


def filled(*steps: Any) -> Any:
    return make_pipeline(SimpleImputer(strategy="median"), *steps)


def steps_of(number: Any, last: Any) -> Callable[[list[str], list[str]], Any]:
    """A step for numbers, one-hot words, and a model behind both."""
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return lambda numbers, words: make_pipeline(make_column_transformer((number, numbers), (hot, words)), last)


def of_targets(last: Any) -> Callable[[list[str], list[str]], Any]:
    """Words as the mean label of each."""
    return lambda numbers, words: make_pipeline(
        make_column_transformer((TargetEncoder(), words), (filled(StandardScaler()), numbers)), last
    )


BINS = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
MODELS: dict[str, Callable[[list[str], list[str]], Any]] = {
    "categories": lambda *_: HistGradientBoostingClassifier(
        max_iter=40, random_state=0, categorical_features="from_dtype"
    ),
    "targets, forest": of_targets(forest()),
    "targets, linear": of_targets(logistic()),
    "imputed, forest": steps_of(SimpleImputer(strategy="median", add_indicator=True), forest()),
    "imputed, linear": steps_of(
        make_pipeline(SimpleImputer(strategy="mean", add_indicator=True), StandardScaler()), logistic()
    ),
    "neighbours imputed": steps_of(make_pipeline(StandardScaler(), KNNImputer(n_neighbors=3)), logistic()),
    "bins": steps_of(filled(BINS), logistic()),
    "splines": steps_of(filled(StandardScaler(), SplineTransformer(n_knots=4)), logistic()),
    "powers": steps_of(filled(PowerTransformer()), logistic()),
    "quantiles": steps_of(filled(QuantileTransformer(n_quantiles=50, random_state=0)), logistic()),
    "quantiles, forest": steps_of(filled(QuantileTransformer(n_quantiles=50, random_state=0)), forest()),
    "tuned threshold": lambda *parts: TunedThresholdClassifierCV(
        steps_of(filled(StandardScaler()), logistic())(*parts), cv=3, random_state=0
    ),
    "tuned threshold, forest": lambda *parts: TunedThresholdClassifierCV(
        steps_of(filled(), forest())(*parts), cv=3, random_state=0
    ),
}
ASKED = ("neighbours imputed",)
"""What a value is filled with depends on the whole row: asked as a black box."""


def people(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[pd.DataFrame, np.ndarray, ht.Schema]:
    """Up to 1200 rows; of `loanapp`, which has them all, some numbers are taken away."""
    if name != "loanapp":
        if not DATA.is_dir():
            pytest.skip("needs the data files in ../shared/data beside the repository")
        monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    bank = ht.datasets.load(name)
    X, y = bank.X[bank.schema.names].head(1200).reset_index(drop=True), np.asarray(bank.y)[:1200]
    features = list(bank.schema)
    if name == "loanapp":
        X = X.astype({"loanprc": float, "obrat": float})
        X.loc[X.index % 7 == 0, "obrat"] = np.nan
        X.loc[X.index % 11 == 0, "loanprc"] = np.nan
        features = [f.replace(missing="median") if f.name in ("obrat", "loanprc") else f for f in features]
    return X, y, ht.Schema(features)


@pytest.mark.filterwarnings("ignore:Bins whose width are too small")  # where many people have one value
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MODELS)
def test_decisions_are_the_library_s(name: str, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, schema = people(table, monkeypatch)
    words = [f.name for f in schema if f.has_levels]
    numbers = [c for c in X if c not in words]
    X = X.astype(dict.fromkeys(words if name == "categories" else [], "category"))
    check(MODELS[name](numbers, words).fit(X[::2], y[::2]), X, schema, name in ASKED)


@pytest.mark.parametrize("table", TABLES)
def test_a_frozen_model(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, schema = people(table, monkeypatch)
    words = [f.name for f in schema if f.has_levels]
    inner = steps_of(filled(), forest())([c for c in X if c not in words], words)
    frozen = FrozenEstimator(inner.fit(X[::2], y[::2])).fit(X, y)
    check(frozen, X, schema, asked=False)
    check(TunedThresholdClassifierCV(frozen, cv="prefit", refit=False).fit(X, y), X, schema, asked=False)


def check(model: Any, X: pd.DataFrame, schema: ht.Schema, asked: bool) -> None:
    """Decisions, those of rows that it has not learned and of people put together from others among them."""
    predictor = ht.wrap(model, schema, X)
    assert predictor.foreign is not None
    assert isinstance(predictor.decision.model, BlackBoxModel) == asked, predictor.foreign.note
    index = list(model.classes_).index(predictor.favourable)
    for rows in (X, mixed(X, 500, seed=3)):
        said = np.asarray(model.predict(rows))
        assert (predictor.classes[predictor.decide(as_table(rows))] == said).all()
        if not asked:
            own = model.predict_proba(rows)
            np.testing.assert_allclose(ours(predictor, rows), own, atol=1e-5)
            # What a search goes by, in float32: the same but within its rounding of the threshold.
            assert predictor.threshold is not None
            clear = np.abs(own[:, index] - predictor.threshold) > 1e-5
            searched = predictor.decide_of(predictor.logits_of(predictor.encoder.encode(rows)))
            assert (predictor.classes[searched] == said)[clear].all()
            assert clear.mean() > 0.97
