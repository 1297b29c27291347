"""Early stopping: how many rows an update has, and which rows are held out."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import holdtrue as ht
from holdtrue.training import EarlyStopping


def test_batches_grow_with_the_table():
    regime = EarlyStopping()
    assert [regime.rows_per_update(n) for n in (10, 2_000, 10_000, 20_000, 10**6)] == [32, 32, 128, 256, 256]
    assert EarlyStopping(batch_size=7).rows_per_update(10**6) == 7


def test_few_rows_are_all_learned_from():
    assert EarlyStopping().waits(99) is None
    assert EarlyStopping(patience=3).waits(100) == 3


def test_a_regime_that_holds_nothing_out_is_compared_where_guides_are_trained():
    bank = ht.datasets.load("loanapp")
    names = ["loanprc", "obrat"]
    schema = ht.Schema([bank.schema[name] for name in names])
    how = {"schema": schema, "model": ht.Linear(), "random_state": 0, "n_guides": 2}
    bad = ht.StandardTraining(n_epochs=1, step_size=1e-6)
    with pytest.warns(ht.errors.QualityWarning, match="logistic regression"):
        clf = ht.RecourseClassifier(regime=bad, hold=0.9, **how).fit(bank.X[names][:400], bank.y[:400])
    assert clf.beside_.n_rows == math.ceil(clf.regime_.validation_fraction * len(clf.training_.data.x))
    alone = ht.RecourseClassifier(regime=bad, hold=None, **how).fit(bank.X[names][:400], bank.y[:400])
    assert alone.beside_ is None
    # What is compared is trained besides: the model itself has learned from every row.
    assert (alone.predict_proba(bank.X[names]) == clf.predict_proba(bank.X[names])).all()


def test_early_stopping_holds_rows_out_and_a_file_says_how_it_was_trained(tmp_path):
    bank = ht.datasets.load("loanapp")
    names = ["loanprc", "obrat"]
    schema = ht.Schema([bank.schema[name] for name in names])
    clf = ht.RecourseClassifier(schema=schema, regime=EarlyStopping(), hold=None, random_state=0)
    clf.fit(bank.X[names][:400], bank.y[:400])
    assert isinstance(clf.architecture(), ht.PiecewiseMLP)
    assert int(clf.history_.n_epochs) < clf.regime_.n_epochs
    assert np.isfinite(clf.history_.validation_loss[0])
    # 15% of what is left when rows that are equal become one.
    assert clf.beside_.n_rows == math.ceil(0.15 * len(clf.training_.data.x))
    assert set(clf.beside_.auc) == {"model", "logistic regression", "histogram boosting"}
    clf.save(tmp_path / "m.holdtrue")
    again = ht.load(tmp_path / "m.holdtrue")
    assert isinstance(again.regime_, EarlyStopping)
    assert (again.predict_proba(bank.X[names]) == clf.predict_proba(bank.X[names])).all()


def test_a_file_from_when_this_was_the_default_is_read_and_trained_again_as_it_was(tmp_path):
    bank = ht.datasets.load("loanapp")
    schema = ht.Schema([bank.schema["loanprc"], bank.schema["obrat"]])
    X, y = bank.X[["loanprc", "obrat"]][:400], bank.y[:400]
    clf = ht.RecourseClassifier(schema=schema, regime=EarlyStopping(), hold=None, random_state=0).fit(X, y)
    clf.regime = None  # as it was when nothing was said
    clf.save(tmp_path / "m.holdtrue")
    old = ht.RecourseClassifier.load(tmp_path / "m.holdtrue")
    assert (old.predict_proba(X) == clf.predict_proba(X)).all()
    assert isinstance(clone(old).configured_regime(), EarlyStopping)
