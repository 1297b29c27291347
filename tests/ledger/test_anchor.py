"""The end of a chain kept outside: what `verify` alone cannot see, it sees by an anchor."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from holdtrue.cli import cli
from holdtrue.errors import DataError, HoldtrueError, LedgerError
from holdtrue.ledger import Anchor, Ledger
from holdtrue.testing._ledger import promise_to

KEY = b"0123456789abcdef0123456789abcdef"


def cut(path: Path, last: int) -> None:
    """Leave events up to one, as if no others had ever been."""
    with sqlite3.connect(path) as db:
        for table in ("personal", "promises", "events"):
            db.execute(f"DELETE FROM holdtrue_{table} WHERE seq > ?", (last,))
        db.execute(
            "UPDATE holdtrue_head SET seq = ?, hash = (SELECT hash FROM holdtrue_events WHERE seq = ?)",
            (last,) * 2,
        )
    db.close()


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue([promise_to(f"person {i}") for i in range(6)])
        yield ledger


@pytest.mark.parametrize("key", [None, KEY])
def test_a_tail_that_was_cut_off(ledger: Ledger, tmp_path: Path, key: bytes | None) -> None:
    ledger.anchor(key).save(tmp_path / "anchor.json")
    anchor = Anchor.load(tmp_path / "anchor.json")
    ledger.issue(promise_to("later"))
    assert ledger.verify(anchor, key=key).ok
    ledger.close()
    cut(tmp_path / "l.db", 4)
    with Ledger(tmp_path / "l.db") as shorter:
        assert shorter.verify().ok  # which is why an anchor is kept
        found = shorter.verify(anchor, key=key)
        assert not found.ok
        assert "cut off or replaced" in str(found.reason)
        shorter.issue([promise_to(f"another {i}") for i in range(9)])  # grown again beyond where it was
        assert not shorter.verify(anchor, key=key).ok


def test_signatures(ledger: Ledger) -> None:
    signed = ledger.anchor(KEY)
    for wrong in (
        replace(signed, seq=3),
        replace(signed, hash="0" * 64),
        replace(signed, at="2020-01-01T00:00:00.000000Z"),
        replace(signed, signature="0" * 64),
        ledger.anchor(b"another key of sixteen bytes"),
    ):
        with pytest.raises(LedgerError, match="not of this key"):
            ledger.verify(wrong, key=KEY)
    with pytest.raises(LedgerError, match="no key was given"):
        ledger.verify(signed)
    with pytest.raises(LedgerError, match="is not signed"):
        ledger.verify(ledger.anchor(), key=KEY)
    with pytest.raises(DataError, match="at least 16 bytes"):
        ledger.anchor(b"short")
    with pytest.raises(DataError, match="for an anchor"):
        ledger.verify(signed.head, key=KEY)


def test_files_that_are_none(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "anchor.json"
    ledger.anchor(KEY).save(path)
    right = path.read_bytes()
    said = json.loads(right)
    texts = [right[:n] for n in range(0, len(right) - 2, 7)] + [right + b"}", b"\xff\xfe", b"[]", b" " * 20_000]
    texts += [
        json.dumps({k: v for k, v in said.items() if k != gone}).encode() for gone in said if gone != "signature"
    ]
    texts += [json.dumps(said | {"seq": wrong}).encode() for wrong in (True, "6", None, 1.5, 10**30)]
    texts += [json.dumps(said | {"signature": wrong}).encode() for wrong in (7, "ä", [])]
    for text in texts:
        path.write_bytes(text)
        with pytest.raises(HoldtrueError):
            Anchor.load(path)


def test_from_the_command_line(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY + b"\n")
    place = ["--ledger", str(tmp_path / "l.db"), "--key", str(tmp_path / "key")]
    run = CliRunner().invoke
    made = run(cli, ["ledger", "anchor", "--out", str(tmp_path / "a.json"), *place])
    assert made.exit_code == 0, made.output
    command = ["ledger", "verify", "--anchor", str(tmp_path / "a.json")]
    assert run(cli, [*command, *place]).exit_code == 0
    ledger.close()
    cut(tmp_path / "l.db", 2)
    assert run(cli, [*command, *place]).exit_code == 1
    assert run(cli, [*command, *place, "--head", "0"]).exit_code == 2
