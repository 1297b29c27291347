"""Processes that are killed, many that write at once, servers that restart, disks that are full."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from holdtrue.errors import LedgerError
from holdtrue.ledger import Ledger, write_records
from holdtrue.ledger._database import url_of
from holdtrue.testing._ledger import START, promise_to

SCRIPT = Path(__file__).with_name("issuers.py")


def issuers(task: str, place: str, records: list, n: int, folder: Path) -> list[str]:
    """Run the script; return the ids that it was told are kept."""
    file, acks = folder / "records.jsonl", folder / "acks"
    write_records(records, file)
    command = [sys.executable, str(SCRIPT), task, place, str(file), str(n), str(acks)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return acks.read_text().split()


def kept(ledger: Ledger) -> list[str]:
    return [promise.id for batch in ledger.live(START) for promise in batch]


def test_killed_while_issuing(place: str, tmp_path: Path) -> None:
    records = [promise_to(f"person {i}") for i in range(2000)]
    Ledger.create(place).close()
    acknowledged = issuers("kill", place, records, 20, tmp_path)
    with Ledger(place) as ledger:
        there = kept(ledger)
        assert 0 < len(there) < len(records), "too fast or too slow to be killed at work"
        assert len(there) == len(set(there)), "doubled"
        assert set(acknowledged) <= set(there), "lost"
        assert ledger.verify().n_events == len(there)
        assert ledger.verify().ok
        outcome = ledger.issue(records)
        assert (outcome.new, outcome.repeated) == (len(records) - len(there), len(there))
        assert ledger.counts()["live"] == len(records)
        assert ledger.verify().ok


def test_ten_processes_at_once(place: str, tmp_path: Path) -> None:
    records = [promise_to(f"person {i}") for i in range(30)]
    Ledger.create(place).close()
    acknowledged = issuers("many", place, records, 10, tmp_path)
    assert len(acknowledged) == 300
    with Ledger(place) as ledger:
        assert sorted(kept(ledger)) == sorted(record.id for record in records)
        assert ledger.verify().n_events == 30
        assert ledger.verify().ok


def test_the_server_restarts_while_issuing(server, postgres: str) -> None:
    records = [promise_to(f"person {i}") for i in range(150)]
    asked, down = threading.Event(), threading.Event()

    def stream():
        for i, record in enumerate(records):
            if i == 50:
                asked.set()
                assert down.wait(120)  # the next write meets no server
            if i == 100:
                asked.set()  # stopped while writing, at whatever moment that is
            yield record

    with Ledger.create(postgres) as ledger:
        worker = threading.Thread(target=ledger.issue, args=(stream(),), kwargs={"batch_size": 1})
        worker.start()
        for _ in range(2):
            assert asked.wait(120)
            asked.clear()
            server.stop()
            down.set()
            time.sleep(0.2)
            server.start()
        worker.join()
        assert sorted(kept(ledger)) == sorted(record.id for record in records)
        assert ledger.verify().n_events == 150
        assert ledger.verify().ok


def test_a_commit_whose_answer_is_lost_takes_effect_once(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.create(place) as ledger:
        record = promise_to("a")
        ledger.issue(record)
        run, lost = ledger._database.run, []

        def losing(work, *, write=False):
            answer = run(work, write=write)
            if write and not lost:
                lost.append(True)
                return run(work, write=write)  # what `run` does after a broken connection
            return answer

        monkeypatch.setattr(ledger._database, "run", losing)
        assert ledger.fulfil(record.id, decision=1) is True
        assert lost
        assert ledger.verify().n_events == 2


def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    place = str(tmp_path / "l.db")
    Ledger.create(place).close()
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    with Ledger.__new__(Ledger) as impatient:
        from holdtrue.ledger._database import Database

        impatient._database = Database(place, 0.2)
        began = time.monotonic()
        with pytest.raises(LedgerError, match="stayed locked"):
            impatient.issue(promise_to("a"))
        assert time.monotonic() - began < 5
        release = threading.Timer(0.3, other.execute, ["COMMIT"])
        release.start()
        impatient._database = Database(place, 20)
        assert impatient.issue(promise_to("a")).new == 1
        release.join()
    other.close()


def test_disk_full(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue(promise_to("a"))

        def limit(connection, _):
            connection.execute("PRAGMA max_page_count=40")

        sa.event.listen(ledger._database.engine, "connect", limit)
        with pytest.raises(LedgerError, match="disk is full") as caught:
            ledger.issue([promise_to(f"person {i}") for i in range(500)])
        assert "free space" in str(caught.value)
        sa.event.remove(ledger._database.engine, "connect", limit)
        assert ledger.counts()["live"] == 1
        assert ledger.verify().ok
        assert ledger.issue([promise_to(f"person {i}") for i in range(500)]).new == 500


def test_read_only_file(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.create(path) as ledger:
        ledger.issue(promise_to("a"))
    # A mode=ro connection, since rights do not bind root.
    with Ledger(f"sqlite:///file:{path}?mode=ro&uri=true") as ledger:
        assert ledger.verify().ok
        assert len(kept(ledger)) == 1
        with pytest.raises(LedgerError, match="read-only"):
            ledger.issue(promise_to("b"))


def test_read_only_server(postgres: str) -> None:
    Ledger.create(postgres).close()
    with Ledger(f"{postgres}&options=-cdefault_transaction_read_only%3Don") as ledger:
        assert ledger.verify().ok
        with pytest.raises(LedgerError, match="read-only"):
            ledger.issue(promise_to("b"))


@pytest.mark.parametrize("content", [b"PK\x03\x04 not a database at all" * 200, b"name,income\nann,3\n" * 500])
def test_foreign_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "loans.csv"
    path.write_bytes(content)
    for opening in (Ledger, Ledger.create):
        with pytest.raises(LedgerError, match="not a SQLite database"):
            opening(path)
    assert path.read_bytes() == content


def test_a_damaged_name_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "promises.db"
    Ledger.create(path).close()
    content = path.read_bytes()
    assert b"CREATE TABLE" in content
    path.write_bytes(content.replace(b"CREATE TABLE", b"CREATE \xce\xffBLE", 1))
    with pytest.raises(LedgerError, match="damaged"):
        Ledger(path)


def test_somebody_elses_database(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as theirs:
        theirs.execute("CREATE TABLE customers (name)")
    theirs.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="holds no ledger"):
        Ledger(path)
    with pytest.raises(LedgerError, match="something else"):
        Ledger.create(path)
    assert path.read_bytes() == before


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.create(path) as ledger:
        ledger.issue([promise_to(f"person {i}") for i in range(200)])
    content = bytearray(path.read_bytes())
    content[8192 : len(content) - 4096] = os.urandom(len(content) - 4096 - 8192)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"damaged|malformed|not a ledger"), Ledger(path) as ledger:
        ledger.verify()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("mysql://me@host/db", "not known; got 'mysql'"),
        ("sqlite://", "in memory"),
        ("postgresql://me:hunter2@host:port/db", "cannot be read"),
    ],
)
def test_places_that_are_none(place: str, words: str) -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger(place)
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="no such file"):
        Ledger(tmp_path / "absent" / "l.db")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.create(tmp_path / "absent" / "l.db")


def test_no_server_is_said_at_once_and_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'holdtrue[postgres]'")
    began = time.monotonic()
    with pytest.raises(LedgerError, match="cannot be reached") as caught:
        Ledger(f"postgresql://me:hunter2@/db?host={tmp_path}")
    assert "hunter2" not in str(caught.value)
    assert time.monotonic() - began < 10


def test_no_such_database(server) -> None:
    with pytest.raises(LedgerError, match="no such database"):
        Ledger(server.url("absent"))


def test_nobodys_words_remain_in_the_file(tmp_path: Path) -> None:
    """Deleted values are overwritten in a SQLite file, not only marked as free."""
    path = tmp_path / "l.db"
    with Ledger.create(path) as ledger:
        ledger.issue([promise_to("Ann Secret", changes="Ann Secret " * 900), promise_to("other")])
        assert b"Ann Secret" in path.read_bytes()
        ledger.forget("Ann Secret")
        assert b"Ann Secret" not in path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["l.db"]


def test_urls() -> None:
    assert url_of("a/b.db").database == "a/b.db"
    assert url_of("postgresql://me@host/db").drivername == "postgresql+psycopg"
    assert url_of("postgres://me@host/db").drivername == "postgresql+psycopg"


def test_patience_is_as_long_as_it_says_and_the_file_its_owners(tmp_path: Path) -> None:
    place = tmp_path / "l.db"
    Ledger.create(place).close()
    assert place.stat().st_mode & 0o077 == 0
    with Ledger(place, patience=1.5) as ledger, sqlite3.connect(place, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        with pytest.raises(LedgerError, match="stayed locked"):
            ledger.head()
        assert 1.0 < time.monotonic() - began < 2.9
