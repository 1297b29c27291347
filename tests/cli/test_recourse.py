import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdtrue.classifier import RecourseClassifier
from holdtrue.cli._recourse import in_options

ADDED = ["holdtrue_status", "holdtrue_cost", "holdtrue_valid", "holdtrue_probability_before",
         "holdtrue_probability_after", "holdtrue_changes"]  # fmt: skip


@pytest.fixture(scope="module")
def plan(model, bank):
    return RecourseClassifier.load(model).recourse(bank.X[:300])


def test_parquet_in_parquet_out_equals_the_library(run_json, tmp_path, model, parquet, plan, bank):
    out = tmp_path / "out.parquet"
    summary = run_json("recourse", model, parquet, "--out", out, "--chunk-rows", 128)
    frame = pd.read_parquet(out)
    assert summary["counts"] == plan.counts()
    assert summary["rows"] == summary["written"] == len(frame) == 300
    assert frame.columns.tolist() == [*bank.schema.names, "approve", "who", *ADDED]
    assert frame["who"].tolist() == pd.read_parquet(parquet)["who"].tolist()
    expected = plan.to_frame()
    for name in [*bank.schema.names, *ADDED]:
        if expected[name].dtype.kind == "f":
            np.testing.assert_allclose(frame[name], expected[name], atol=1e-6)
        else:
            assert frame[name].tolist() == expected[name].tolist()
    assert frame["dep"].dtype == np.int64
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_csv_in(run, tmp_path, model, table, plan, ending):
    out = tmp_path / f"out.{ending}"
    assert "have a recourse" in run("recourse", model, table, "--out", out, "--chunk-rows", 128).stdout
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda p: pd.read_json(p, lines=True)}[ending]
    frame = read(out)
    assert len(frame) == 300
    assert frame["holdtrue_changes"].tolist() == list(plan.changes())
    assert frame["holdtrue_valid"].tolist() == plan.valid.tolist()
    assert frame["who"][1] == "person 1, no. 1"


def test_what_was_written_is_what_was_checked(run, run_json, tmp_path, model, table):
    """Read back from the file, everyone with a recourse has a yes."""
    first, again = tmp_path / "first.csv", tmp_path / "again.csv"
    counts = run_json("recourse", model, table, "--out", first)["counts"]
    assert counts["FOUND"] > 20
    asked_again = run_json("recourse", model, first, "--out", again)["counts"]
    assert asked_again["ALREADY_FAVOURABLE"] == counts["FOUND"] + counts["ALREADY_FAVOURABLE"]
    assert pd.read_csv(again).columns.tolist() == pd.read_csv(first).columns.tolist()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_standard_input_and_output(run, tmp_path, model, parquet, table, plan, format):
    with open(parquet if format == "parquet" else table, "rb") as stream:
        result = run("recourse", model, "-", "--format", format, "--only-refused", stdin=stream.read())
    place = tmp_path / "out"
    place.write_bytes(result.stdout_bytes)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda p: pd.read_json(p, lines=True)}[format]
    assert read(place)["holdtrue_changes"].tolist() == [
        plan.changes()[i] for i in np.flatnonzero(plan.status != 1)
    ]
    assert "already have a yes" in result.stderr


def test_types_do_not_depend_on_a_chunk(run, tmp_path, bank):
    """A chunk of only missing values, texts as categories, whole numbers beside missing ones."""
    from holdtrue.classifier import RecourseClassifier
    from holdtrue.models import Linear
    from holdtrue.schema import Feature, Schema
    from holdtrue.training import StandardTraining

    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "age": pd.array(rng.integers(20, 60, n), "Int64"),
            "town": pd.Categorical(rng.choice(["ash", "elm"], n)),
            "owner": rng.random(n) < 0.5,
            "score": rng.normal(size=n).astype("float32"),
            "seen": pd.Timestamp("2026-11-01"),
            "note": [None] * 20 + ["x"] * 40,
        }
    )
    frame.loc[:19, "age"] = pd.NA
    y = (frame["score"] > 0).to_numpy()
    schema = Schema(
        [
            Feature(name="age", kind="integer", missing="median"),
            Feature(name="town", kind="categorical"),
            Feature(name="owner", kind="binary"),
            Feature(name="score", kind="numeric"),
        ]
    )
    regime = StandardTraining(n_epochs=50, step_size=0.05)
    clf = RecourseClassifier(schema=schema, model=Linear(), regime=regime, random_state=0)
    clf.fit(frame[schema.names], y).save(tmp_path / "m.holdtrue")
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    run(
        "recourse",
        tmp_path / "m.holdtrue",
        tmp_path / "t.parquet",
        "--out",
        tmp_path / "o.parquet",
        "--chunk-rows",
        20,
    )
    out = pq.read_table(tmp_path / "o.parquet")
    kinds = {name: out.schema.field(name).type for name in out.column_names}
    assert kinds["age"] == pa.int64()
    assert kinds["owner"] == pa.bool_()
    assert kinds["score"] == pa.float64()
    assert pa.types.is_timestamp(kinds["seen"])
    assert out["note"].null_count == 20
    assert out.num_rows == n
    run(
        "recourse",
        tmp_path / "m.holdtrue",
        tmp_path / "t.parquet",
        "--out",
        tmp_path / "o.csv",
        "--chunk-rows",
        20,
    )
    text = (tmp_path / "o.csv").read_text().splitlines()
    assert len(text) == n + 1
    assert pd.read_csv(tmp_path / "o.csv", dtype=str)["age"].dropna().str.isdigit().all()


def test_another_method_and_settings(run_json, tmp_path, model, table):
    out = tmp_path / "o.csv"
    settings = ("--set", "n_rows=50", "--set", "n_candidates=16")
    options = ("--method", "nearest_neighbour", "--reference", table, *settings)
    summary = run_json("recourse", model, table, "--out", out, *options)
    assert summary["method"] == "NearestNeighbour"
    loose = run_json("recourse", model, table, "--out", out, "--set", "n_steps=1")
    assert loose["counts"].get("NOT_FOUND", 0) > 0


def test_target_and_restrictions(run_json, tmp_path, model, table, plan):
    out, limits = tmp_path / "o.csv", tmp_path / "limits.json"
    worse = run_json("recourse", model, table, "--out", out, "--target", "0")
    assert worse["counts"]["ALREADY_FAVOURABLE"] == 300 - plan.counts()["ALREADY_FAVOURABLE"]
    changed = plan.changed()
    row = int(np.flatnonzero(changed.any(axis=1))[-1])
    name = plan.schema.names[int(np.flatnonzero(changed[row])[0])]
    limits.write_text(json.dumps({str(row): {name: "fixed"}}))
    run_json("recourse", model, table, "--out", out, "--restrictions", limits, "--chunk-rows", 64)
    frame = pd.read_csv(out)
    assert frame[name][row] == pytest.approx(float(plan.factual.columns[name][row]))
    assert frame["holdtrue_changes"][row] != plan.changes()[row]


def test_deadline(run_json, tmp_path, model, table):
    out = tmp_path / "o.csv"
    assert run_json("recourse", model, table, "--out", out, "--deadline", 1e-6)["counts"] == {"NOT_REACHED": 300}
    assert len(pd.read_csv(out)) == 300


def test_bad_rows_are_reported_one_by_one(run, run_json, tmp_path, model, bank):
    frame = bank.X[:40].astype(object).assign(who=range(40))
    frame.loc[3, "price"] = "lots"
    frame.loc[17, "cons"] = 9
    frame.loc[29, "dep"] = None
    place, out = tmp_path / "t.csv", tmp_path / "o.parquet"
    frame.to_csv(place, index=False)
    text = run("recourse", model, place, "--out", out, "--chunk-rows", 10, code=2).stderr
    assert "numeric column 'price' must hold numbers; got 'lots'" in text
    assert "rows 0 to 9" in text
    assert "--bad-rows report" in text
    summary = run_json("recourse", model, place, "--out", out, "--chunk-rows", 10, "--bad-rows", "report")
    assert summary["counts"]["INVALID_INPUT"] == 3
    answer = pd.read_parquet(out)
    bad = answer[answer["holdtrue_status"] == "INVALID_INPUT"]
    assert bad["who"].tolist() == ["3", "17", "29"]
    assert "'lots'" in bad["holdtrue_changes"][3]
    assert "levels unseen at fit" in bad["holdtrue_changes"][17]
    assert "missing values" in bad["holdtrue_changes"][29]
    good = answer.drop(index=bad.index)
    plan = RecourseClassifier.load(model).recourse(bank.X[:40].drop(index=[3, 17, 29]))
    assert good["holdtrue_changes"].tolist() == list(plan.changes())


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["MODEL", "nowhere.csv"], ["table: no such file", "'nowhere.csv'"]),
        (["nowhere.holdtrue", "TABLE"], ["no such model file", "holdtrue fit"]),
        (["CUT", "TABLE"], ["damaged"]),
        (["ZIP", "TABLE"], ["not one of holdtrue's"]),
        (["TABLE", "TABLE"], ["not one of holdtrue's"]),
        (["MODEL", "OTHER"], ["columns that the model reads are absent", "'price'"]),
        (["MODEL", "EMPTY"], ["is empty; got 0 rows"]),
        (["MODEL", "."], ["is a directory"]),
        (["MODEL", "dataset:lonapp"], ["Did you mean 'loanapp'"]),
        (["MODEL", "TABLE", "--method", "wachtr"], ["Did you mean 'wachter'"]),
        (["MODEL", "TABLE", "--method", "nearest_neighbour"], ["needs training rows", "--reference"]),
        (["MODEL", "TABLE", "--set", "n_step=5"], ["Did you mean 'n_steps'"]),
        (["MODEL", "TABLE", "--set", "n_steps"], ["must be KEY=VALUE"]),
        (["MODEL", "TABLE", "--target", "maybe"], ["--target: is not a class; got 'maybe'"]),
        (["MODEL", "TABLE", "--restrictions", "nowhere.json"], ["--restrictions: cannot be read"]),
        (["MODEL", "TABLE", "--restrictions", "LIMITS"], ["unknown feature; got 'prize'", "Did you mean 'price'"]),
        (["MODEL", "TABLE", "--out", "nowhere/o.csv"], ["the folder is not there"]),
        (["MODEL", "TABLE", "--out", "o.xls"], ["End it in .csv"]),
        (["MODEL", "TABLE", "--resume"], ["--resume: needs files"]),
    ],
)
def test_bad_input(run, tmp_path, model, table, args, words):
    whole = Path(model).read_bytes()
    (tmp_path / "cut.holdtrue").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    (tmp_path / "other.csv").write_text("prices,b\n1,2\n")
    (tmp_path / "empty.csv").write_text(Path(table).read_text().splitlines()[0] + "\n")
    (tmp_path / "limits.json").write_text('{"3": {"prize": "fixed"}}')
    places = {"MODEL": model, "TABLE": table, "CUT": "cut.holdtrue", "ZIP": "foreign.zip", "OTHER": "other.csv",
              "EMPTY": "empty.csv", "LIMITS": "limits.json"}  # fmt: skip
    made_here = ("CUT", "ZIP", "OTHER", "EMPTY", "LIMITS")
    arguments = [str(tmp_path / places[a]) if a in made_here else places.get(a, a) for a in args]
    result = run("recourse", *arguments, code=2)
    assert result.stderr.startswith("error: ")
    for word in words:
        assert word in result.stderr


def test_restrictions_beyond_the_table(run, tmp_path, model, table, parquet):
    limits, out = tmp_path / "limits.json", tmp_path / "o.csv"
    limits.write_text('{"3000": {"price": "fixed"}}')
    assert "3000" in run("recourse", model, parquet, "--out", out, "--restrictions", limits, code=2).stderr
    assert (
        "warning: restrictions name rows"
        in run("recourse", model, table, "--out", out, "--restrictions", limits).stderr
    )


def test_nobody_can_do_anything(run_json, tmp_path, bank):
    """Infeasible people have a status, not an error."""
    import holdtrue as ht

    fixed = ht.Schema([f.replace(direction="fixed") for f in bank.schema])
    regime = ht.StandardTraining(n_epochs=30, step_size=0.01, class_weight="balanced")
    clf = ht.RecourseClassifier(schema=fixed, model=ht.Linear(), regime=regime, random_state=0).fit(bank.X, bank.y)
    clf.save(tmp_path / "m.holdtrue")
    bank.X.to_csv(tmp_path / "t.csv", index=False)
    counts = run_json("recourse", tmp_path / "m.holdtrue", tmp_path / "t.csv", "--out", tmp_path / "o.csv")[
        "counts"
    ]
    assert set(counts) == {"ALREADY_FAVOURABLE", "INFEASIBLE"} or set(counts) == {
        "ALREADY_FAVOURABLE",
        "NOT_FOUND",
    }


def test_options_have_a_row_each(run_json, tmp_path, model, table):
    out, again = tmp_path / "options.csv", tmp_path / "again.csv"
    summary = run_json("recourse", model, table, "--out", out, "--options", "2", "--only-refused")
    frame = pd.read_csv(out)
    assert summary["rows"] == sum(summary["counts"].values()) == 300
    assert summary["written"] == len(frame)
    counts = frame.groupby("holdtrue_row").size()
    assert set(counts) == {1, 2}
    assert frame["holdtrue_option"].tolist() == [i for n in counts for i in range(n)]
    second = frame[frame["holdtrue_option"] == 1]
    assert second["holdtrue_valid"].all()
    first = frame[frame["holdtrue_option"] == 0].set_index("holdtrue_row")
    assert (second["holdtrue_changes"].to_numpy() != first.loc[second["holdtrue_row"], "holdtrue_changes"]).all()
    run_json("recourse", model, out, "--out", again, "--options", "2")  # its own output is a table like any other
    assert pd.read_csv(again).columns.tolist() == frame.columns.tolist()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("run: `out`: is a directory; got 'x'.", "--out: is a directory; got 'x'."),
        ("run: `n_recourses` must be 1; got 0.", "--options: must be 1; got 0."),
        ("run: kept; got 3. Add `resume=True` to go on.", "recourse: kept; got 3. Add --resume to go on."),
        ("table: 'x' (`bad_rows='report'` goes on.)", "table: 'x' (--bad-rows report goes on.)"),
        ("run: `ledger`: got no `subject`. Write `out=FILE`.", "--ledger: got no --subject. Write --out FILE."),
        ("table: add it to `levels`; got `-`.", "table: add it to `levels`; got `-`."),
    ],
)
def test_errors_of_a_run_are_told_in_the_words_of_the_command(said, told):
    assert in_options(said) == told
