import json
from pathlib import Path

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.cli._options import read_share


@pytest.fixture(scope="module")
def place(tmp_path_factory, model, bank):
    """A ledger of twenty promises that the model keeps."""
    clf = ht.RecourseClassifier.load(model)
    plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:20])
    path = tmp_path_factory.mktemp("gate") / "promises.db"
    with ht.Ledger.create(path) as ledger:
        ledger.issue(ht.records(plan, [f"who {i}" for i in range(len(plan))], valid_for=90))
    return path


@pytest.fixture(scope="module")
def stricter(tmp_path_factory, model, bank):
    """The same weights with a higher threshold: a file in which all but one number is the old model's."""
    clf = ht.RecourseClassifier.load(model)
    clf.threshold = 0.7
    clf._assemble(clf.predictor_.encoder, clf.predictor_.decision.model, clf.predictor_.decision.favourable)
    clf.method_.predictor_ = clf.predictor_
    path = tmp_path_factory.mktemp("stricter") / "next.holdtrue"
    clf.save(path)
    return path


def test_the_same_model_passes(run, run_json, model, place):
    report = run_json("gate", model, "--ledger", place)
    assert report["ok"]
    assert report["n_broken"] == 0
    assert report["n_live"] > 10
    with ht.Ledger(place) as ledger:
        assert ledger.gates() == []
        assert "the model passes" in run("gate", model, "--ledger", place, "--write-down").stdout
        assert [event.public["live"] for event in ledger.gates()] == [report["n_live"]]
        assert ledger.verify().ok


def test_a_stricter_one_does_not(run, stricter, place, tmp_path, bank):
    outs = [tmp_path / name for name in ("g.json", "g.md", "g.html")]
    cases = tmp_path / "cases.jsonl"
    asked = ["gate", stricter, "--ledger", place, "--group", "male", "--cases", cases, "--max-broken", "1%"]
    asked += ["--labelled", "dataset:loanapp"]
    result = run(*asked, *[part for out in outs for part in ("--out", out)], code=1)
    assert "does not pass" in result.stdout
    assert "at most 1.0% may" in result.stdout
    raw = json.loads(outs[0].read_text())
    chances = [promise.record.probability_after for batch in ht.Ledger(place).live() for promise in batch]
    assert raw["n_broken"] == sum(p < 0.7 for p in chances) > 5
    assert raw["honour"]["threshold"] == pytest.approx(min(chances), abs=2e-6)
    assert sum(group["broken"] for group in raw["groups"]) == raw["n_broken"]
    assert raw["instead"]["n_searched"] == raw["n_broken"]
    clf = ht.RecourseClassifier.load(stricter)
    everyone = ht.datasets.load("loanapp")
    assert raw["honour"]["labelled"]["accuracy"] == pytest.approx(np.mean(clf.predict(everyone.X) == everyone.y))
    lines = [json.loads(line) for line in cases.read_text().splitlines()]
    assert len(lines) == raw["n_broken"]
    found = [case for case in lines if case["instead"]["status"] == "FOUND"]
    assert found
    asked_again = clf.predict(
        clf.schema_.check({n: [c["instead"]["row"][n] for c in found] for n in clf.schema_.names})
    )
    assert (asked_again == 1).all()
    assert outs[1].read_text().startswith("## Gate: the model does not pass")
    assert outs[2].read_text().startswith("<!doctype html>")


def test_groups_from_a_table_of_ones_own(run, run_json, model, place, tmp_path):
    people = tmp_path / "people.csv"
    people.write_text("key,town\n" + "".join(f"who {i},{'ab'[i % 2]}\n" for i in range(20)))
    asked = ("gate", model, "--ledger", place, "--people", people, "--subject", "key", "--group")
    report = run_json(*asked, "town")
    assert [group["label"] for group in report["groups"]] == ["a", "b"]
    assert sum(group["n"] for group in report["groups"]) == report["n_live"]
    assert "Did you mean 'town'" in run(*asked, "twon", code=2).stderr
    assert (
        "--subject" in run("gate", model, "--ledger", place, "--people", people, "--group", "town", code=2).stderr
    )


def test_interrupted_it_leaves_nothing_about_people(run, model, place, tmp_path, monkeypatch):
    def stopped(*_, cases, **__):
        ht.promises.CaseFile(cases).beside.write_text("about people")
        raise KeyboardInterrupt

    monkeypatch.setattr("holdtrue.promises.gate", stopped)
    result = run("gate", model, "--ledger", place, "--cases", tmp_path / "c.jsonl", code=130)
    assert "the ledger is as it was" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_within_the_limit(run, stricter, place):
    assert (
        "the model passes"
        in run("gate", stricter, "--ledger", place, "--max-broken", "100%", "--alternatives", 0).stdout
    )


def test_a_table_of_ones_own(run_json, model, place, table):
    report = run_json("gate", model, "--ledger", place, "--labelled", table, "--target", "approve")
    assert report["honour"]["labelled"]["n"] == 300


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--max-broken", "1"], ["--max-broken", "Write 1% or 0.01"]),
        (["--max-broken", "-1%"], ["must be a share"]),
        (["--max-broken", "many"], ["must be a share"]),
        (["--bins", "a,b", "--group", "male"], ["--bins"]),
        (["--group", "mal"], ["not a column of the records", "Did you mean 'male'"]),
        (["--labelled", "TABLE"], ["--target"]),
        (["--cases", "nowhere/c.jsonl"], ["nowhere"]),
    ],
)
def test_errors_say_what_to_do(run, model, place, table, args, words):
    result = run("gate", model, "--ledger", place, *[table if a == "TABLE" else a for a in args], code=2)
    assert result.stderr.startswith("error: ")
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("text", "share"), [("1%", 0.01), ("0.7%", 0.007), ("0.01", 0.01), ("0", 0), ("100%", 1), (" 29 %", 0.29)]
)
def test_shares_as_people_write_them(text, share):
    assert read_share(text, "--max-broken") == share


def test_damaged_and_foreign_files(run, model, place, table, tmp_path):
    cut = tmp_path / "cut.holdtrue"
    cut.write_bytes(Path(model).read_bytes()[:-100])
    assert "damaged" in run("gate", cut, "--ledger", place, code=2).stderr
    assert "not one of holdtrue's" in run("gate", table, "--ledger", place, code=2).stderr
    assert "not a SQLite database" in run("gate", model, "--ledger", table, code=2).stderr
    assert "no such file" in run("gate", model, "--ledger", tmp_path / "absent.db", code=2).stderr
