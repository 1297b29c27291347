"""What the gate refuses, what it leaves behind, and what its reports say."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

from holdtrue.errors import DataError, LedgerError
from holdtrue.promises import gate

from .world import ask, promise


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
