"""The gate's counts against answers that can be computed by hand: broken, short of, and what would honour them."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binomtest

from holdtrue.errors import DataError
from holdtrue.models import Decision, LinearModel
from holdtrue.promises._keep_all import with_threshold

from .world import INCOMES, ask, model, promise, sigmoid


def test_counts_and_shortfall(ledger, sixty):
    ledger.issue([promise(i, income) for i, income in enumerate(INCOMES)])
    report = ask(sixty, ledger)
    assert (report.n_live, report.n_broken, report.n_unreadable) == (5, 2, 0)
    assert report.share == 0.4
    exact = binomtest(2, 5).proportion_ci(0.95, "exact")
    assert (report.lower, report.upper) == pytest.approx((exact.low, exact.high))
    below = [0.5 - sigmoid(-1.0), 0.5 - sigmoid(-0.5)]
    assert report.shortfall.mean == pytest.approx(np.mean(below), abs=1e-6)
    assert report.shortfall.median == pytest.approx(np.median(below), abs=1e-6)
    assert report.honour.expected_wrong == pytest.approx(2 - sigmoid(-1.0) - sigmoid(-0.5), abs=1e-6)
    assert report.honour.n_regardless == 2
    assert not report.ok
    assert [case["probability"] for case in report.cases] == pytest.approx(
        [sigmoid(-1.0), sigmoid(-0.5)], abs=1e-6
    )
    assert report.ledger == vars(ledger.head())
    assert report.instead is None  # a bare predictor has no method


def test_what_was_found_is_written_down_where_asked(ledger, sixty):
    ledger.issue([promise(i, income) for i, income in enumerate(INCOMES)])
    before = ledger.head()
    ask(sixty, ledger)
    assert ledger.head() == before
    report = ask(sixty, ledger, max_broken=0.4, write_down=True)
    (event,) = ledger.gates()
    assert (event.seq, event.kind, event.body) == (before.seq + 1, "gate", None)
    assert event.public == {
        "model": report.model, "live": 5, "broken": 2, "unreadable": 0, "max_broken": 0.4, "ok": True,
        "at": event.public["at"], "up_to": before.seq,
    }  # fmt: skip
    assert ledger.verify(before).ok  # the chain goes on, and what was noted before is in it
    assert ledger.counts()["live"] == 5
    assert ask(sixty, ledger).n_live == 5
    with pytest.raises(DataError, match="note_gate"):
        ledger.note_gate({"model": object()})


@pytest.mark.parametrize(("limit", "ok"), [(0.0, False), (0.39, False), (0.4, True), (1.0, True)])
def test_the_limit(ledger, sixty, limit, ok):
    ledger.issue([promise(i, income) for i, income in enumerate(INCOMES)])
    report = ask(sixty, ledger, max_broken=limit)
    assert report.ok is ok
    assert bool(report) is ok
    assert ("does not pass" in str(report)) is not ok


@pytest.mark.parametrize("broken", [7, 14, 28, 29, 55, 57, 58])  # whose product with 1/100 is off by a last digit
def test_exactly_as_many_as_may(ledger, sixty, broken):
    ledger.issue([promise(i, 50 if i < broken else 70) for i in range(100)])
    assert ask(sixty, ledger, max_broken=broken / 100).ok
    assert not ask(sixty, ledger, max_broken=broken / 100 - 1e-9).ok


def test_nothing_is_broken_and_nothing_is_there(ledger, sixty):
    nothing = ask(sixty, ledger)
    assert nothing.ok
    assert nothing.n_live == 0
    assert math.isnan(nothing.share)
    assert nothing.to_dict()["share"] is None
    assert "passes" in str(nothing)
    assert nothing.to_html()
    ledger.issue([promise(i, 70) for i in range(3)])
    report = ask(sixty, ledger)
    assert report.ok
    assert report.n_broken == 0
    assert report.honour.threshold == pytest.approx(sigmoid(1.0), abs=1e-6)


def test_the_highest_threshold_that_breaks_none(ledger, sixty):
    rng = np.random.default_rng(0)
    ledger.issue([promise(i, income) for i, income in enumerate(rng.uniform(20, 95, 40))])
    found = ask(sixty, ledger).honour.threshold
    assert found is not None
    at, above = (replace(sixty, decision=with_threshold(sixty.decision, t)) for t in (found, found + 1e-6))
    assert ask(at, ledger).n_broken == 0
    assert ask(above, ledger).n_broken == 1


def test_no_threshold_where_there_is_none(ledger, sixty):
    ledger.issue([promise("a", 70), promise("b", 20, target=0)])
    honour = ask(sixty, ledger).honour
    assert honour.threshold is None
    assert "other class" in honour.why
    steep = model(60, slope=5000)
    ledger.forget("b")
    ledger.issue(promise("c", 10))
    assert "all but zero" in ask(steep, ledger).honour.why


def test_the_wanted_class_may_be_the_other_one(ledger, sixty):
    ledger.issue([promise("a", 20, target=0), promise("b", 75, target=0)])
    report = ask(sixty, ledger)
    assert report.n_broken == 1
    assert report.shortfall.mean == pytest.approx(0.5 - sigmoid(-1.5), abs=1e-6)


def test_what_the_threshold_costs_in_accuracy(ledger, sixty):
    ledger.issue([promise("a", 50), promise("b", 70)])
    incomes = [40, 51, 52, 53, 59, 65, 90]
    X = {"income": incomes, "age": [30] * 7, "sex": ["f"] * 7}
    y = np.array([0, 1, 0, 0, 1, 1, 1])
    m = ask(sixty, ledger, labelled=(X, y)).honour.labelled
    # Now 65 and 90 are approved: right but for 51 and 59. With an income of 50 enough, all but 40 are.
    assert (m.n, m.n_added, m.n_added_good) == (7, 4, 2)
    assert m.accuracy == pytest.approx(5 / 7)
    assert m.accuracy_then == pytest.approx(5 / 7)
    assert (m.approved, m.approved_then) == pytest.approx((2 / 7, 6 / 7))
    assert m.good.share == 0.5
    with pytest.raises(DataError, match="a label per row"):
        ask(sixty, ledger, labelled=(X, y[:3]))
    with pytest.raises(DataError, match="no class of the model"):
        ask(sixty, ledger, labelled=(X, y + 1))


def test_more_than_two_classes(ledger):
    three = model(60, classes=np.array(["no", "maybe", "yes"]))
    weight = np.zeros((3, three.encoder.n_columns), np.float32)
    weight[2, 0], weight[1, 0] = 10.0, 5.0
    decision = Decision(LinearModel(jnp.asarray(weight), jnp.asarray([0.0, -1.0, -4.0])), jnp.asarray(0.5), 2)
    three = replace(three, decision=decision)
    # Logits at income 50: 0, 1.5, 1; at 90: 0, 3.5, 5.
    ledger.issue([promise("a", 50, target="yes"), promise("b", 90, target="yes")])
    report = ask(three, ledger)
    assert report.n_broken == 1
    p = np.exp([0.0, 1.5, 1.0]) / np.exp([0.0, 1.5, 1.0]).sum()
    assert report.shortfall.mean == pytest.approx(p[1] - p[2], abs=1e-6)
    assert report.threshold is None
    assert "more than two classes" in report.honour.why
