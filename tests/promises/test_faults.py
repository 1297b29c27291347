"""Gates that are killed, gates beside issuers, and ledgers that are not whole."""

import hashlib
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import holdfast as hf
from holdfast.errors import DataError, LedgerError
from holdfast.promises import gate
from holdfast.testing._ledger import START

from .world import model, promise

SCRIPT = Path(__file__).with_name("gates.py")


def start(*args: object) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready", process.communicate()[1]
    return process


def test_killed_while_gating(tmp_path):
    place = tmp_path / "l.db"
    with hf.Ledger.create(place) as ledger:
        ledger.issue([promise(i, 40 + i % 50) for i in range(300)])
        head = ledger.head()
    before = hashlib.sha256(place.read_bytes()).hexdigest()
    rng = random.Random(20261115)
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        process = start(place, folder)
        time.sleep(rng.uniform(0.05, 1.5))
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            stream.close()
        assert hashlib.sha256(place.read_bytes()).hexdigest() == before
        for file in folder.glob("cases-*.jsonl"):  # one that is there is whole
            assert len(file.read_text().splitlines()) == 120
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["l.db"]
    with hf.Ledger(place) as ledger:
        assert ledger.verify(head).ok
        assert gate(model(60), ledger, at=START).n_broken == 120


def test_two_gates_and_four_issuers_at_once(tmp_path):
    place = tmp_path / "l.db"
    with hf.Ledger.create(place) as ledger:
        ledger.issue([promise(i, 50) for i in range(50)])
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    gates = [start(place, folder, 12) for folder in folders]

    def issuing(number: int) -> None:
        with hf.Ledger(place) as own:
            for i in range(25):
                own.issue([promise(f"{number}-{i}-{k}", income) for k, income in enumerate((50, 70))])

    issuers = [threading.Thread(target=issuing, args=(number,)) for number in range(4)]
    for issuer in issuers:
        issuer.start()
    seen = []
    for process in gates:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error
        seen += [tuple(map(int, line.split())) for line in out.splitlines()]
    for issuer in issuers:
        issuer.join()
    assert len(seen) == 24
    # Every event issues a promise. Each issuer's pair is one transaction, so that the gate sees both or neither.
    for n_live, n_broken, seq in seen:
        assert n_live == seq
        assert n_broken == 50 + (seq - 50) // 2
    with hf.Ledger(place) as ledger:
        assert ledger.verify().ok
        reports = [gate(model(60), ledger, at=START) for _ in range(2)]
    assert {(r.n_live, r.n_broken) for r in reports} == {(250, 150)}


def test_promises_that_end_while_gating(tmp_path):
    """A promise that is met counts; one that was forgotten before it was met does not."""
    with hf.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue([promise(i, 50) for i in range(6)])

        def meanwhile(_: int) -> None:
            if ledger.counts()["forgotten"] == 0:
                ledger.forget("5")
                ledger.issue(promise("new", 50))

        report = gate(model(60), ledger, at=START, batch_size=2, on_promises=meanwhile)
        assert (report.n_live, report.n_broken, report.ledger["seq"]) == (5, 5, 6)


def test_damaged_truncated_and_foreign_ledgers(tmp_path):
    place = tmp_path / "l.db"
    with hf.Ledger.create(place) as ledger:
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
    with hf.Ledger.create(postgres) as ledger:
        ledger.issue([promise(i, income) for i, income in enumerate((50, 55, 60, 70, 80))])
        report = gate(model(60), ledger, at=START, batch_size=2)
        assert (report.n_live, report.n_broken) == (5, 2)


def test_the_server_restarts_while_gating(server, postgres):
    with hf.Ledger.create(postgres) as ledger:
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
    with hf.Ledger.create(path) as ledger:
        ledger.issue([promise(i, 50) for i in range(3)])
    assert gate(model(60), f"sqlite:///file:{path}?mode=ro&uri=true", at=START).n_broken == 3


def test_a_full_disk_leaves_no_half_written_cases(tmp_path, monkeypatch):
    with hf.Ledger.create(tmp_path / "l.db") as ledger:
        ledger.issue([promise(i, 50) for i in range(3)])

        def full(*_: object, **__: object) -> str:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("holdfast.promises._cases.json.dumps", full)
        with pytest.raises(DataError, match="No space left"):
            gate(model(60), ledger, at=START, cases=tmp_path / "c.jsonl")
    assert [p.name for p in tmp_path.iterdir()] == ["l.db"]
