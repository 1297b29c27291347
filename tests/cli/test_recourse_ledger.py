"""Recourse that is issued as it is found, and the letters that tell of it."""

import json
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.runs import _parts
from holdtrue.runs import _work as _rows


@pytest.fixture
def ledger(tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        yield ledger


def asked(model, parquet, ledger, tmp_path, *more):
    out = tmp_path / "out.parquet"
    return (
        "recourse",
        model,
        parquet,
        "--out",
        out,
        "--chunk-rows",
        50,
        "--ledger",
        ledger.place,
        "--subject",
        "who",
        *more,
    )


def live(ledger):
    return [promise.record for batch in ledger.live() for promise in batch]


def test_recourse_is_issued(run_json, model, parquet, ledger, tmp_path):
    command = asked(model, parquet, ledger, tmp_path, "--valid-for", 30, "--model-version", "v7")
    summary = run_json(*command)
    answers = pd.read_parquet(tmp_path / "out.parquet").set_index("who")
    found = answers[answers["holdtrue_status"].isin(["FOUND", "OPTIMAL"])]
    records = {record.subject: record for record in live(ledger)}
    assert set(records) == set(found.index)
    assert len(live(ledger)) == summary["promises"] == len(found)
    for who, record in records.items():
        assert record.changes == found.loc[who, "holdtrue_changes"]
        assert record.model["version"] == "v7"
        assert record.valid_until - record.issued == timedelta(days=30)
    assert ledger.verify().ok
    assert run_json("gate", model, "--ledger", ledger.place)["n_broken"] == 0


@pytest.mark.parametrize("moment", ["search", "issue", "after"])
def test_an_interrupted_run_promises_once(run, model, parquet, ledger, tmp_path, monkeypatch, moment):
    calls = []

    def stopping(real, last):
        def call(self, *args, **rest):
            calls.append(1)
            if len(calls) == 3 and not last:
                raise KeyboardInterrupt
            answer = real(self, *args, **rest)
            if len(calls) == 3:  # after the records are in the ledger, before this is noted
                raise KeyboardInterrupt
            return answer

        return call

    with monkeypatch.context() as patch:
        if moment == "search":
            patch.setattr(_rows.Work, "run", stopping(_rows.Work.run, False))
        elif moment == "issue":
            patch.setattr(_parts.Parts, "issue", stopping(_parts.Parts.issue, False))
        else:
            patch.setattr(ht.Ledger, "issue", stopping(ht.Ledger.issue, True))
        run(*asked(model, parquet, ledger, tmp_path), code=130)
    held = ledger.counts()["live"]
    assert held > 0
    changed = run(*asked(model, parquet, ledger, tmp_path, "--resume", "--valid-for", 3), code=2)
    assert "differs in its promises" in changed.stderr
    run(*asked(model, parquet, ledger, tmp_path, "--resume"))
    subjects = [record.subject for record in live(ledger)]
    assert len(subjects) == len(set(subjects)) > held
    assert not (tmp_path / "out.parquet.parts").exists()
    answers = pd.read_parquet(tmp_path / "out.parquet").set_index("who")
    assert set(subjects) == set(answers.index[answers["holdtrue_status"].isin(["FOUND", "OPTIMAL"])])
    told = {record.subject: record.changes for record in live(ledger)}
    assert all(answers.loc[who, "holdtrue_changes"] == words for who, words in told.items())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--ledger", "PLACE", "--out", "o.csv"], ["--subject"]),
        (["--subject", "who", "--out", "o.csv"], ["no --ledger"]),
        (["--ledger", "PLACE", "--subject", "who"], ["--out FILE"]),
        (["--ledger", "PLACE", "--subject", "whom", "--out", "o.csv"], ["no such column", "Did you mean 'who'"]),
        (["--ledger", "absent.db", "--subject", "who", "--out", "o.csv"], ["no such file"]),
    ],
)
def test_promises_need_a_place_a_key_and_a_file(run, model, parquet, ledger, tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    text = run("recourse", model, parquet, *[ledger.place if m == "PLACE" else m for m in more], code=2).stderr
    for word in words:
        assert word in text
    assert ledger.counts()["live"] == 0


def test_a_key_is_needed_for_everyone(run, model, bank, ledger, tmp_path):
    place = tmp_path / "people.csv"
    bank.X[:40].assign(who=[""] + [str(i) for i in range(39)]).to_csv(place, index=False)
    text = run(*asked(model, place, ledger, tmp_path), code=2).stderr
    assert "no key in some rows; got rows [0]" in text
    assert ledger.counts()["live"] == 0


def test_letters(run, model, parquet, ledger, tmp_path):
    run(*asked(model, parquet, ledger, tmp_path, "--options", 3, "--valid-for", 30))
    records = live(ledger)
    by_person = {}
    for record in records:
        by_person.setdefault(record.subject, []).append(record)
    someone = max(by_person.values(), key=len)
    assert len(someone) >= 2
    text = run("letter", someone[0].id, "--ledger", ledger.place).stdout
    for record in someone[:3]:
        assert record.changes in text
    until = datetime.now(UTC) + timedelta(days=30)
    assert f"{until:%B %Y}" in text
    file = tmp_path / "records.jsonl"
    ht.ledger.write_records(someone, file)
    assert run("letter", file).stdout == text
    raw = json.loads(run("letter", file, "--json").stdout)
    assert raw["text"] == text
    assert raw["options"] == list(dict.fromkeys(record.changes for record in someone))[:3]
    page = tmp_path / "letter.html"
    run("letter", file, "--html", "--out", page)
    assert page.read_text().startswith("<!doctype html>")
    own = tmp_path / "own.txt"
    own.write_text("{{ options | length }} ways")
    assert run("letter", file, "--template", own).stdout == f"{min(len(someone), 3)} ways"
    ht.ledger.write_records(records, file)
    assert "Pick one with --subject" in run("letter", file, code=2).stderr
    assert run("letter", file, "--subject", someone[0].subject).stdout == text
    assert "nobody" in run("letter", file, "--subject", "nobody at all", code=2).stderr
    schema = tmp_path / "schema.yaml"
    clf = ht.RecourseClassifier.load(model)
    moved = next(n for n in someone[0].factual if someone[0].factual[n] != someone[0].recourse[n])
    clf.schema_.save(schema)
    assert run("letter", file, "--subject", someone[0].subject, "--schema", schema).stdout == text
    clf.schema_.replace(**{moved: {"direction": "fixed"}}).save(schema)
    refused = run("letter", file, "--subject", someone[0].subject, "--schema", schema, code=2).stderr
    assert f"cannot be asked of this person; got {moved!r}" in refused
    ledger.fulfil(someone[0].id, decision=1)
    assert "which is fulfilled" in run("letter", someone[0].id, "--ledger", ledger.place, code=2).stderr
    assert "no such promise" in run("letter", "0" * 32, "--ledger", ledger.place, code=2).stderr
    assert "no such file" in run("letter", tmp_path / "absent.json", code=2).stderr
    hostile = tmp_path / "bad.txt"
    hostile.write_text("{{ ''.__class__.__mro__ }}")
    assert (
        "template cannot be used"
        in run("letter", file, "--subject", someone[1].subject, "--template", hostile, code=2).stderr
    )
