"""`holdtrue tradeoff` on a small table."""

import json

import pytest

QUICK = (
    "--model", "linear", "--radii", "0,0.05", "--people", "10", "--retrainings", "0",
    "--set", "adversarial.n_epochs=10", "--set", "adversarial.step_size=0.02", "--set", "method.n_steps=40",
    "--set", "adversarial.class_weight=balanced",
)  # fmt: skip


def test_page_numbers_and_table(run, table, tmp_path, bank):
    schema = tmp_path / "loans.yaml"
    bank.schema.save(schema)
    page, numbers, picture = tmp_path / "page.html", tmp_path / "numbers.json", tmp_path / "x.png"
    done = run("tradeoff", table, "--target", "approve", "--schema", schema, "--regimes", "adversarial", *QUICK,
               "--out", page, "--out", numbers, "--out", picture)  # fmt: skip
    assert "adversarial, radius = 0.05" in done.output
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert picture.read_bytes().startswith(b"\x89PNG")
    rows = json.loads(numbers.read_text("utf-8"))["choices"]
    assert [row["value"] for row in rows] == [0.0, 0.05]


def test_other_regimes_and_sweeps(run):
    done = run("tradeoff", "loanapp", "--regimes", "standard", *QUICK[:8], "--set", "standard.n_epochs=5",
               "--sweep", "standard.weight_decay=0,0.1", "--json")  # fmt: skip
    names = [(row["parameter"], row["value"]) for row in json.loads(done.stdout)["choices"]]
    assert names == [("weight_decay", 0.0), ("weight_decay", 0.1)]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["--regimes", "standart"], "unknown regime; got 'standart'"),
        (["--radii", "0,much"], "--radii: must be numbers with commas; got '0,much'"),
        (["--sweep", "recourse"], "--sweep: must be REGIME.KEY=NUMBERS; got 'recourse'"),
        (["--set", "recourse.radius=1"], "is not one of the regimes trained; got 'recourse'"),
    ],
)
def test_wrong_options_are_answered(run, asked, answer):
    assert answer in run("tradeoff", "loanapp", *asked, code=2).output
