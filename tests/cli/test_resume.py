import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from holdtrue.runs import _work as _rows

CHUNK = ("--chunk-rows", 50)
WHILE = 300  # seconds: a process that takes longer has hung


@pytest.fixture
def break_after(monkeypatch):
    """Make the run stop in the middle, as Ctrl-C or a full disk would."""

    def install(n, error):
        done = []
        real = _rows.Work.run

        def run(self, chunk):
            if len(done) == n:
                raise error
            done.append(chunk.first_row)
            return real(self, chunk)

        monkeypatch.setattr(_rows.Work, "run", run)
        return done

    return install


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(
    run, tmp_path, model, parquet, monkeypatch, break_after, ending
):
    whole, out = tmp_path / f"whole.{ending}", tmp_path / f"out.{ending}"
    run("recourse", model, parquet, "--out", whole, *CHUNK)
    with monkeypatch.context():
        break_after(3, KeyboardInterrupt())
        result = run("recourse", model, parquet, "--out", out, *CHUNK, code=130)
        monkeypatch.undo()
    assert "150 rows are finished and kept in" in result.stderr
    assert "--resume" in result.stderr
    assert not out.exists()
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
    searched = break_after(99, None)
    summary = json.loads(run("recourse", model, parquet, "--out", out, *CHUNK, "--resume", "--json").stdout)
    assert searched == [150, 200, 250]
    assert summary["rows"] == 300
    assert out.read_bytes() == whole.read_bytes()
    assert not (tmp_path / f"out.{ending}.parts").exists()


def test_nothing_is_overwritten_and_nothing_is_mixed(
    run, tmp_path, model, parquet, bank, break_after, monkeypatch
):
    out = tmp_path / "out.csv"
    break_after(2, OSError(28, "No space left on device"))
    result = run("recourse", model, parquet, "--out", out, *CHUNK, code=2)
    assert "No space left on device" in result.stderr
    assert "100 rows are finished" in result.stderr
    monkeypatch.undo()
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
    folder = tmp_path / "out.csv.parts"
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    refused = run("recourse", model, parquet, "--out", out, *CHUNK, code=2)
    assert "Add --resume to go on with it" in refused.stderr
    for change in (("--set", "n_steps=50"), ("--only-refused",), ("--chunk-rows", 60)):
        result = run("recourse", model, parquet, "--out", out, *CHUNK, "--resume", *change, code=2)
        assert "differs in its options" in result.stderr
    other = tmp_path / "other.parquet"
    shutil.copy(parquet, other)
    result = run("recourse", model, other, "--out", out, *CHUNK, "--resume", code=2)
    assert "differs in its table" in result.stderr
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
    run("recourse", model, parquet, "--out", out, *CHUNK, "--resume")
    assert len(out.read_text().splitlines()) == 301


def test_a_half_written_chunk_is_done_again(run, tmp_path, model, parquet, break_after, monkeypatch):
    out = tmp_path / "out.csv"
    break_after(2, KeyboardInterrupt())
    run("recourse", model, parquet, "--out", out, *CHUNK, code=130)
    monkeypatch.undo()
    monkeypatch.setenv("HOLDTRUE_CACHE", "off")
    folder = tmp_path / "out.csv.parts"
    (folder / "part-000001.json").unlink()
    (folder / "part-000001.csv").write_text("half a l")
    (folder / ".part-000002.csv.1.part").write_text("left by a killed run")
    run("recourse", model, parquet, "--out", out, *CHUNK, "--resume")
    assert len(out.read_text().splitlines()) == 301
    assert not folder.exists()


def test_a_damaged_manifest_is_refused(run, tmp_path, model, parquet, break_after, monkeypatch):
    out = tmp_path / "out.csv"
    break_after(1, KeyboardInterrupt())
    run("recourse", model, parquet, "--out", out, *CHUNK, code=130)
    monkeypatch.undo()
    (tmp_path / "out.csv.parts" / "manifest.json").write_text("{")
    result = run("recourse", model, parquet, "--out", out, *CHUNK, "--resume", code=2)
    assert "the manifest cannot be read" in result.stderr


def test_bad_rows_late_in_a_table_lose_nothing(run, tmp_path, model, bank):
    frame = bank.X[:200].astype(object)
    frame.loc[170, "price"] = "lots"
    frame.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out.csv"
    result = run("recourse", model, tmp_path / "t.csv", "--out", out, *CHUNK, code=2)
    assert "'lots'" in result.stderr
    assert "150 rows are finished" in result.stderr
    run("recourse", model, tmp_path / "t.csv", "--out", out, *CHUNK, "--resume", "--bad-rows", "report")
    assert out.read_text().count("INVALID_INPUT") == 1


def test_an_old_output_stays_until_the_new_one_is_whole(run, tmp_path, model, parquet, break_after):
    out = tmp_path / "out.csv"
    out.write_text("last month's")
    break_after(1, KeyboardInterrupt())
    run("recourse", model, parquet, "--out", out, *CHUNK, code=130)
    assert out.read_text() == "last month's"


ENDLESS = """
from holdtrue.runs._work import Work

search = Work.run


def run(self, chunk):
    while chunk.first_row >= 10:
        search(self, chunk)
    return search(self, chunk)


Work.run = run
"""


def test_control_c_and_resume_in_a_process_of_its_own(script, tmp_path, model, parquet):
    """The third chunk is searched for over and over, so that the signal comes in the midst of a search."""
    out = tmp_path / "out.csv"
    args = ("recourse", model, parquet, "--out", out, "--chunk-rows", 5)
    process = script(*args, first=ENDLESS)
    folder = tmp_path / "out.csv.parts"
    while process.poll() is None and len(list(folder.glob("part-*.json"))) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, remarks = process.communicate(timeout=WHILE)
    assert process.returncode == 130, remarks.decode()
    assert b"10 rows are finished and kept" in remarks
    assert b"Traceback" not in remarks
    process = script(*args, "--resume", stdout=subprocess.PIPE)
    answer, remarks = process.communicate(timeout=WHILE)
    assert process.returncode == 0, remarks.decode()
    assert b"300 people" in answer
    assert len(out.read_text().splitlines()) == 301


def test_pipes(script, model, table):
    """Through a shell's pipes, and with a reader that leaves early."""
    with open(table, "rb") as people:
        process = script("recourse", model, "-", "--chunk-rows", 100, stdin=people, stdout=subprocess.PIPE)
        answer, remarks = process.communicate(timeout=WHILE)
    assert process.returncode == 0, remarks.decode()
    assert answer.count(b"\n") == 301
    reader, writer = os.pipe()
    process = script("recourse", model, table, "--chunk-rows", 10, stdout=writer)
    os.close(writer)
    os.close(reader)
    _, remarks = process.communicate(timeout=WHILE)
    assert process.returncode == 1
    assert b"Traceback" not in remarks
    assert b"BrokenPipe" not in remarks
