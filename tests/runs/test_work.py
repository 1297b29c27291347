"""One chunk: what is sent, and the types of what is written."""

import pickle
import time

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import holdtrue as ht
from holdtrue.runs import Source
from holdtrue.runs._work import Work


def test_what_is_sent_to_a_worker_answers_the_same(model, parquet):
    """The work of a run goes to another process as a model file and plain options."""
    clf = ht.RecourseClassifier.load(model)
    method = ht.NearestNeighbour(n_rows=100).fit(clf, pd.read_parquet(parquet)[:200])
    work = Work(classifier=clf, method=method, n_recourses=1, only_refused=True, until=time.monotonic() + 1000)
    again = pickle.loads(pickle.dumps(work))
    assert type(again.method) is ht.NearestNeighbour
    assert 900 < again.until - time.monotonic() <= 1000
    chunk = next(Source(parquet).chunks(clf.schema_, 60))
    (here, note, _), (there, same, _) = work(chunk), again(pickle.loads(pickle.dumps(chunk)))
    assert there.equals(here)
    assert same == note


@pytest.fixture(scope="module")
def flags(tmp_path_factory):
    """Yes and no as the schema has them, 1 and 0 or True and False, for tables that say it the other way."""
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {"owner": rng.random(n) < 0.5, "late": rng.integers(0, 2, n), "score": rng.normal(size=n)}
    )
    schema = ht.Schema(
        [
            ht.Feature(name="owner", kind="binary", levels=(0, 1)),
            ht.Feature(name="late", kind="binary", levels=(False, True)),
            ht.Feature(name="score", kind="numeric", direction="fixed"),
        ]
    )
    y = (frame["owner"] & (frame["late"] == 0)).to_numpy()
    regime = ht.StandardTraining(n_epochs=60, step_size=0.05)
    clf = ht.RecourseClassifier(schema=schema, model=ht.Linear(), regime=regime, random_state=0)
    return clf.fit(frame, y), frame


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_yes_and_no_are_written_however_the_table_says_them(flags, tmp_path, ending):
    clf, frame = flags
    if ending == "parquet":
        frame.to_parquet(tmp_path / "t.parquet", index=False)
    else:
        frame.assign(late=frame["late"] == 1).to_csv(tmp_path / "t.csv", index=False)
    ht.run(clf, tmp_path / f"t.{ending}", tmp_path / "o.parquet", chunk_rows=25)
    out, plan = pq.read_table(tmp_path / "o.parquet").to_pandas(), clf.recourse(frame)
    assert plan.found.any()
    for name in ("owner", "late"):
        assert out[name].notna().all()
        assert out[name].astype(int).tolist() == [int(v) for v in plan.recourse.columns[name]]
        assert (out[name].dtype == bool) == (frame[name].dtype == bool if ending == "parquet" else name == "late")


@pytest.mark.parametrize(("ending", "out"), [("csv", "csv"), ("parquet", "parquet"), ("csv", "jsonl")])
def test_a_negative_zero_stays_one(flags, tmp_path, ending, out):
    """What nobody was asked to change comes back as it was, to the sign of a zero."""
    clf, frame = flags
    score = np.where(np.arange(len(frame)) % 2, -0.0, 0.5)
    frame = frame.assign(late=frame["late"] == 1, score=score, note=-0.0)
    if ending == "parquet":
        frame.to_parquet(tmp_path / "t.parquet", index=False)
    else:
        frame.to_csv(tmp_path / "t.csv", index=False)
    ht.run(clf, tmp_path / f"t.{ending}", tmp_path / f"o.{out}")
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda path: pd.read_json(path, lines=True)}
    back = read[out](tmp_path / f"o.{out}")
    for name in ("score", "note"):
        values = pd.to_numeric(back[name]).to_numpy(float)
        assert (np.signbit(values) == np.signbit(frame[name].to_numpy())).all()
    records = ht.records(clf.recourse(frame), [str(i) for i in range(len(frame))], reason="a test")
    assert {str(r.factual["score"]) for r in records} <= {"-0.0", "0.5"}
    again = [type(r).from_json(r.to_json()) for r in records]
    assert [str(r.recourse["score"]) for r in again] == [str(r.recourse["score"]) for r in records]
