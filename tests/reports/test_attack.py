"""Attacks on recourse: none without a shift, and what lies at the boundary breaks first."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.errors import CapabilityError, DataError

SCHEMA = ht.Schema([ht.Feature(name=c, kind="numeric", bounds=(-3, 3)) for c in "ab"])


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 2)).clip(-3, 3), columns=["a", "b"])
    y = (table["a"] + 0.5 * rng.normal(size=300) > 0).astype(int)
    regime = ht.StandardTraining(n_epochs=30, step_size=0.02)
    clf = ht.RecourseClassifier(schema=SCHEMA, model=ht.Linear(), regime=regime, random_state=0).fit(table, y)
    return clf, table[clf.predict(table) == 0].head(30), y


def test_nothing_breaks_where_nothing_moves(world):
    clf, X, _ = world
    found = ht.attack(clf.recourse(X), clf, eps=0.0, step_size=0.0)
    assert found.survival == 1
    assert not found.shift.any()
    assert found.accuracy == found.accuracy_after
    np.testing.assert_array_equal(found.predictor.proba(clf._read(X)), clf.predict_proba(X))


def test_recourse_at_the_boundary_breaks_before_recourse_beyond_it(world):
    clf, X, _ = world
    near, far = (clf.recourse(X, method=ht.Wachter(target_probability=p)) for p in (None, 0.95))
    broken = [ht.attack(plan, clf, eps=0.2) for plan in (near, far)]
    assert broken[0].survival < 0.5 < broken[1].survival
    assert (broken[0].broken <= near.found).all()
    assert np.abs(broken[0].shift).max() <= 0.2 + 1e-6
    assert broken[0].accuracy_after > broken[0].accuracy - 0.1
    assert "recourses break" in str(broken[0])
    asked = broken[0].predictor.classes[broken[0].predictor.decide(near.recourse)]
    np.testing.assert_array_equal(asked != near.target, broken[0].broken | ~near.found)


def test_rows_that_fill_a_plan_up_do_not_count(world, monkeypatch):
    clf, X, _ = world
    plan = clf.recourse(X)
    filled = ht.attack(plan, clf, eps=0.2)
    monkeypatch.setattr("holdtrue.reports._attack.BLOCK", 1)
    alone = ht.attack(plan, clf, eps=0.2)
    np.testing.assert_allclose(filled.shift, alone.shift, atol=1e-5)
    np.testing.assert_array_equal(filled.broken, alone.broken)


def test_what_cannot_be_attacked_is_refused(world, tmp_path):
    clf, X, _ = world
    plan = clf.recourse(X)
    clf.save(tmp_path / "m.holdtrue")
    with pytest.raises(DataError, match="fitted in this process"):
        ht.attack(plan, ht.RecourseClassifier.load(tmp_path / "m.holdtrue"))
    with pytest.raises(CapabilityError, match="must be what recourse"):
        ht.attack(X, clf)
    with pytest.raises(DataError, match="`T`, `K`"):
        ht.attack(plan, clf, T=0)
    with pytest.raises(DataError, match="`norm` must be"):
        ht.attack(plan, clf, norm="l1")  # type: ignore[arg-type]
