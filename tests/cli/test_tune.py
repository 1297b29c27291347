"""`holdtrue tune`, and `holdtrue fit` with what it chose."""

import json

import numpy as np
import pytest

import holdtrue as ht
from holdtrue.cli._fit import build, by_family, split
from holdtrue.cli._tune import _space
from holdtrue.studies.tune import Trial, Tuning
from holdtrue.studies.tune._bench import Bench
from holdtrue.training import Range

optuna = pytest.importorskip("optuna", reason="optuna is not installed; pip install 'holdtrue[tune]' to run it")


@pytest.fixture(scope="module")
def people(bank, tmp_path_factory):
    """300 people with the label, as CSV."""
    path = tmp_path_factory.mktemp("people") / "people.csv"
    bank.X.assign(approve=bank.y)[:300].to_csv(path, index=False)
    return str(path)


QUICK = (
    "--regime",
    "standard",
    "--model",
    "linear",
    "--set",
    "regime.n_epochs=8",
    "--set",
    "regime.step_size=0.02",
)
SEARCH = ("--set", "method.n_steps=40", "--set", "method.patience=10", "--people", 20)


def test_tune_then_fit(run, run_json, people, tmp_path, monkeypatch):
    seen, real = [], Bench.of.__func__

    def of(cls, X, y, *rest, **parts):
        seen.append(X.index.to_numpy())
        return real(cls, X, y, *rest, **parts)

    monkeypatch.setattr(Bench, "of", classmethod(of))
    setting, report = tmp_path / "setting.json", tmp_path / "report.json"
    study = ("--study", tmp_path / "s.db", "--try", "weight_decay=1e-4:1e-2:log", "--try", "batch_size=16,64")
    asked = ("tune", people, "--target", "approve", *QUICK, *SEARCH, *study)
    found = run_json(*asked, "--trials", 2, "--out", setting, "--report", report)
    assert len(found["trials"]) == 2
    assert json.loads(report.read_text())["trials"] == found["trials"]
    text = run(*asked, "--trials", 3).stdout
    assert "3 trials of standard" in text
    _, held_out = split(300, ht.datasets.load("loanapp").y[:300], 0.2, 0)
    assert not set(np.concatenate(seen)) & set(held_out)  # the test rows were not even given to it

    out = tmp_path / "m.holdtrue"
    fit = ("fit", people, "--target", "approve", "--out", out, "--model", "linear", "--config", setting)
    run(*fit, "--set", "regime.n_epochs=3")
    regime = ht.RecourseClassifier.load(out).regime_
    chosen = found["trials"][found["chosen"]]["settings"]
    assert regime.weight_decay == chosen["weight_decay"]
    assert regime.batch_size == chosen["batch_size"]
    assert regime.n_epochs == 3
    run(*fit, "--regime", "adversarial", "--set", "regime.n_epochs=2")
    other = ht.RecourseClassifier.load(out).regime_
    assert type(other).__name__ == "AdversarialTraining"  # what is given beside the file counts more
    assert other.batch_size == 32


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--try", "maturity"], "--try: must be KEY=LOW:HIGH"),
        (["--try", "maturity=0.5:x"], "--try: must be KEY=LOW:HIGH"),
        (["--try", "step_size=0.1:0.2"], "either tried or set; got 'step_size' in both"),
        (["--try", "nonsense=0.1:0.2"], "names no parameter"),
        (["--try", "batch_size=64:16"], "must not exceed"),
        (["--out", "absent/setting.json"], "the folder is not there"),
    ],
)
def test_bad_options(run, people, more, words):
    assert words in run("tune", people, "--target", "approve", *QUICK, *more, code=2).stderr


def test_a_part_is_reached_with_a_dot():
    """Tried as scikit-learn names it, whole where it is a whole number, and written as `fit --config` reads it."""
    rule = ht.Robust(attacker="guides")
    assert _space("attacker.tilt=1:5", rule) == ("attacker__tilt", Range(1.0, 5.0))
    assert _space("attacker.n_guides=2:8", rule) == ("attacker__n_guides", Range(2.0, 8.0, whole=True))
    trial = Trial(0, {"attacker__tilt": 2.0}, "done", 0.9, 1.0, 1.0, 1.0)
    chosen = Tuning("robust", (trial,), {}, 0.0, 0.0).config()["set"]
    assert chosen == {"regime.attacker.tilt": 2.0}
    fitted = build("regime", "robust", by_family({"regime.attacker": "guides"} | chosen)["regime"])
    assert repr(fitted) == "Robust(attacker=Guides(tilt=2.0))"


@pytest.mark.parametrize("text", ["{", "[]", '{"set": 3}', '{"regime": 5}'])
def test_a_config_that_is_none(run, people, tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    asked = (
        "fit",
        people,
        "--target",
        "approve",
        "--out",
        tmp_path / "m.holdtrue",
        "--config",
        tmp_path / "c.json",
    )
    assert "--config:" in run(*asked, code=2).stderr
