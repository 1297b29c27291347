"""Forests and their kin, trained in processes: the same models, the same errors, the warnings left alone."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.retraining._processes import may_be_in_processes

SCHEMA = ht.Schema([ht.Feature(name="a", kind="numeric"), ht.Feature(name="b", kind="numeric")])
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=120), "b": RNG.normal(size=120)})
Y = (X["a"] + 0.5 * RNG.normal(size=120) > 0).astype(int).to_numpy()


def retrained(model: Any, keep: Any = None, on_model: Any = None) -> Any:
    how: Any = {"schema": SCHEMA, "favourable": 1, "keep": keep, "on_model": on_model}
    return ht.retrain(model.fit(X, Y), X, Y, n=4, vary="anew", **how)


@pytest.fixture
def in_processes(monkeypatch):
    """Two cores, and nothing too little to be worth a process."""
    monkeypatch.setattr("holdtrue.retraining._processes.n_cores", lambda: 2)
    monkeypatch.setattr("holdtrue.retraining._trainer.n_cores", lambda: 2)
    monkeypatch.setattr("holdtrue.retraining._processes.WORTH", 0.0)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(20, max_depth=4, n_jobs=2),
        make_pipeline(StandardScaler(), ExtraTreesClassifier(10, n_jobs=-1)),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=6),
        VotingClassifier([("a", RandomForestClassifier(5)), ("b", GaussianNB())], voting="soft"),
        CalibratedClassifierCV(RandomForestClassifier(5, max_depth=3), method="isotonic", cv=2),
        CalibratedClassifierCV(RandomForestClassifier(5, max_depth=3), cv=2),
    ],
    ids=["forest", "pipeline", "bagging", "vote", "isotonic", "sigmoid"],
)
def test_in_processes_they_are_the_same_to_the_bit(model, in_processes, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("holdtrue.retraining._trainer.n_cores", lambda: 1)
        serial = retrained(model)
    fits, told = [], []
    fit = type(model).fit
    monkeypatch.setattr(type(model), "fit", lambda *args, **how: (fits.append(1), fit(*args, **how))[1])
    filters = list(warnings.filters)
    beside = retrained(model, tmp_path, told.append)
    assert len(fits) == 2  # the model itself and the first of the four: the rest elsewhere
    assert warnings.filters == filters
    assert told == [1, 2, 3, 4]
    for one, other in zip(serial.models, beside.models, strict=True):
        assert repr(one.estimator.get_params()) == repr(other.estimator.get_params())
        # Threads add up a forest's answers in whatever order they are done.
        both = (of.estimator.set_params(**alone(of.estimator)).predict_proba(X) for of in (one, other))
        np.testing.assert_array_equal(*both)


def alone(model):
    return {name: 1 for name in model.get_params() if name.endswith("n_jobs")}


def test_an_error_in_another_process_is_told_as_here(in_processes):
    few = np.concatenate([np.flatnonzero(Y == 0)[:5], np.flatnonzero(Y == 1)[:1]])
    forest = CalibratedClassifierCV(RandomForestClassifier(2, max_depth=2), cv=2).fit(X, Y)
    rows = [(X, Y), (X, Y), (X.iloc[few], Y[few])]
    with pytest.raises(DataError, match=r"Classifier.* cannot be trained again on these rows; it raised V"):
        ht.retrain(forest, tables=rows, n=1, schema=SCHEMA, favourable=1)


@pytest.mark.parametrize(
    ("model", "may"),
    [
        (RandomForestClassifier(), True),
        (LogisticRegression(), False),
        (VotingClassifier([("a", RandomForestClassifier()), ("b", LogisticRegression())]), False),
        (VotingClassifier([("a", RandomForestClassifier()), ("b", XGBClassifier())]), False),
        (DecisionTreeClassifier(), False),
    ],
)
def test_who_goes_to_processes(model, may):
    """Sums that depend on how many threads there are would make other models."""
    assert may_be_in_processes(model) is may
