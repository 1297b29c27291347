"""Gates that are killed, gates beside issuers, and ledgers that are not whole."""

import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdtrue as ht
from holdtrue.errors import DataError, LedgerError
from holdtrue.promises import gate
from holdtrue.testing._ledger import START

from .world import model, promise

SCRIPT = Path(__file__).with_name("gates.py")


@contextlib.contextmanager
def gating(place: Path, rounds: dict[Path, int]) -> Iterator[dict[Path, int]]:
    """Processes that gate, each with its folder: their numbers. In the end all of them have ended."""
    command = [sys.executable, str(SCRIPT), str(place), *(str(a) for pair in rounds.items() for a in pair)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, start_new_session=True, **pipes) as parent:
        assert parent.stdout is not None
        numbers = {folder: int(parent.stdout.readline() or 0) for folder in rounds}
        try:
            assert all(numbers.values()), parent.communicate()[1]
            yield numbers
        finally:
            if parent.poll() is None:
                os.killpg(parent.pid, signal.SIGKILL)


def wait_for(folder: Path, word: str) -> list[str]:
    """What a process has said up to a word."""
    said, error = folder / "said", folder / "error"
    while not (said.exists() and word in said.read_text().split("\n")):
        assert not error.exists(), error.read_text()
        time.sleep(0.01)
    return said.read_text().splitlines()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_while_gating(tmp_path):
    place = tmp_path / "l.db"
    with ht.Ledger.create(place) as ledger:
        ledger.issue([promise(i, 40 + i % 50) for i in range(300)])
        head = ledger.head()
    before = hashlib.sha256(place.read_bytes()).hexdigest()
    rng = random.Random(20261115)
    folders = [tmp_path / str(number) for number in range(3)]
    for folder in folders:
        folder.mkdir()
    with gating(place, dict.fromkeys(folders, 0)) as numbers:
        for folder in folders:
            wait_for(folder, "ready")
        for folder in folders:
            time.sleep(rng.uniform(0.05, 1.0))
            os.kill(numbers[folder], signal.SIGKILL)
    assert hashlib.sha256(place.read_bytes()).hexdigest() == before
    for folder in folders:
        assert not (folder / "error").exists()
        for file in folder.glob("cases-*.jsonl"):  # one that is there is whole
            assert len(file.read_text().splitlines()) == 120
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["l.db"]
    with ht.Ledger(place) as ledger:
        assert ledger.verify(head).ok
        assert gate(model(60), ledger, at=START).n_broken == 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_two_gates_and_four_issuers_at_once(tmp_path):
    place = tmp_path / "l.db"
    with ht.Ledger.create(place) as ledger:
        ledger.issue([promise(i, 50) for i in range(50)])
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()

    def issuing(number: int) -> None:
        with ht.Ledger(place) as own:
            for i in range(25):
                own.issue([promise(f"{number}-{i}-{k}", income) for k, income in enumerate((50, 70))])

    issuers = [threading.Thread(target=issuing, args=(number,)) for number in range(4)]
    seen = []
    with gating(place, dict.fromkeys(folders, 12)):
        for folder in folders:
            wait_for(folder, "ready")
        for issuer in issuers:
            issuer.start()
        for folder in folders:
            seen += [tuple(map(int, line.split())) for line in wait_for(folder, "done")[1:-1]]
        for issuer in issuers:
            issuer.join()
    assert len(seen) == 24
    # Every event issues a promise. Each issuer's pair is one transaction, so that the gate sees both or neither.
    for n_live, n_broken, seq in seen:
        assert n_live == seq
        assert n_broken == 50 + (seq - 50) // 2
    with ht.Ledger(place) as ledger:
        assert ledger.verify().ok
        reports = [gate(model(60), ledger, at=START) for _ in range(2)]
    assert {(r.n_live, r.n_broken) for r in reports} == {(250, 150)}


def test_promises_that_end_while_gating(tmp_path):
    """A promise that is met counts; one that was forgotten before it was met does not."""
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue([promise(i, 50) for i in range(6)])

        def meanwhile(_: int) -> None:
            if ledger.counts()["forgotten"] == 0:
                ledger.forget("5")
                ledger.issue(promise("new", 50))

        report = gate(model(60), ledger, at=START, batch_size=2, on_promises=meanwhile)
        assert (report.n_live, report.n_broken, report.ledger["seq"]) == (5, 5, 6)


def test_damaged_truncated_and_foreign_ledgers(tmp_path):
    place = tmp_path / "l.db"
    with ht.Ledger.create(place) as ledger:
        ledger.issue([promise(i, 50) for i in range(200)])
    content = bytearray(place.read_bytes())
    cut = tmp_path / "cut.db"
    cut.write_bytes(content[: len(content) // 2])
    content[8192:-4096] = os.urandom(len(content) - 8192 - 4096)
    (tmp_path / "torn.db").write_bytes(content)
    (tmp_path / "table.csv").write_text("income,age\n1,2\n" * 500)
    for name in ("cut.db", "torn.db", "table.csv"):
        with pytest.raises(LedgerError):
            gate(model(60), tmp_path / name, at=START)


def test_a_server_is_gated_too(postgres):
    with ht.Ledger.create(postgres) as ledger:
        ledger.issue([promise(i, income) for i, income in enumerate((50, 55, 60, 70, 80))])
        report = gate(model(60), ledger, at=START, batch_size=2)
        assert (report.n_live, report.n_broken) == (5, 2)


def test_the_server_restarts_while_gating(server, postgres):
    with ht.Ledger.create(postgres) as ledger:
        ledger.issue([promise(i, 50 + i) for i in range(30)])
        restarted = []

        def restart(_: int) -> None:
            if not restarted:
                restarted.append(True)
                server.stop()
                server.start()

        report = gate(model(60), ledger, at=START, batch_size=4, on_promises=restart)
        assert restarted
        assert (report.n_live, report.n_broken) == (30, 10)


def test_a_ledger_that_may_only_be_read(tmp_path):
    path = tmp_path / "l.db"
    with ht.Ledger.create(path) as ledger:
        ledger.issue([promise(i, 50) for i in range(3)])
    assert gate(model(60), f"sqlite:///file:{path}?mode=ro&uri=true", at=START).n_broken == 3


def test_a_full_disk_leaves_no_half_written_cases(tmp_path, monkeypatch):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue([promise(i, 50) for i in range(3)])

        def full(*_: object, **__: object) -> str:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("holdtrue.promises._cases.json.dumps", full)
        with pytest.raises(DataError, match="No space left"):
            gate(model(60), ledger, at=START, cases=tmp_path / "c.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["l.db"]
