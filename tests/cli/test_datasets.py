import pandas as pd
import pytest

from holdtrue.datasets import names
from holdtrue.schema import Schema


def test_list(run, run_json):
    for args in (("datasets",), ("datasets", "list")):
        text = run(*args).stdout
        assert {row["name"] for row in run_json(*args)} == set(names())
        for name in names():
            assert name in text


def test_show(run, run_json):
    text = run("datasets", "show", "loanapp").stdout
    assert "Mortgage applications in Boston" in text
    assert "loan-to-price ratio" in text
    facts = run_json("datasets", "show", "loanapp")
    assert facts["rows"] == 1971
    assert len(facts["schema"]["features"]) == 21


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_export(run, tmp_path, ending):
    out, schema = tmp_path / f"loans.{ending}", tmp_path / "loans.yaml"
    run("datasets", "export", "loanapp", "--out", out, "--schema", schema)
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "jsonl": lambda p: pd.read_json(p, lines=True)}[ending]
    frame = read(out)
    assert frame.shape == (1971, 22)
    assert frame["approve"].mean() == pytest.approx(0.876, abs=0.001)
    Schema.load(schema).check(frame)


def test_export_to_standard_output(run):
    lines = run("datasets", "export", "moons").stdout.splitlines()
    assert len(lines) == 3601
    assert lines[0] == "x1,x2,y" or lines[0].endswith(",y")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["show", "lonapp"], "Did you mean 'loanapp'"),
        (["add", "loanapp", "x.csv"], "is embedded and needs no file"),
        (["add", "adult", "nowhere.csv"], "the file is not there"),
        (["export", "loanapp", "--out", "loans.xls"], "End it in .csv, .parquet or .jsonl"),
    ],
)
def test_bad_input(run, args, words):
    result = run("datasets", *args, code=2)
    assert result.stderr.startswith("error: ")
    assert words in result.stderr


def test_add_refuses_another_file(run, tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    result = run("datasets", "add", "adult", tmp_path / "x.csv", code=2)
    assert "adult" in result.stderr
