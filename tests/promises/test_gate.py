"""The gate against answers that can be computed by hand."""

import json
import math
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.errors import DataError, LedgerError
from holdtrue.models import Decision, LinearModel
from holdtrue.promises import _gate, _read, gate
from holdtrue.promises._keep_all import with_threshold
from holdtrue.schema import Feature, Schema
from holdtrue.testing._ledger import START

from .world import SCHEMA, TABLE, model, promise

INCOMES = [50, 55, 60, 70, 80]  # under a boundary of 60 the first two break


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.fixture
def ledger(tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        yield ledger


@pytest.fixture(scope="module")
def sixty():
    return model(60)


@pytest.fixture(scope="module")
def wachter(sixty):
    return ht.Wachter(n_steps=200, norm="l1", random_state=0).fit(sixty)


def ask(model, ledger, **options):
    return gate(model, ledger, at=START, **options)


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


def test_groups(ledger, sixty):
    people = [("f", 30, 50), ("f", 30, 70), ("f", 50, 80), ("m", 50, 55), ("m", 60, 50)]
    ledger.issue([promise(i, income, sex=sex, age=age) for i, (sex, age, income) in enumerate(people)])
    report = ask(sixty, ledger, group="sex")
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("f", 3, 1), ("m", 2, 2)]
    for group in report.groups:
        exact = binomtest(group.broken, group.n).proportion_ci(0.95, "exact")
        assert (group.lower, group.upper) == pytest.approx((exact.low, exact.high))
    by_age = ask(sixty, ledger, group="age", bins=[40, 50])
    assert [(g.label, g.n, g.broken) for g in by_age.groups] == [("below 40", 2, 1), ("50 or more", 3, 2)]
    assert [(g.label, g.n) for g in ask(sixty, ledger, group="age").groups] == [("30", 2), ("50", 2), ("60", 1)]
    with pytest.raises(DataError, match="not a column of the records"):
        ask(sixty, ledger, group="sexx")
    with pytest.raises(DataError, match="ascending"):
        ask(sixty, ledger, group="age", bins=[50, 40])
    with pytest.raises(DataError, match="column of numbers"):
        ask(sixty, ledger, group="sex", bins=[1])
    with pytest.raises(DataError, match="no `group`"):
        ask(sixty, ledger, bins=[1])
    ledger.issue([promise(f"y{i}", 60, before=20 + i / 10) for i in range(60)])
    with pytest.raises(DataError, match="more than 50 values"):
        ask(sixty, ledger, group="income")


def test_a_group_beyond_the_models_columns(ledger, sixty):
    with_town = [promise(i, income) for i, income in enumerate(INCOMES)]
    towns = ["a", "b", "a", None, "b"]
    ledger.issue(
        [
            replace(r, factual=r.factual | {"town": t}, recourse=r.recourse | {"town": t})
            for r, t in zip(with_town, towns, strict=True)
        ]
    )
    report = ask(sixty, ledger, group="town")
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("(missing)", 1, 0), ("a", 2, 1), ("b", 2, 1)]


@pytest.mark.parametrize("careful", [False, True])
def test_a_group_that_only_its_owner_knows(ledger, sixty, careful, monkeypatch):
    ledger.issue([promise(f"00{i}", income) for i, income in enumerate(INCOMES)])
    if careful:
        monkeypatch.setattr(_read, "_quick", lambda *_: None)
    town = pd.Series(["a", "a", "b", None], index=["000", "002", "001", "003"], name="town")
    report = ask(sixty, ledger, group=town)
    assert report.group == "town"
    assert [(g.label, g.n, g.broken) for g in report.groups] == [("(missing)", 2, 0), ("a", 2, 1), ("b", 1, 1)]
    ages = {"000": "31", "001": 45, "002": "45", "003": float("nan")}
    by_age = ask(sixty, ledger, group=ages, bins=[45]).groups
    assert [(g.label, g.n, g.broken) for g in by_age] == [
        ("below 45", 1, 1),
        ("45 or more", 2, 1),
        ("(missing)", 2, 0),
    ]
    with pytest.raises(DataError, match="a column or a mapping"):
        ask(sixty, ledger, group=7)


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


def test_only_what_binds_is_asked(ledger, sixty):
    records = [promise(i, 50) for i in range(6)]
    late = promise("late", 50, valid_until=START + timedelta(days=1))
    ledger.issue([*records, late])
    ledger.supersede(records[0].id, promise(0, 70))
    ledger.fulfil(records[1].id, decision=1)
    ledger.forget("2")
    assert ask(sixty, ledger).n_live == 5
    report = gate(sixty, ledger, at=START + timedelta(days=2))
    assert (report.n_live, report.n_broken) == (4, 3)
    assert gate(sixty, ledger, at=START + timedelta(days=365)).n_live == 0
    assert gate(sixty, ledger, at=datetime(2020, 1, 1, tzinfo=UTC)).n_live == 5


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_batches_of_any_size_give_the_same(ledger, sixty, size, monkeypatch):
    rng = np.random.default_rng(1)
    ledger.issue(
        [
            promise(i, x, sex=s)
            for i, (x, s) in enumerate(zip(rng.uniform(30, 90, 23), "fm" * 11 + "f", strict=True))
        ]
    )
    seen = []
    real = _read.read

    def reading(batch, *rest, **how):
        seen.append(len(batch))
        return real(batch, *rest, **how)

    monkeypatch.setattr(_gate, "read", reading)
    told = []
    report = ask(sixty, ledger, group="sex", batch_size=size, on_promises=told.append)
    assert max(seen) <= size
    assert sum(seen) == sum(told) == 23
    whole = ask(sixty, ledger, group="sex")
    made, expected = report.to_dict(), whole.to_dict()
    wrong = (made["honour"].pop("expected_wrong"), expected["honour"].pop("expected_wrong"))
    assert wrong[0] == pytest.approx(wrong[1])  # a sum, in another order
    assert made | {"seconds": 0} == expected | {"seconds": 0}


# ---- promises that the model cannot be asked about --------------------------------------------------


def test_columns_levels_and_classes_that_do_not_fit(ledger, sixty):
    ok = promise("ok", 70)
    other = {"income": 70.0, "age": 30}  # says nothing about sex
    level = {"income": 70.0, "age": 30, "sex": "x"}
    text = {"income": "lots", "age": 30, "sex": "f"}
    ledger.issue(
        [
            ok,
            promise("column", 70, factual=other, recourse=other),
            promise("level", 70, factual=level, recourse=level),
            promise("text", 70, factual=text, recourse=text),
            promise("class", 70, target="yes"),
            promise("bool", 70, target=True),
        ]
    )
    report = ask(sixty, ledger)
    assert (report.n_live, report.n_broken, report.n_unreadable) == (6, 5, 5)
    reasons = " ".join(report.reasons)
    for words in ("says nothing about columns", "'sex'", "levels unseen", "must hold numbers", "not one of this"):
        assert words in reasons
    assert report.honour.n_beyond == 5
    assert report.honour.expected_wrong == 0
    assert "cannot be asked about" in str(report)


def test_what_a_record_has_beyond_the_model_does_not_matter(ledger):
    ledger.issue([promise(i, income) for i, income in enumerate(INCOMES)])
    fewer = Schema([SCHEMA["income"], SCHEMA["sex"]])
    report = ask(model(60, schema=fewer, table={k: TABLE[k] for k in fewer.names}), ledger)
    assert (report.n_broken, report.n_unreadable) == (2, 0)


def test_a_missing_value_is_not_an_absent_column(ledger):
    ages = Schema(
        [SCHEMA["income"], SCHEMA["sex"], Feature(name="age", kind="integer", bounds=(20, 60), missing="median")]
    )
    asked = model(60, schema=ages, table=TABLE | {"age": [20, None], "income": [0.0, 100.0]})
    unknown = {"income": 70.0, "sex": "f", "age": None}
    absent = {"income": 70.0, "sex": "f"}
    for row in (unknown, absent):
        ledger.issue(promise("x", 70, factual=row, recourse=row))
    report = ask(asked, ledger)
    assert (report.n_live, report.n_broken) == (2, 1)
    assert "says nothing" in next(iter(report.reasons))


def test_damaged_records(ledger, sixty):
    ledger.issue([promise(i, 70) for i in range(6)])
    with sqlite3.connect(ledger.place) as connection:
        for seq, text in enumerate(["{", "[]", '{"recourse": {}}', "null", "\x00" * 5, "[" * 100_000], start=1):
            connection.execute("UPDATE holdtrue_personal SET body = ? WHERE seq = ?", (text, seq))
    connection.close()
    ledger.issue(promise("whole", 70))
    report = ask(sixty, ledger)
    assert (report.n_live, report.n_broken) == (7, 6)
    assert report.reasons == {"its record is damaged": 6}


def test_quick_reading_gives_what_careful_reading_gives(monkeypatch):
    levels = Schema(
        [
            Feature(name="x", kind="numeric", bounds=(0, 1), missing="median"),
            Feature(name="n", kind="integer", bounds=(0, 9)),
            Feature(name="text", kind="categorical", levels=("a", 'é\n"', "c"), missing="level"),
            Feature(name="flag", kind="binary", levels=(False, True)),
            Feature(name="grade", kind="ordinal", levels=(1, 2, 3)),
        ]
    )
    rng = np.random.default_rng(2)

    def row():
        return {
            "x": None
            if rng.random() < 0.2
            else float(rng.choice([rng.random(), 1e-300, 0.1 + 0.2, 1, 123456789.1])),
            "n": int(rng.integers(0, 9)) if rng.random() < 0.5 else float(rng.integers(0, 9)),
            "text": [None, "a", 'é\n"', "c"][rng.integers(4)],
            "flag": bool(rng.integers(2)),
            "grade": int(rng.integers(1, 4)),
        }

    rows = [row() for _ in range(300)]
    batch = [ht.ledger.Promise("0" * 32, 1, "live", None, promise(i, 1, factual=r, recourse=r).to_json())
             for i, r in enumerate(rows)]  # fmt: skip
    assert _read._quick([p.text for p in batch], levels, np.array([0, 1]), "text", False) is not None
    quick = _read.read(batch, levels, np.array([0, 1]), "text")
    monkeypatch.setattr(_read, "_quick", lambda *_: None)
    slow = _read.read(batch, levels, np.array([0, 1]), "text")
    assert quick.reasons == slow.reasons == {}
    assert quick.target.tolist() == slow.target.tolist()
    assert quick.group.tolist() == slow.group.tolist() == [r["text"] for r in rows]
    fitted = Encoder.fit(levels, slow.table)
    np.testing.assert_array_equal(fitted.encode(quick.table), fitted.encode(slow.table))
    for name in levels.names:
        given = [r[name] for r in rows]
        read = [None if v != v else v for v in quick.table.columns[name].tolist()]
        assert read == given


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


# ---- what is given and written ----------------------------------------------------------------------


def test_errors_say_what_to_do(ledger, sixty, tmp_path):
    with pytest.raises(DataError, match=r"1% is 0\.01"):
        ask(sixty, ledger, max_broken=5)
    with pytest.raises(TypeError, match=r"holdtrue\.wrap"):
        ask(object(), ledger)
    with pytest.raises(LedgerError, match="no such file"):
        gate(sixty, tmp_path / "absent.db")
    with pytest.raises(DataError, match="cannot write the cases"):
        ask(sixty, ledger, cases=tmp_path / "absent" / "c.jsonl")
    with pytest.raises(DataError, match="time zone"):
        gate(sixty, ledger, at=datetime(2026, 1, 1))


def test_an_interrupted_gate_leaves_no_file(ledger, sixty, tmp_path):
    ledger.issue([promise(i, 50) for i in range(5)])

    def stop(_):
        raise KeyboardInterrupt

    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        ask(sixty, ledger, cases=tmp_path / "c.jsonl", batch_size=2, on_promises=stop)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_reports_name_no_person_and_run_nothing(ledger, sixty, wachter, tmp_path):
    nasty = "<script>alert(1)</script>|*x*`"
    rows = [promise("Ann Secret", 50), promise(nasty, 55)]
    ledger.issue(
        [replace(r, factual=r.factual | {"town": nasty}, recourse=r.recourse | {"town": nasty}) for r in rows]
    )
    report = ask(sixty, ledger, method=wachter, group="town", cases=tmp_path / "c.jsonl")
    for name in ("r.json", "r.md", "r.html"):
        report.write(tmp_path / name)
    written = {name: (tmp_path / name).read_text() for name in ("r.json", "r.md", "r.html")}
    for text in (*written.values(), str(report)):
        assert "Ann Secret" not in text
        assert report.cases[0]["id"] in text
    assert "<script>" not in written["r.html"]
    assert "<script>" not in written["r.md"]
    assert "\\|" in written["r.md"]
    assert "http" not in written["r.html"]
    assert written["r.html"].startswith("<!doctype html>")
    raw = json.loads(written["r.json"])
    assert (raw["format"], raw["version"], raw["n_broken"]) == ("holdtrue-gate", 1, 2)
    assert raw == report.to_dict()
    assert "Ann Secret" in (tmp_path / "c.jsonl").read_text()


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


def test_what_broke_beside_what_was_expected_to(tmp_path):
    """Three say how sure they are, one does not: .1, .3 and .5 are expected to break, one of the three does."""
    incomes, said = (40, 55, 60, 45), (0.9, 0.7, 0.5, None)
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        for i, (income, share) in enumerate(zip(incomes, said, strict=True)):
            stated = share and {"estimate": share, "lower": share - 0.2, "upper": share + 0.1}
            ledger.issue(promise(i, income, survival=stated))
        report = gate(model(50), ledger, max_broken=1, at=START)
        odd = promise("odd", 70, survival={"estimate": "sure"})  # read one by one
        ledger.issue(odd)
        again = gate(model(50), ledger, max_broken=1, at=START)
    for one in (report, again):
        e = one.expected
        assert (e.n, e.broken) == (3, 1)
        assert (e.share, e.lower, e.upper) == pytest.approx((0.3, 0.2, 0.5))
        assert e.broken_share == pytest.approx(1 / 3)
    assert (report.n_broken, report.n_live) == (2, 4)
    assert report.to_dict()["expected"]["share"] == pytest.approx(0.3)
    assert "expected to break, as they said" in str(report)
    assert "of these 3, broken" in report.to_html()


def test_without_a_word_on_it_nothing_was_expected(tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        assert gate(model(50), ledger, at=START).expected is None
        ledger.issue(promise(0, 60))
        report = gate(model(50), ledger, at=START)
    assert report.expected is None
    assert report.to_dict()["expected"] is None
    assert "expected to break" not in str(report)
