"""A run from Python: what it writes, what it keeps, and what it promises."""

import dataclasses
import io
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import holdtrue as ht
from holdtrue.batch import RayExecutor
from holdtrue.errors import DataError, HoldtrueError, Interrupted, LedgerError
from holdtrue.runs import _work
from holdtrue.runs._identity import Identity, promise_id
from holdtrue.runs._parts import Parts


@pytest.fixture(scope="module")
def clf(model):
    return ht.RecourseClassifier.load(model)


@pytest.fixture(scope="module")
def people(tmp_path_factory, parquet):
    """The first hundred, to promise to."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(pq.read_table(parquet)[:100], path)
    return path


@pytest.fixture
def ledger(tmp_path):
    with ht.Ledger.create(tmp_path / "l.db") as ledger:
        yield ledger


@pytest.fixture
def stop_after(monkeypatch):
    """Ctrl-C when so many chunks are searched; the answer undoes it."""

    def install(n):
        done, real = [], _work.Work.run

        def run(self, chunk):
            if len(done) == n:
                raise KeyboardInterrupt
            done.append(chunk.first_row)
            return real(self, chunk)

        patch = pytest.MonkeyPatch()
        patch.setattr(_work.Work, "run", run)
        undo.append(patch)
        return patch.undo

    undo: list[pytest.MonkeyPatch] = []
    yield install
    for patch in undo:
        patch.undo()


def live(ledger):
    return [promise.record for batch in ledger.live() for promise in batch]


def test_a_file_and_a_classifier_answer_the_same(clf, model, parquet, bank, tmp_path):
    told: list[int] = []
    one = ht.run(model, parquet, tmp_path / "one.parquet", chunk_rows=128, on_rows=told.append)
    two = ht.run(clf, Path(parquet), out=str(tmp_path / "two.parquet"), chunk_rows=128)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    assert sum(told) == one.rows == one.written == 300
    plan = clf.recourse(bank.X[:300])
    assert one.counts == two.counts == plan.counts()
    assert one.mean_cost == pytest.approx(np.nanmean(plan.cost[plan.found]))
    assert one.method == "Wachter"
    assert one.promises is None
    text = f"{plan.counts()['FOUND']} have a recourse"
    assert text in str(one)
    assert str(one).startswith("300 people by Wachter: ")
    assert f"Written to {tmp_path / 'one.parquet'}. (" in str(one)
    assert set(one.to_dict()) == {"rows", "written", "counts", "mean_cost", "seconds", "method", "out", "holding"}
    assert one.holding is None
    assert " How long it holds is not known. Written" in str(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.rows = 1


def test_an_interrupted_run_goes_on(clf, table, tmp_path, stop_after):
    whole, out = tmp_path / "whole.csv", tmp_path / "out.csv"
    ht.run(clf, table, whole, chunk_rows=50)
    undo = stop_after(3)
    with pytest.raises(Interrupted, match=r"150 rows are finished and kept in .*`resume=True` to go on") as caught:
        ht.run(clf, table, out, chunk_rows=50)
    assert isinstance(caught.value, KeyboardInterrupt)
    assert not isinstance(caught.value, Exception)  # a loop that goes on after errors ends
    undo()
    with pytest.raises(DataError, match=r"^run: an unfinished run .*; got 3 finished chunks\. Add `resume=True`"):
        ht.run(clf, table, out, chunk_rows=50)
    with pytest.raises(DataError, match=r"^run: `resume`: the unfinished run .* differs in its options"):
        ht.run(clf, table, out, chunk_rows=60, resume=True)
    told: list[int] = []
    done = ht.run(clf, table, out, chunk_rows=50, resume=True, on_rows=told.append)
    assert done.rows == sum(told) == 300
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".out.csv.run", "out.csv", "whole.csv"]


def test_nothing_finished_leaves_nothing(clf, table, tmp_path, stop_after):
    stop_after(0)
    with pytest.raises(Interrupted, match=r"^Interrupted\. Nothing was finished yet\.$"):
        ht.run(clf, table, tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_standard_input_and_output(clf, table, tmp_path, monkeypatch, capsysbinary):
    ht.run(clf, table, tmp_path / "out.csv", only_refused=True)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(table).read_bytes())))
    done = ht.run(clf, "-", only_refused=True, chunk_rows=100)
    assert done.out == "-"
    assert "Written" not in str(done)
    assert capsysbinary.readouterr().out == (tmp_path / "out.csv").read_bytes()


def test_an_interrupted_stream_says_how_far_it_came(clf, table, stop_after, capsysbinary):
    stop_after(2)
    with pytest.raises(Interrupted, match="The answers of the first 100 rows were written"):
        ht.run(clf, table, chunk_rows=50)
    assert capsysbinary.readouterr().out.count(b"\n") == 101


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"out": "nowhere/o.csv"}, "^run: `out`: the folder is not there; got 'nowhere'"),
        ({"out": "o.xls"}, "^run: `out`: the ending does not say the format; got 'o.xls'"),
        ({"out": "o.csv", "format": "xls"}, "^run: `format` must be one of .*; got 'xls'"),
        ({"out": "o.csv", "bad_rows": "skip"}, "^run: `bad_rows` must be 'stop' or 'report'; got 'skip'"),
        ({"out": "o.csv", "chunk_rows": 0}, "^run: `chunk_rows` must be a whole number from 1 on; got 0"),
        ({"out": "o.csv", "n_recourses": 1.5}, "^run: `n_recourses` must be a whole number"),
        ({"out": "o.csv", "deadline": 0}, "^run: `deadline` must be above 0; got 0"),
        ({"resume": True}, "^run: `resume`: needs files; got `-`"),
        ({"executor": RayExecutor("x")}, "^run: `executor`: chunks are finished in any order"),
        (
            {"out": "o.csv", "target": "maybe"},
            r"^run: `target`: is not a class; got 'maybe'\. Classes are \[0, 1\]",
        ),
        (
            {"out": "o.csv", "method": "nearest_neighbour"},
            "^run: `method`: NearestNeighbour .*; got no `reference`",
        ),
        ({"out": "o.csv", "method": "wachtr"}, "Did you mean 'wachter'"),
        ({"out": "o.csv", "restrictions": {3: {"prize": "fixed"}}}, "unknown feature; got 'prize'"),
        ({"out": "o.csv", "subject": "who"}, "^run: `subject`: is for promises; got no `ledger`"),
        ({"out": "o.csv", "ledger": "l.db"}, "^run: `ledger`: needs your key for each person; got no `subject`"),
        ({"ledger": "l.db", "subject": "who"}, "^run: `ledger`: needs a file to write to"),
        ({"out": "o.csv", "ledger": "l.db", "subject": "whom"}, "^run: `subject`: no such column; got 'whom'"),
    ],
)
def test_what_cannot_be_done_is_said_in_the_words_of_python(clf, table, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    ht.Ledger.create("l.db").close()
    with pytest.raises(HoldtrueError, match=words):
        ht.run(clf, table, **options)
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith("l.db")] == []


def test_bad_rows_and_a_method_that_learns(clf, bank, tmp_path):
    frame = bank.X[:40].astype(object)
    frame.loc[3, "price"] = "lots"
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=r"'lots'.*Among rows 0 to 39; `bad_rows='report'` goes on without them"):
        ht.run(clf, tmp_path / "t.csv", tmp_path / "o.csv")
    done = ht.run(
        clf, tmp_path / "t.csv", tmp_path / "o.csv", bad_rows="report", method="nearest_neighbour",
        reference=bank.X, restrictions={99: {"price": "fixed"}},
    )  # fmt: skip
    assert done.counts["INVALID_INPUT"] == 1
    assert done.method == "NearestNeighbour"
    assert done.beyond == (99,)


# ---- promises -----------------------------------------------------------------------------------------


def test_a_run_repeated_promises_nothing_twice(clf, people, ledger, tmp_path):
    asked = {"ledger": ledger, "subject": "who", "valid_for": 30}
    first = ht.run(clf, people, tmp_path / "o.csv", **asked)
    assert first.promises == first.counts["FOUND"] == len(live(ledger)) > 5
    assert first.repeated == 0
    assert str(first).rpartition(" (")[0].endswith(f"{first.promises} promises issued.")
    again = ht.run(clf, people, tmp_path / "p.csv", chunk_rows=30, resume=True, **asked)
    assert again.promises == again.repeated == first.promises
    assert "of which were in the ledger already" in str(again)
    assert len(live(ledger)) == first.promises
    someone = live(ledger)[0].subject
    ledger.forget(someone)  # a promise to them would be one too many
    ht.run(clf, people, tmp_path / "q.csv", **asked)
    assert len(live(ledger)) == first.promises - 1
    other = ht.run(clf, people, tmp_path / "r.csv", **asked | {"valid_for": 60})
    assert other.repeated == 0
    assert ledger.verify().ok
    # What is in these files is nobody else's business.
    for path in tmp_path.iterdir():
        assert os.name == "nt" or path.stat().st_mode & 0o077 == 0, path


def test_a_run_obeys_the_policy_of_the_ledger(clf, people, ledger, tmp_path):
    asked = {"ledger": ledger, "subject": "who"}
    made = ht.run(clf, people, tmp_path / "o.csv", **asked, valid_for=30)
    ledger.set_policy(ht.Policy(most_live=1))
    again = ht.run(clf, people, tmp_path / "p.csv", **asked, valid_for=60)
    assert (again.promises, again.refused) == (0, made.promises)
    assert "the ledger's policy does not allow them" in str(again)
    assert len(live(ledger)) == made.promises


def test_a_run_killed_while_it_clears_up_promises_nothing_twice(clf, people, ledger, tmp_path, monkeypatch):
    """The output is in its place, some of what was kept is gone, and the same command is given again."""
    out, kept = tmp_path / "o.csv", tmp_path / "kept"
    real = Parts.join

    def join(self, n):
        shutil.copytree(self.folder, kept)
        real(self, n)

    monkeypatch.setattr(Parts, "join", join)
    asked = {"chunk_rows": 20, "ledger": ledger, "subject": "who", "valid_for": 30, "resume": True}
    done = ht.run(clf, people, out, **asked)
    monkeypatch.undo()
    whole = out.read_bytes()
    for path in sorted(kept.glob("part-*"))[:7]:
        path.unlink()
    kept.rename(tmp_path / "o.csv.parts")
    left = [tmp_path / ".o.csv.123.part", tmp_path / "..o.csv.run.123.part"]  # half an output, half a note
    for path in left:
        path.write_text("x")
    again = ht.run(clf, people, out, **asked)
    assert len(live(ledger)) == done.promises == again.promises
    assert out.read_bytes() == whole
    assert not (tmp_path / "o.csv.parts").exists()
    assert not any(path.exists() for path in left)


def test_what_is_kept_goes_in_one_step(clf, people, tmp_path, monkeypatch):
    """Killed while files are removed, a run leaves nothing that looks unfinished; the next one clears it up."""
    real = Path.unlink

    def unlink(self, missing_ok=False):
        if self.name == "part-000002.json":
            raise KeyboardInterrupt
        real(self, missing_ok=missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", unlink)
        with pytest.raises(Interrupted):
            ht.run(clf, people, tmp_path / "o.csv", chunk_rows=20)
    assert (tmp_path / "o.csv").exists()
    assert not (tmp_path / "o.csv.parts").exists()
    ht.run(clf, people, tmp_path / "o.csv", chunk_rows=20)
    assert [p.name for p in tmp_path.iterdir()] == ["o.csv"]


def test_standard_input_is_another_table_every_time(clf, people, ledger, tmp_path, monkeypatch):
    for some in (slice(0, 50), slice(50, 100)):
        text = pd.read_parquet(people)[some].to_csv(index=False)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        ht.run(clf, "-", tmp_path / "o.csv", ledger=ledger.place, subject="who")
    whole = ht.run(clf, people, tmp_path / "o.csv")
    assert len(live(ledger)) == whole.counts["FOUND"]


def test_another_answer_under_the_same_name_is_refused(clf, people, ledger, tmp_path, monkeypatch):
    """A method without a seed finds something else when it is asked again: the ledger keeps what was promised."""
    ht.run(clf, people, tmp_path / "o.csv", ledger=ledger, subject="who")
    told = live(ledger)
    monkeypatch.setattr(ht.RecourseFrame, "changes", lambda self: ["Wait."] * len(self))
    with pytest.raises(LedgerError, match="there is another record of this id"):
        ht.run(clf, people, tmp_path / "p.csv", ledger=ledger, subject="who")
    assert live(ledger) == told


def test_promises_carry_the_terms_of_the_certificate(clf, model, people, bank, ledger, tmp_path):
    mine = ht.RecourseClassifier.load(model)
    made = ht.certify(mine, bank.X, miscoverage=0.3, failure=0.2, threshold=mine.threshold)
    mine.save(tmp_path / "certified.holdtrue")
    asked = {"ledger": ledger, "subject": "who"}
    done = ht.run(tmp_path / "certified.holdtrue", people, tmp_path / "o.csv", **asked)
    written = live(ledger)
    assert len(written) == done.promises > 0
    assert {record.certificate["sha256"] for record in written} == {made.to_dict()["sha256"]}
    assert ht.run(clf, people, tmp_path / "p.csv", **asked).repeated == 0  # without a guarantee: another promise


def test_an_identity_says_what_differs_and_names_promises():
    run = Identity("m", {"name": "t"}, {"target": 1, "format": "csv", "chunk_rows": 5}, {"ledger": "l"})
    assert run.changed(run.to_dict()) == []
    for change, part in (
        ({"model": "n"}, "model"),
        ({"table": {"name": "u"}}, "table"),
        ({"options": {"target": 0}}, "options"),
        ({"promises": {"ledger": "k"}}, "promises"),
    ):
        other = dataclasses.replace(run, **change)
        assert other.changed(run.to_dict()) == [part]
        assert other.promised != run.promised
    cut = dataclasses.replace(run, options={"target": 1, "format": "parquet", "chunk_rows": 7})
    assert cut.promised == run.promised  # the same people in other pieces
    ids = {promise_id(run.promised, row, option) for row in range(20) for option in range(3)}
    assert len(ids) == 60
    assert all(len(id) == 32 for id in ids)


def test_a_run_that_is_done_is_recognised(clf, people, ledger, tmp_path, monkeypatch):
    """Gone on with once more, it asks nobody; unless the output or what is asked is another."""
    out = tmp_path / "out.csv"
    how = {"ledger": ledger, "subject": "who", "chunk_rows": 10, "resume": True}
    first = ht.run(clf, people, out, **how)
    assert first.promises > 0
    before, n = out.read_bytes(), len(live(ledger))

    def never(*_, **__):
        raise AssertionError("searched again")

    with monkeypatch.context() as patch:
        patch.setattr(type(clf.method_), "recourse", never)
        again = ht.run(clf, people, out, **how)
    assert out.read_bytes() == before
    assert (again.rows, again.counts, again.promises) == (first.rows, first.counts, first.promises)
    assert again.repeated == first.promises
    assert len(live(ledger)) == n
    out.write_text("something else")
    ht.run(clf, people, out, **how)
    assert out.read_bytes() == before
    assert len(live(ledger)) == n
    assert ht.run(clf, people, out, **how | {"chunk_rows": 11}).rows == first.rows


def test_two_runs_do_not_write_one_output(clf, people, tmp_path):
    out = tmp_path / "out.csv"
    said = []

    def second(_):
        if not said:
            said.append(None)
            with pytest.raises(DataError, match="in use by another process"):
                ht.run(clf, people, out, resume=True)

    ht.run(clf, people, out, chunk_rows=10, on_rows=second)
    assert said
    assert out.stat().st_mode & 0o077 == 0
    assert [p.name for p in tmp_path.iterdir() if "out.csv" in p.name] == ["out.csv"]
