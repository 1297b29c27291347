import json
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest

from holdtrue.ledger import Ledger, write_records
from holdtrue.testing._ledger import promise_to


@pytest.fixture
def place(tmp_path, run):
    path = tmp_path / "promises.db"
    assert "is a ledger with 0 events" in run("ledger", "init", "--ledger", path).stdout
    return path


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "records.jsonl"
    soon = datetime.now(UTC) + timedelta(days=30)
    records = [promise_to(f"person {i}", valid_until=soon) for i in range(4)]
    write_records([*records, promise_to("[red]late[/red]")], path)  # whose promise ran out long ago
    return path


def test_the_life_of_promises(place, file, run, run_json):
    assert run_json("ledger", "issue", file, "--ledger", place) == {
        "new": 5, "repeated": 0, "forgotten": 0, "refused": 0,
    }  # fmt: skip

    assert "0 issued, 5 were there already" in run("ledger", "issue", file, "--ledger", place).stdout
    assert run_json("ledger", "expire", "--ledger", place) == {"expired": 1}
    shown = run_json("ledger", "show", "--ledger", place)
    assert shown["counts"]["live"] == 4
    head = shown["head"]["hash"]
    assert head in run("ledger", "verify", "--ledger", place).stdout
    assert run_json("ledger", "forget", "person 0", "--yes", "--ledger", place) == {"erased": 1}
    assert run_json("ledger", "show", "person 0", "--ledger", place) == []
    assert "Nothing is kept" in run("ledger", "show", "person 0", "--ledger", place).stdout
    assert "Nothing was kept" in run("ledger", "forget", "person 0", "--yes", "--ledger", place).stdout
    assert run_json("ledger", "verify", "--ledger", place, "--head", head)["ok"] is True
    assert "1 left out" in run("ledger", "issue", file, "--ledger", place).stdout


def test_history_in_words_is_not_markup(place, file, run, run_json):
    run("ledger", "issue", file, "--ledger", place)
    events = run_json("ledger", "show", "[red]late[/red]", "--ledger", place)
    assert [event["body"]["subject"] for event in events] == ["[red]late[/red]"]
    with Ledger(place) as ledger:
        ledger.fulfil(events[0]["promise"], decision=0, note="[red]not so[/red]")
    text = run("ledger", "show", "[red]late[/red]", "--ledger", place).stdout
    assert "Raise income" in text
    assert "fulfil" in text
    assert "[red]not" in text


def test_what_steers_a_terminal_is_shown_and_not_obeyed(place, run):
    with Ledger(place) as ledger:
        ledger.issue(promise_to("a", changes="Raise \x1b[2J\u009b31m income \u202eback."))
    for text in (
        run("ledger", "show", "a", "--ledger", place),
        run("ledger", "show", "a", "--ledger", place, "--json"),
    ):
        assert not set(text.stdout) & set("\x1b\u009b\u202e")
        assert "income" in text.stdout


def test_forgetting_asks_first(place, file, run, run_json):
    run("ledger", "issue", file, "--ledger", place)
    asked = run("ledger", "forget", "person 1", "--ledger", place, code=130, stdin="n\n")
    assert "1 events" in asked.stderr
    assert len(run_json("ledger", "show", "person 1", "--ledger", place)) == 1
    run("ledger", "forget", "person 1", "--ledger", place, stdin="y\n")
    assert run_json("ledger", "show", "person 1", "--ledger", place) == []


def test_a_broken_chain_is_exit_code_1(place, file, run):
    run("ledger", "issue", file, "--ledger", place)
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE holdtrue_personal SET body = replace(body, '35500', '31500') WHERE seq = 3")
    connection.close()
    assert "broken at event 3" in run("ledger", "verify", "--ledger", place, code=1).stdout
    assert json.loads(run("ledger", "verify", "--ledger", place, "--json", code=1).stdout)["seq"] == 3


def test_the_place_may_be_set_once(place, run, monkeypatch):
    monkeypatch.setenv("HOLDTRUE_LEDGER", str(place))
    assert "live" in run("ledger", "show").stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["show"], ["--ledger", "HOLDTRUE_LEDGER"]),
        (["show", "--ledger", "absent.db"], ["no such file", "holdtrue ledger init"]),
        (["show", "--ledger", "mysql://me:hunter2@h/d"], ["'mysql'"]),
        (["issue", "absent.jsonl", "--ledger", "PLACE"], ["cannot be read", "absent.jsonl"]),
        (["forget", "a\nb", "--yes", "--ledger", "PLACE"], ["subject", "control characters"]),
    ],
)
def test_errors_say_what_to_do(place, run, args, words):
    result = run("ledger", *[str(place) if a == "PLACE" else a for a in args], code=2)
    assert result.stderr.startswith("error: ")
    assert "hunter2" not in result.stderr
    for word in words:
        assert word in result.stderr


def test_a_damaged_line_is_named_and_what_came_before_its_batch_is_kept(place, file, run, run_json):
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:2], lines[2][:50], *lines[3:]]))
    assert "line 3 of" in run("ledger", "issue", file, "--ledger", place, code=2).stderr
    assert run_json("ledger", "show", "--ledger", place)["counts"]["live"] == 0
