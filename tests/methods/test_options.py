"""Several recourses per person: on a linear model the options are known."""

import time

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods._base import FIRST_PART
from holdtrue.models import Decision, LinearModel
from holdtrue.search import Status
from holdtrue.testing import _world as small_world


@pytest.fixture(scope="module")
def known():
    """Three free numbers in [0, 1]; the score is 3a + 2b + c - 2.5, so one person lacks 0.5 and the other 0.3."""
    schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(0, 1)) for name in "abc"])
    people = pd.DataFrame({"a": [0.3, 0.4], "b": [0.4, 0.3], "c": [0.3, 0.4]})
    encoder = Encoder.fit(schema, pd.DataFrame({name: [0.0, 1.0] for name in "abc"}))
    model = LinearModel(np.array([[0, 0, 0], [3, 2, 1]], np.float32), np.array([0, -2.5], np.float32))
    return Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1])), people


def rows():
    return pd.DataFrame(np.random.default_rng(0).uniform(size=(200, 3)), columns=list("abc"))


@pytest.mark.parametrize("method", [ht.SparseSearch(max_changes=1), ht.Wachter(), ht.ElasticNet()])
def test_each_option_goes_another_way(known, method):
    predictor, people = known
    plan = method.fit(predictor, rows()).recourse(people, n_recourses=3)
    assert plan.person.tolist() == [0, 0, 0, 1, 1, 1]
    assert plan.option.tolist() == [0, 1, 2, 0, 1, 2]
    assert plan.valid.all()
    # The cheapest way is `a` alone; the next that is unlike it is `b` alone; then `c`.
    assert plan.changed().tolist() == [[True, False, False], [False, True, False], [False, False, True]] * 2
    np.testing.assert_allclose(plan.cost, [0.5 / 3, 0.5 / 2, 0.5, 0.3 / 3, 0.3 / 2, 0.3], atol=0.01)


@pytest.fixture(scope="module")
def sparse(known):
    predictor, people = known
    return ht.SparseSearch(max_changes=2).fit(predictor, rows()), people


def test_the_first_option_is_the_only_one_there_was(sparse):
    clf, people = sparse
    one, two = clf.recourse(people), clf.recourse(people, n_recourses=2)
    np.testing.assert_allclose(two.cost[::2], one.cost, atol=1e-6)


def test_no_option_is_made_up(sparse):
    """With two features held, there is one way only."""
    clf, people = sparse
    plan = clf.recourse(people, n_recourses=3, restrictions={0: {"b": "fixed", "c": "fixed"}})
    assert plan.person.tolist()[:2] == [0, 1]
    assert (plan.person == 0).sum() == 1
    assert (plan.person == 1).sum() >= 2
    assert not plan.changed()[plan.person == 0][:, 1:].any()


def test_the_table_says_whose_each_row_is(sparse):
    clf, people = sparse
    people = people.set_axis(["ann", "bob"])
    frame = clf.recourse(people, n_recourses=2).to_frame()
    assert frame.index.tolist() == ["ann", "ann", "bob", "bob"]
    assert frame["holdtrue_option"].tolist() == [0, 1, 0, 1]
    assert "holdtrue_option" not in clf.recourse(people).to_frame()


def test_errors(sparse):
    clf, people = sparse
    with pytest.raises(DataError, match="`n_recourses` must be a whole number"):
        clf.recourse(people, n_recourses=0)
    with pytest.raises(CapabilityError, match="gives one recourse per person"):
        ht.SNS(radius=0.1).fit(clf.predictor_, people).recourse(people, n_recourses=2)
    with pytest.raises(DataError, match="each person must have one recourse"):
        ht.audit(clf.recourse(people, n_recourses=2))


def test_deadline_keeps_what_was_found(monkeypatch):
    """The check is done in parts, so that when time runs out in it only the parts not checked are lost."""
    clf = small_world.classifier("linear")
    X = pd.concat([small_world.refused(clf.predictor_, 60)] * 4, ignore_index=True)
    method = ht.Wachter(n_steps=100).fit(clf)
    method.recourse(X)  # compiled
    usual, calls = method._checked, []

    def slow(solution, table, *rest):
        calls.append(table.n_rows)
        if len(calls) == 2:
            time.sleep(60)  # the second part does not come back in time
        return usual(solution, table, *rest)

    monkeypatch.setattr(method, "_checked", slow)
    plan = method.recourse(X, deadline=5)
    reached = plan.status != int(Status.NOT_REACHED)
    assert calls[0] == FIRST_PART
    assert reached.tolist() == [True] * FIRST_PART + [False] * (len(X) - FIRST_PART)
    assert plan.found[:FIRST_PART].mean() > 0.5
    assert plan.valid[plan.found].all()
    assert not plan.changed()[~plan.found].any()
