import json

import pandas as pd
import pytest


def test_report(run, run_json, model, table):
    text = run("audit", model, table).stdout
    assert "valid" in text
    report = run_json("audit", model, table)
    assert report["n_people"] == 300
    assert report["validity"] == 1.0
    assert report["survival"] is None


def test_retraining(run, tmp_path, model, table):
    out, people = tmp_path / "report.json", tmp_path / "people.csv"
    args = ("--retrain", 3, "--vary", "bootstrap", "--target", "approve", "--out", out, "--people", people)
    text = run("audit", model, table, *args).stdout
    assert "3 retrained models" in text
    report = json.loads(out.read_text())
    assert report["survival"] is not None
    assert len(pd.read_csv(people)) > 0
    printed = json.loads(run("audit", model, table, *args[:6], "--out", "-").stdout)
    printed.pop("seconds"), report.pop("seconds")
    assert printed["survival"] == report["survival"]


def test_retraining_on_another_table(run_json, model, table):
    report = run_json("audit", model, table, "--retrain", 2, "--train", "dataset:loanapp")
    assert report["survival"]["n_models"] == 2


def test_fine_tuning_starts_from_the_model_itself(run_json, model, table):
    """A step size of zero would give the model back; one epoch of the top layer leaves nearly every recourse."""
    args = ("--retrain", 2, "--target", "approve", "--vary", "finetune", "--epochs", 1)
    survival = run_json("audit", model, table, *args, "--layers", "top")["survival"]
    assert (survival["n_models"], survival["vary"]) == (2, "finetune, top layer")
    anew = run_json("audit", model, table, "--retrain", 2, "--target", "approve")["survival"]
    assert survival["mean"] > anew["mean"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--retrain", "3"], "--retrain: needs the label column"),
        (["--retrain", "3", "--target", "aprove"], "Did you mean 'approve'"),
        (["--retrain", "3", "--target", "cons"], "classes are not the model's"),
        (["--retrain", "3", "--target", "approve", "--layers", "all"], "`layers` is for vary='finetune'"),
        (["--retrain", "3", "--train", "nowhere.csv", "--target", "approve"], "no such file"),
        (["--out", "nowhere/report.json"], "the folder is not there"),
        (["--people", "people.xls"], "End it in .csv"),
    ],
)
def test_bad_input(run, model, table, args, words):
    assert words in run("audit", model, table, *args, code=2).stderr


def test_proofs(run_json, model, table):
    report = run_json("audit", model, table, "--prove", "--group", "married", "--time-limit", 5)
    everybody = report["reach"]["everybody"]
    assert everybody["n_refused"] == everybody["n_with"] + everybody["n_without"] + everybody["n_undecided"]
    assert sum(group["n_refused"] for group in report["reach"]["groups"].values()) == everybody["n_refused"]
