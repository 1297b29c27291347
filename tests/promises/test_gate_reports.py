"""What the gate refuses, what it leaves behind, and what its reports say."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

import holdtrue as ht
from holdtrue.errors import DataError, LedgerError
from holdtrue.promises import gate

from .world import START, ask, model, promise


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
