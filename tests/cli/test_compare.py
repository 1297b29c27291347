import json

import pytest

QUICK = (
    "--people", 20, "--retrainings", 3, "--model", "linear", "--set", "regime.n_epochs=20",
    "--set", "regime.class_weight=balanced",
)  # fmt: skip
WACHTER = ("--set", "wachter.n_steps=100", "--set", "wachter.patience=20")
NEIGHBOUR = ("--set", "nearest_neighbour.n_rows=100", "--set", "nearest_neighbour.n_candidates=50")


def test_side_by_side(run, run_json, tmp_path):
    out, plot = tmp_path / "c.json", tmp_path / "c.png"
    args = ("compare", "loanapp", "--methods", "wachter,nearest_neighbour", *QUICK, *WACHTER, *NEIGHBOUR)
    text = run(*args, "--output", out, "--plot", plot).stdout
    assert "2 methods, 20 people refused by Linear on loanapp" in text
    written = json.loads(out.read_text())
    assert [row["name"] for row in written["rows"]] == ["wachter", "nearest_neighbour"]
    assert written["rows"][0]["settings"]["n_steps"] == 100
    assert all(row["n_broken"] == 0 and row["validity"] == 1.0 for row in written["rows"])
    assert plot.read_bytes()[:4] == b"\x89PNG"
    # Nothing is run again: even the times are the same.
    again = run_json(*args, "--output", out, "--resume")
    assert [row["seconds"] for row in again["rows"]] == [row["seconds"] for row in written["rows"]]
    assert "the file is there already" in run(*args, "--output", out, code=2).stderr
    other = (*args[:3], "wachter", *QUICK, "--seed", 1, "--output", out, "--resume")
    assert "differs in its" in run(*other, code=2).stderr


def test_a_table_and_a_model_file(run_json, table, model, tmp_path, bank):
    schema = tmp_path / "schema.yaml"
    bank.schema.save(schema)
    args = ("--target", "approve", "--schema", schema, "--model", model)
    result = run_json("compare", table, *args, "--methods", "wachter", *WACHTER, "--people", 5, "--retrainings", 2)
    assert result["job"]["data"] == "people"
    assert result["rows"][0]["n_people"] == 5
    assert 0 <= result["rows"][0]["survival"] <= 1


def test_a_method_without_what_it_needs_is_listed(run):
    forest = ("--model", "random_forest", "--set", "model.n_estimators=3", "--set", "model.class_weight=balanced")
    text = run("compare", "loanapp", *forest, "--people", 5, "--methods", "wachter", "--retrainings", 0).stdout
    assert "Not run:" in text
    assert "Wachter: needs a differentiable model" in text


def test_interrupted_rows_are_kept(run, run_json, tmp_path, monkeypatch):
    from holdtrue.studies.compare import _compare

    measure, out = _compare.measure, tmp_path / "c.json"

    def stopped(name, *args, **options):
        if name == "nearest_neighbour":
            raise KeyboardInterrupt
        return measure(name, *args, **options)

    both = ("--methods", "wachter,nearest_neighbour")
    args = ("compare", "loanapp", *both, *QUICK, *WACHTER, *NEIGHBOUR, "--output", out)
    with monkeypatch.context() as patch:
        patch.setattr(_compare, "measure", stopped)
        assert "1 of 2 methods are in" in run(*args, code=130).stderr
    first = json.loads(out.read_text())["rows"]
    assert len(first) == 1
    whole = run_json(*args, "--resume")["rows"]
    assert [row["name"] for row in whole] == ["wachter", "nearest_neighbour"]
    assert whole[0]["seconds"] == first[0]["seconds"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--resume"], "--resume: goes on with a file"),
        (["--set", "n_steps=3"], "--set: must begin with a method"),
        (["--set", "wachtr.n_steps=3"], "Did you mean 'wachter'"),
        (["--set", "wachter.steps=3"], "no such parameter"),
        (["--methods", ","], "--methods: names no method"),
        (["--methods", "wachtr"], "Did you mean 'wachter'"),
        (["--model", "tree"], "unknown model"),
        (["--model", "lightgbm", "--set", "regime.n_epochs=3"], "no training regime"),
        (["--output", "nowhere/c.json"], "the folder is not there"),
        (["--favourable", "7"], "is not a class"),
    ],
)
def test_bad_input(run, args, words):
    assert words in run("compare", "loanapp", "--methods", "wachter", *args, code=2).stderr


def test_unknown_dataset(run):
    assert "Did you mean 'loanapp'" in run("compare", "loanap", code=2).stderr
    assert "no such file" in run("compare", "loanap.csv", "--target", "y", code=2).stderr
