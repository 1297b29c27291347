import json

import pandas as pd
import pytest

import holdtrue as ht


@pytest.fixture(scope="module")
def calibration(tmp_path_factory):
    """People whom the model did not learn from, with their label."""
    bank = ht.datasets.load("loanapp")
    path = tmp_path_factory.mktemp("calibration") / "calibration.csv"
    bank.X[600:1200].assign(approve=bank.y[600:1200]).to_csv(path, index=False)
    later = path.with_name("later.csv")
    bank.X[1200:].to_csv(later, index=False)
    return str(path), str(later)


@pytest.fixture(scope="module")
def certified(model, calibration, tmp_path_factory):
    from click.testing import CliRunner

    from holdtrue.cli import cli

    folder = tmp_path_factory.mktemp("certified")
    out, paper = folder / "certified.holdtrue", folder / "certificate.json"
    args = [
        "certify",
        model,
        calibration[0],
        "--out",
        str(out),
        "--certificate",
        str(paper),
        "--json",
        "--move-threshold",
    ]
    result = CliRunner().invoke(cli, args, prog_name="holdtrue")
    assert result.exit_code == 0, result.output
    return str(out), paper, json.loads(result.stdout)


def test_the_model_file_and_the_certificate_are_written(certified, run_json, calibration):
    out, paper, made = certified
    assert json.loads(paper.read_text()) == made
    assert (made["n"], made["k"]) == (600, ht.metrics.allowed_failures(600))
    clf = ht.RecourseClassifier.load(out)
    assert clf.threshold == made["threshold"]
    assert clf.certificate_.to_dict() == made
    found = run_json("verify", out, "--calibration", calibration[0])
    assert found["ok"] is True
    assert found["unchecked"][1:] == ["people in use"]


def test_groups_and_labels(run_json, model, calibration, tmp_path):
    out = tmp_path / "c.holdtrue"
    made = run_json("certify", model, calibration[0], "--out", out, "--groups", "male", "--target", "approve",
                    "--move-threshold")  # fmt: skip
    assert {part["group"] for part in made["groups"]["each"]} == {0, 1} or len(made["groups"]["each"]) == 2
    assert made["chosen"] == "f1"
    assert run_json("verify", out, "--calibration", calibration[0], "--target", "approve")["ok"] is True


def test_people_in_use_are_looked_at(run, run_json, certified, calibration, tmp_path):
    out, _, _ = certified
    found = run_json("verify", out, "--calibration", calibration[0], "--use", calibration[1])
    assert [f["what"] for f in found["findings"]][-2:] == [
        "drift between calibration and use",
        "promise among the people in use",
    ]
    drifted = pd.read_csv(calibration[1])
    number = next(n for n in drifted if drifted[n].nunique() > 50)
    drifted[number] = drifted[number].max()
    drifted.to_csv(tmp_path / "drifted.csv", index=False)
    result = run("verify", out, "--calibration", calibration[0], "--use", tmp_path / "drifted.csv", code=1)
    assert "FAIL drift" in result.stdout
    said = run("certify", out, calibration[0], "--use", tmp_path / "drifted.csv", "--out", tmp_path / "x", code=2)
    assert "not exchangeable" in said.stderr
    assert not (tmp_path / "x").exists()


def test_what_does_not_belong_is_refused(run, certified, model, calibration, tmp_path):
    out, paper, made = certified
    assert "carries no certificate" in run("verify", model, code=2).stderr
    assert "model and threshold" in run("verify", model, "--certificate", paper, code=1).stdout
    assert "FAIL calibration rows" in run("verify", out, "--calibration", calibration[1], code=1).stdout
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(made | {"miscoverage": 0.01}))
    assert "was changed" in run("verify", out, "--certificate", forged, code=2).stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "nowhere to write"),
        (["--out", "nowhere/x"], "the folder is not there"),
        (["--out", "x", "--miscoverage", "0.001"], "too few calibration people"),
        (["--out", "x", "--groups", "sects"], "not a column"),
        (["--out", "x", "--method", "wachter", "--move-threshold"], "Give the `threshold`"),
        (["--out", "x", "--set", "radius=0"], "`radius` must be a number above 0"),
    ],
)
def test_bad_input(run, model, calibration, args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in run("certify", model, calibration[0], *args, code=2).stderr
    assert not (tmp_path / "x").exists()


def test_fit_writes_the_rows_it_held_out(run, run_json, calibration, tmp_path):
    table, _ = calibration
    out, held = tmp_path / "m.holdtrue", tmp_path / "held.csv"
    quick = ("--model", "linear", "--set", "regime.n_epochs=2")
    args = ("fit", table, "--target", "approve", "--out", out, *quick, "--test-size", 0.3, "--held-out", held)
    summary = run_json(*args)
    kept = pd.read_csv(held)
    assert len(kept) == 600 - summary["trained_on"] == 180
    assert set(kept.columns) == set(pd.read_csv(table).columns)
    assert "no rows are held out" in run(*args, "--test-size", 0, code=2).stderr


def test_the_threshold_stays_unless_told_otherwise(run, run_json, model, calibration, tmp_path):
    out = tmp_path / "kept.holdtrue"
    args = ("certify", model, calibration[0], "--out", out, "--miscoverage", 0.2)
    said = run(*args).stdout
    kept = ht.RecourseClassifier.load(out)
    assert kept.threshold == ht.RecourseClassifier.load(model).threshold == kept.certificate_.threshold
    assert kept.certificate_.chosen == "present"
    assert f"The threshold stays {kept.threshold:g}." in said
    assert "are accepted now" in said
    assert run_json("verify", out, "--calibration", calibration[0])["ok"] is True
    moved = run_json(*args, "--move-threshold")
    assert moved["threshold"] == moved["highest"] > kept.threshold
