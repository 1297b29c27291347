import json

import pytest

import holdtrue as ht


@pytest.fixture(scope="module")
def record(model, bank, tmp_path_factory):
    clf = ht.RecourseClassifier.load(model)
    plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    path = tmp_path_factory.mktemp("record") / "record.json"
    ht.records(plan, ["somebody"] * len(plan))[0].save(path)
    return path


def test_comes_out_the_same(run, run_json, record, model):
    assert run_json("replay", record, "--model", model)["same"] is True
    assert "comes out the same" in run("replay", record, "--model", model).stdout


def test_a_forged_record_does_not(run, record, model, tmp_path):
    raw = json.loads(record.read_text())
    raw["probability_after"] = 0.99
    raw["changes"] = "Do nothing."
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(raw))
    result = run("replay", forged, "--model", model, code=1)
    assert "Do nothing." in result.stdout
    answer = json.loads(run("replay", forged, "--model", model, "--json", code=1).stdout)
    assert set(answer["differences"]) == {"probability_after", "changes"}


def test_what_is_no_record_is_refused(run, model, tmp_path):
    assert "cannot be read" in run("replay", tmp_path / "absent", "--model", model, code=2).stderr
    (tmp_path / "x").write_text("{}")
    assert "not a record" in run("replay", tmp_path / "x", "--model", model, code=2).stderr
