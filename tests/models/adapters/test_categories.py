"""Models that learned from pandas' categories, asked with texts, as they come from a CSV file."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

import holdtrue as ht
from holdtrue.models.adapters import TreesModel, as_classifier
from holdtrue.models.adapters._categories import known_categories
from holdtrue.schema import as_table
from holdtrue.testing._world import PLAIN, people

from .conftest import CATEGORIES


def histograms() -> Any:
    return HistGradientBoostingClassifier(max_iter=15, random_state=0, categorical_features="from_dtype")


def lightgbm() -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1, cat_smooth=1.0)


def xgboost() -> Any:
    library = pytest.importorskip("xgboost")
    if not hasattr(library.Booster, "get_categories"):
        pytest.skip("XGBoost keeps categories from 3.1 on")
    return library.XGBClassifier(n_estimators=15, n_jobs=1, enable_categorical=True, max_cat_to_onehot=1)


MODELS: dict[str, Callable[[pd.DataFrame, np.ndarray], Any]] = {
    "histograms": lambda X, y: histograms().fit(X, y),
    "lightgbm": lambda X, y: lightgbm().fit(X, y),
    "xgboost": lambda X, y: xgboost().fit(X, y),
    "lightgbm, raw": lambda X, y: as_classifier(lightgbm().fit(X, y).booster_),
    "xgboost, raw": lambda X, y: as_classifier(xgboost().fit(X, y).get_booster()),
    "calibrated": lambda X, y: CalibratedClassifierCV(lightgbm(), cv=2).fit(X, y),
    "frozen": lambda X, y: FrozenEstimator(make_pipeline("passthrough", histograms()).fit(X, y)),
}
TEXTS, Y = people(400)
LEARNED = TEXTS.astype(dict.fromkeys(CATEGORIES, "category"))


@pytest.mark.parametrize("name", MODELS)
def test_texts_are_the_categories_that_it_learned(name: str) -> None:
    model = MODELS[name](LEARNED, Y)
    own = model.predict_proba(LEARNED)
    assert known_categories(model) == {
        TEXTS.columns.get_loc(c): LEARNED[c].cat.categories.tolist() for c in CATEGORIES
    }
    # Some of them alone: the codes are those of the table that it learned from, not of this one.
    few = (TEXTS["job"] != "full") & (TEXTS["status"] != "divorced")
    for rows in (TEXTS, TEXTS[few]):
        predictor = ht.wrap(model, PLAIN, rows)
        assert predictor.foreign is not None
        assert isinstance(predictor.decision.model, TreesModel) or name == "calibrated", predictor.foreign.note
        np.testing.assert_allclose(predictor.proba(as_table(TEXTS)), own, atol=1e-7)


@pytest.mark.parametrize("name", ["histograms", "lightgbm", "xgboost"])
def test_it_is_trained_again_and_kept(name: str, tmp_path: Any) -> None:
    model = MODELS[name](LEARNED, Y)
    ours = ht.adopt(model, PLAIN, reference=TEXTS, labels=Y, n_guides=2, hold=0.8, method="nearest_neighbour")
    ours.save(tmp_path / "bank.holdtrue")
    again = ht.load(tmp_path / "bank.holdtrue")
    assert (again.predict_proba(TEXTS) == ours.predict_proba(TEXTS)).all()
    np.testing.assert_allclose(again.predict_proba(TEXTS), model.predict_proba(LEARNED), atol=1e-7)
    copies = ht.retrain(again, TEXTS, Y, n=2)
    theirs = ht.retrain(model, LEARNED, Y, n=2, schema=PLAIN)
    assert (copies.decide(TEXTS) == theirs.decide(LEARNED)).all()


def test_numbers_have_no_categories() -> None:
    numbers = TEXTS[["income", "debt"]]
    for make in (histograms, lightgbm, xgboost):
        assert known_categories(make().fit(numbers, Y)) == {}
