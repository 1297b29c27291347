import json

import pytest

from holdtrue.classifier import RecourseClassifier
from holdtrue.schema import Schema

FAST = ("--model", "linear", "--set", "regime.n_epochs=2")


def test_fit_a_dataset(run, tmp_path):
    out = tmp_path / "m.holdtrue"
    text = run("fit", "dataset:recid", "--out", out, *FAST).stdout
    assert "1,445 rows, 14 features" in text
    assert "on held-out rows" in text
    clf = RecourseClassifier.load(out)
    assert clf.regime.n_epochs == 2
    assert type(clf.model).__name__ == "Linear"


def test_fit_a_csv_with_a_guessed_schema(run, tmp_path, table, bank):
    out, guess = tmp_path / "m.holdtrue", tmp_path / "s.yaml"
    clean = tmp_path / "t.csv"
    bank.X.assign(answer=["yes" if y else "no" for y in bank.y]).to_csv(clean, index=False)
    options = ("--target", "answer", "--favourable", "yes", "--write-schema", guess, "--test-size", 0, "--json")
    result = run("fit", clean, "--out", out, *FAST, *options)
    summary = json.loads(result.stdout)
    assert summary["rows"] == summary["trained_on"] == 400
    assert summary["accuracy_on"] == "training rows"
    assert summary["favourable"] == "yes"
    assert summary["classes"] == {"no": int((bank.y == 0).sum()), "yes": int((bank.y == 1).sum())}
    assert "schema was guessed" in result.stderr
    assert "married: fixed and protected, because of its name" in result.stderr
    assert Schema.load(guess).names == bank.schema.names


def test_fit_from_standard_input(run, tmp_path, table, bank):
    bank.schema.save(tmp_path / "s.yaml")
    out = tmp_path / "m.holdtrue"
    with open(table, "rb") as stream:
        run("fit", "-", "--target", "approve", "--schema", tmp_path / "s.yaml", "--out", out, *FAST,
            stdin=stream.read())  # fmt: skip
    assert RecourseClassifier.load(out).schema_.names == bank.schema.names


def test_a_regime_brings_its_model_and_its_method(run, tmp_path):
    out = tmp_path / "m.holdtrue"
    settings = {"regime.regime": "cf_model", "regime.regime.n_epochs": 2, "regime.regime.min_updates": 0,
                "regime.attacker": "vds", "regime.attacker.steps": 1, "regime.attacker.inner_steps": 1,
                "model.generator": 8}  # fmt: skip
    run("fit", "dataset:moons", "--out", out, "--regime", "robust",
        *(part for key, value in settings.items() for part in ("--set", f"{key}={value}")))  # fmt: skip
    clf = RecourseClassifier.load(out)
    assert (clf.model.head, clf.model.generator) == ("row", (8,))
    assert type(clf.regime.regime).__name__ == "CFModel"
    assert type(clf.method_).__name__ == "Generated"


def test_settings_reach_every_family(run, tmp_path):
    out = tmp_path / "m.holdtrue"
    run("fit", "dataset:moons", "--out", out, "--set", "model.widths=8,4", "--set", "regime.n_epochs=1",
        "--set", "method.norm=l2", "--threshold", 0.6, "--scaling", "standard", "--seed", 3)  # fmt: skip
    clf = RecourseClassifier.load(out)
    assert clf.model.widths == (8, 4)
    assert clf.method.norm == "l2"
    assert (clf.threshold, clf.scaling, clf.random_state) == (0.6, "standard", 3)


def test_schema_command(run, tmp_path, table):
    result = run("schema", table, "--target", "approve")
    assert "who: left out, it is free text" in result.stderr
    assert "who" not in Schema.from_yaml(result.stdout)
    assert "# who: left out" in result.stdout
    out = tmp_path / "s.json"
    run("schema", "dataset:loanapp", "--out", out)
    assert Schema.load(out).names[0] == "price"
    assert Schema.from_yaml(run("schema", "dataset:loanapp").stdout) == Schema.load(out)
    assert json.loads(run("schema", "dataset:loanapp", "--json").stdout)["features"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nowhere.csv", "--target", "y"], ["no such file", "'nowhere.csv'"]),
        (["dataset:lonapp"], ["unknown dataset", "Did you mean 'loanapp'"]),
        (["dataset:sst"], ["sst"]),
        (["dataset:loanapp", "--target", "aprove"], ["--target", "'aprove'", "'approve'"]),
        (["dataset:loanapp", "--model", "linaer"], ["unknown model", "Did you mean 'linear'"]),
        (["dataset:loanapp", "--method", "wachtr"], ["unknown method", "Did you mean 'wachter'"]),
        (["dataset:loanapp", "--regime", "standrd"], ["unknown regime", "Did you mean 'standard'"]),
        (["dataset:loanapp", "--set", "n_epochs=3"], ["--set", "regime.n_epochs"]),
        (["dataset:loanapp", "--set", "regmie.n_epochs=3"], ["Did you mean 'regime'"]),
        (["dataset:loanapp", "--set", "regime.n_epoch=3"], ["Did you mean 'n_epochs'"]),
        (["dataset:loanapp", "--set", "regime.n_epochs=0"], ["`n_epochs`", "got 0"]),
        (["dataset:loanapp", "--favourable", "yes"], ["--favourable", "'yes'", "[0, 1]"]),
        (["dataset:loanapp", "--threshold", "1.5"], ["threshold", "1.5"]),
        (["dataset:loanapp", "--schema", "nowhere.yaml"], ["Schema: cannot read the file"]),
        (["TABLE"], ["--target", "must be named"]),
        (["TABLE", "--target", "aprove"], ["is not a column", "Did you mean 'approve'"]),
        (["TABLE", "--target", "who"], ["--target", "300 distinct values"]),
        (["TABLE", "--target", "loanprc"], ["classes, not measurements"]),
        (["TABLE", "--target", "approve", "--schema", "SCHEMA"], ["Schema: not valid YAML"]),
        (["TABLE", "--target", "approve", "--drop", "whom"], ["`drop` names", "'whom'", "Did you mean 'who'"]),
        (["dataset:loanapp", "--drop", "price"], ["--drop", "guessed", "'price'"]),
    ],
)
def test_bad_input(run, tmp_path, table, args, words):
    (tmp_path / "broken.yaml").write_text("features: [a, {")
    places = {"TABLE": table, "SCHEMA": tmp_path / "broken.yaml"}
    out = tmp_path / "m.holdtrue"
    result = run("fit", *[places.get(a, a) for a in args], "--out", out, code=2)
    assert "error: " in result.stderr
    for word in words:
        assert word in result.stderr
    assert not out.exists()
    assert "Traceback" not in result.output


def test_the_output_must_have_a_folder(run, tmp_path):
    result = run("fit", "dataset:loanapp", "--out", tmp_path / "no" / "m.holdtrue", code=2)
    assert "--out: the folder is not there" in result.stderr


def test_missing_labels_and_missing_values(run, tmp_path, bank):
    frame = bank.X.assign(approve=bank.y.astype(object))
    frame.loc[3, "approve"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    bank.schema.save(tmp_path / "s.yaml")
    args = ("--target", "approve", "--schema", tmp_path / "s.yaml", "--out", tmp_path / "m.holdtrue")
    assert "labels are missing; got 1 of 400" in run("fit", tmp_path / "t.csv", *args, code=2).stderr
    frame = bank.X.assign(approve=bank.y)
    frame.loc[3, "price"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = run("fit", tmp_path / "t.csv", *args, code=2).stderr
    assert "column 'price' has missing values (NaN); got 1 of" in text
