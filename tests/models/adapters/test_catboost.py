"""CatBoost's trees say what CatBoost says."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.models.adapters import BlackBoxModel, TreesModel
from holdtrue.schema import as_table
from holdtrue.testing._world import SCHEMA, people

from .conftest import CATEGORIES, labels, mixed, ours

catboost = pytest.importorskip("catboost", reason="needs pip install 'holdtrue[catboost]'")
DATA = Path(os.environ.get("HOLDTRUE_DATA", Path(__file__).parents[4] / "shared" / "data"))


def classifier(**options: Any) -> Any:
    options = {
        "iterations": 25,
        "depth": 4,
        "verbose": 0,
        "thread_count": 1,
        "allow_writing_files": False,
    } | options
    return catboost.CatBoostClassifier(**options)


def check(model: Any, schema: ht.Schema, table: pd.DataFrame) -> Any:
    """Probabilities, log-odds to the last bit of float32 but for few, and decisions."""
    predictor = ht.wrap(model, schema, table, favourable="(last)")
    assert isinstance(predictor.decision.model, TreesModel), predictor.foreign.note
    for rows in (table, mixed(table, 300, seed=3)):
        np.testing.assert_allclose(ours(predictor, rows), model.predict_proba(rows), atol=1e-6)
        assert (predictor.classes[predictor.decide(as_table(rows))] == np.ravel(model.predict(rows))).all()
    if len(predictor.classes) == 2:
        logits = predictor.logits_of(predictor.encoder.encode(table))[:, 1]
        exact = np.asarray(model.predict(table, prediction_type="RawFormulaVal")).astype(np.float32)
        assert (logits == exact).mean() > 0.999
    return predictor


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("name", ["loanapp", "heloc"])
def test_numbers(name: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name != "loanapp":
        if not DATA.is_dir():
            pytest.skip("needs the data files in ../shared/data beside the repository")
        monkeypatch.setenv("HOLDTRUE_DATA", str(DATA))
    bank = ht.datasets.load(name)
    X, y = bank.X[bank.schema.names].head(3000), np.asarray(bank.y)[:3000]
    check(classifier(grow_policy=policy).fit(X, y), bank.schema, X)


@pytest.mark.parametrize("k", [2, 3])
def test_categories_that_are_asked_for_by_name(k: int) -> None:
    table, _ = people()
    table = table.assign(job=table["job"].astype(object).where(table["job"].notna(), "none")).astype({"job": str})
    model = classifier(cat_features=CATEGORIES, one_hot_max_size=20).fit(table, labels(k))
    check(model, SCHEMA, table)


def test_counters_are_asked_as_a_black_box() -> None:
    table, _ = people()
    table = table.assign(job=table["job"].astype(object).where(table["job"].notna(), "none")).astype({"job": str})
    model = classifier(cat_features=CATEGORIES, one_hot_max_size=1, iterations=40).fit(table, labels(2))
    predictor = ht.wrap(model, SCHEMA, table, favourable="(last)")
    assert isinstance(predictor.decision.model, BlackBoxModel)
    assert "counters" in predictor.foreign.note


def test_a_plain_model_and_recourse() -> None:
    bank = ht.datasets.load("loanapp")
    plain = catboost.CatBoost({"loss_function": "Logloss", "iterations": 20, "verbose": 0, "thread_count": 1,
                               "allow_writing_files": False}).fit(bank.X, bank.y)  # fmt: skip
    no = plain.predict(bank.X, prediction_type="Probability")[:, 1] < 0.5
    plan = ht.recourse(plain, bank.X[no][:5], bank.schema, reference=bank.X)
    assert plan.found.all()
    after = plan.to_frame()[bank.schema.names]
    assert (plain.predict(after, prediction_type="Probability")[:, 1] > 0.5).all()
