"""Which promises the gate asks about, and those that its model cannot be asked about."""

import sqlite3
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.encoding import Encoder
from holdtrue.promises import _gate, _read, gate
from holdtrue.schema import Feature, Schema
from holdtrue.testing._ledger import START

from .world import INCOMES, SCHEMA, TABLE, ask, model, promise


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
