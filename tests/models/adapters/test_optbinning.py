"""Scorecards of optbinning: their bins read as trees, equal to the library's own answer."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.models.adapters import TreesModel
from holdtrue.models.adapters._optbinning import Binning
from holdtrue.testing._world import SCHEMA, people

from .conftest import mixed, ours

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a solver that it does not use here
    optbinning = pytest.importorskip(
        "optbinning", reason="optbinning is not installed; pip install 'holdtrue[optbinning]' to run it"
    )

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
COLUMNS = ["loanprc", "obrat", "atotinc", "unver", "pubrec", "cons"]
BANK = ht.datasets.load("loanapp")
X, Y = BANK.X[COLUMNS], np.asarray(BANK.y)
LABELS = np.where(Y == 1, "yes", "no")
BANK_SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])


def process(names: list[str], **more: Any) -> Any:
    return optbinning.BinningProcess(names, **more)


@pytest.fixture(scope="module")
def card() -> Any:
    return optbinning.Scorecard(process(COLUMNS), LogisticRegression()).fit(X, Y)


def test_a_scorecard_of_real_applications(card: Any, tmp_path: Path) -> None:
    adopted = ht.adopt(card, BANK_SCHEMA, reference=X, threshold=0.8)
    foreign = adopted.predictor_.foreign
    assert foreign.note == "Read as TreesModel."
    adopted.save(tmp_path / "card.holdtrue")
    again = ht.load(tmp_path / "card.holdtrue")
    assert again.predictor_.foreign.note == "Read as TreesModel."
    assert again.predictor_.digest() == adopted.predictor_.digest()
    own = card.predict_proba(X)
    for clf in (adopted, again):
        assert (clf.predictor_.foreign.estimator.predict_proba(X) == own).all()
        assert (clf.predict(X) == (own[:, 1] >= 0.8)).all()
    np.testing.assert_allclose(ours(again.predictor_, X), own, atol=1e-6)
    plan = again.recourse(X[own[:, 1] < 0.8].head(10))
    assert plan.found.all()
    told = plan.to_frame()[COLUMNS]
    assert (card.predict_proba(told)[:, 1] >= 0.8).all()


def test_categories_and_missing_numbers() -> None:
    table, y = people()
    names, levels = list(SCHEMA.names), [f.name for f in SCHEMA if f.has_levels]
    text = [
        name for name in levels if table[name].dtype == object or str(table[name].dtype) in ("str", "category")
    ]
    for missing in (0, "empirical"):
        model = optbinning.Scorecard(process(names, categorical_variables=text), LogisticRegression())
        model.fit(table, y, metric_missing=missing)
        predictor = ht.wrap(model, SCHEMA, table)
        assert isinstance(predictor.decision.model, TreesModel), predictor.foreign
        rows = mixed(table, 300)
        np.testing.assert_allclose(ours(predictor, rows), model.predict_proba(rows), atol=1e-5)


def test_in_a_pipeline_and_trained_again(card: Any) -> None:
    pipeline = make_pipeline(process(COLUMNS), LogisticRegression()).fit(X, LABELS == "yes")
    predictor = ht.wrap(pipeline, BANK_SCHEMA, X)
    assert isinstance(predictor.decision.model, TreesModel), predictor.foreign
    np.testing.assert_allclose(ours(predictor, X), pipeline.predict_proba(X), atol=1e-6)
    copies = ht.retrain(card, X, Y, n=2, schema=BANK_SCHEMA, vary="bootstrap")
    first = copies.models[0].estimator
    assert (first.predict_proba(X) != card.predict_proba(X)).any()
    assert first.scorecard_ is not card


def test_what_is_asked_as_a_black_box() -> None:
    special = optbinning.Scorecard(process(COLUMNS, special_codes=[-1]), LogisticRegression()).fit(X, Y)
    predictor = ht.wrap(special, BANK_SCHEMA, X)
    assert "special codes" in predictor.foreign.note
    assert (predictor.decide(predictor.encoder.schema.check(X)) == special.predict(X)).all()


def test_a_file_that_does_not_fit_together(card: Any) -> None:
    said = Binning.of(card.binning_process_).to_dict()
    said["variables"][0]["values"].pop()
    with pytest.raises(DataError, match="not of one number"):
        Binning.from_dict(said)
    frame = pd.DataFrame({name: [0.0] for name in COLUMNS})
    assert Binning.of(card.binning_process_).transform(frame).shape == (1, len(COLUMNS))
