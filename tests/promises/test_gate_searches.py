"""What people could do now whose promise breaks, by methods and models of every origin."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.errors import DataError
from holdtrue.promises import gate
from holdtrue.promises._keep_all import with_threshold
from holdtrue.schema import Schema

from .world import SCHEMA, ask, model, promise


def test_what_people_could_do_now(ledger, sixty, wachter, tmp_path):
    ledger.issue(
        [promise("a", 50), promise("b", 70), promise("c", 55, before=61), promise("d", 40, restrictions={})]
    )
    place = tmp_path / "cases.jsonl"
    report = ask(sixty, ledger, method=wachter, further=True, cases=place)
    assert report.n_broken == 3
    cases = {case["promised"]["subject"]: case for case in map(json.loads, place.read_text().splitlines())}
    assert set(cases) == {"a", "c", "d"}
    for who, promised in (("a", 50), ("d", 40)):
        # From 30 to the boundary at 60; in place of the promised change, or on top of it.
        assert cases[who]["instead"]["row"]["income"] == pytest.approx(60, abs=0.5)
        assert cases[who]["instead"]["cost"] == pytest.approx(0.30, abs=0.005)
        assert cases[who]["instead"]["extra"] == pytest.approx(0.60 - promised / 100, abs=0.005)
        assert cases[who]["further"]["cost"] == pytest.approx(0.60 - promised / 100, abs=0.005)
        assert cases[who]["promised"]["changes"] == f"Raise income from 30 to {promised}."
        assert cases[who]["instead"]["row"]["age"] == 40
    # Who was told to lower their income, and now needs to do nothing.
    assert cases["c"]["instead"]["status"] == "ALREADY_FAVOURABLE"
    assert cases["c"]["instead"]["extra"] == pytest.approx(-0.06, abs=1e-6)
    assert report.instead.counts == {"ALREADY_FAVOURABLE": 1, "FOUND": 2}
    assert report.further.extra.mean == pytest.approx((0.1 + 0.2 + 0.05) / 3, abs=0.005)
    first = ask(sixty, ledger, method=wachter, alternatives=1)
    assert first.further is None
    assert first.instead.n_searched == 1
    assert "first 1 broken" in str(first)
    assert ask(sixty, ledger, method=wachter, alternatives=0).instead is None


def test_restrictions_of_people_hold_in_the_search(ledger, sixty, wachter):
    ledger.issue(promise("a", 50, restrictions={"income": {"bounds": [0, 55]}}))
    ledger.issue(promise("b", 50, restrictions={"income": {"levels": ["x"]}}))  # no words for it here
    report = ask(sixty, ledger, method=wachter)
    assert report.instead.counts == {"NOT_ASKED": 1, "NOT_FOUND": 1}
    assert math.isnan(report.instead.extra.mean)


def test_a_method_of_another_model_is_refused(ledger, wachter):
    with pytest.raises(DataError, match="not fitted to this model"):
        ask(model(61), ledger, method=wachter)


def test_a_fitted_classifier_brings_its_method(tmp_path):
    from holdtrue.testing import _world as world

    table, y = world.people()
    regime = ht.StandardTraining(n_epochs=30, step_size=0.02)
    method = ht.Wachter(n_steps=60, random_state=0)
    clf = ht.RecourseClassifier(
        schema=world.SCHEMA, model=ht.Linear(), regime=regime, method=method, threshold=0.6, random_state=0
    ).fit(table, y)
    plan = clf.recourse(table[clf.predict(table) == 0].head(20))
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue(ht.records(plan, [str(i) for i in range(len(plan))], valid_for=30))
        same = ht.gate(clf, ledger)
        assert (same.n_live, same.n_broken, same.n_unreadable) == (int(plan.found.sum()), 0, 0)
        assert same.model == clf.predictor_.digest()
        stricter = replace(clf.predictor_, decision=with_threshold(clf.predictor_.decision, 0.7))
        report = gate(stricter, tmp_path / "l.db", method=ht.Wachter(n_steps=60, random_state=0).fit(stricter))
        assert report.n_broken == int((plan.after[plan.found] < 0.7).sum()) > 5
        assert report.honour.threshold == pytest.approx(plan.after[plan.found].min(), abs=2e-6)
        assert report.instead.counts["FOUND"] > 5
        assert report.instead.extra.mean > 0


def test_a_model_made_elsewhere(ledger):
    """A tree is asked in its own columns; its probabilities are 0 and 1."""
    columns = {"income": np.linspace(0, 100, 201), "age": np.repeat([20, 60], [100, 101])}
    tree = DecisionTreeClassifier(max_depth=1).fit(
        np.column_stack(list(columns.values())), columns["income"] > 60.2
    )
    schema = Schema([SCHEMA["income"], SCHEMA["age"]])
    wrapped = ht.wrap(tree, schema, columns)
    ledger.issue([promise(i, income, target=True) for i, income in enumerate((70, 80))])
    report = ask(wrapped, ledger)
    assert (report.n_live, report.n_broken, report.model) == (2, 0, None)
    assert report.honour.threshold == 0.999999
    assert "made elsewhere" in str(report)
    ledger.issue(promise("c", 55, target=True))
    report = ask(wrapped, ledger, method=ht.GrowingSpheres(random_state=0).fit(wrapped))
    assert (report.n_live, report.n_broken) == (3, 1)
    assert report.shortfall.mean == pytest.approx(0.5, abs=1e-6)
    assert "all but zero" in report.honour.why
    assert report.instead.counts == {"FOUND": 1}
    assert report.instead.cost.mean == pytest.approx(0.302, abs=0.01)
