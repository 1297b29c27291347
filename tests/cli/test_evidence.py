import json

import pytest

import holdtrue as ht


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    return tmp_path_factory.mktemp("evidence") / "evidence.zip"


@pytest.fixture
def asked(model, table):
    return ("evidence", model, table, "--target", "approve")


def test_made_checked_and_made_again(run, run_json, asked, evidence, model, bank):
    more = ("--group", "male", "--group", "loanprc:0.7,0.9", "--people", 8, "--reasons", 3, "--note", "A test.")
    said = run(*asked, *more, "--out", evidence).stderr
    digest = run_json("evidence", "--verify", evidence)["digest"]
    assert f"Note its digest elsewhere: {digest}" in said
    found = ht.Evidence.load(evidence)
    assert set(found.figures["groups"]) == {"male", "loanprc"}
    assert found.given["files"]["model"]["name"] == "loans.holdtrue"
    assert found.given["command"].startswith("holdtrue evidence loans.holdtrue people.csv --target approve")
    assert found.limits[0] == "A test."
    again = run_json(*asked, "--verify", evidence)
    assert again["ok"], again
    assert {f["what"] for f in again["findings"]} >= {"figures, made again", "labels"}
    # Python says the same.
    own = ht.evidence(
        ht.load(model), bank.X[:300], bank.y[:300], groups={"male": None, "loanprc": [0.7, 0.9]}, n_people=8,
        n_reasons=3,
    )  # fmt: skip
    assert own.figures["everybody"]["cost"] == found.figures["everybody"]["cost"]


def test_other_labels_and_other_bytes(run, run_json, model, table, evidence, tmp_path):
    lacking = run_json("evidence", model, table, "--verify", evidence, code=1)
    assert not lacking["ok"]
    raw = bytearray(evidence.read_bytes())
    raw[len(raw) // 2] ^= 1
    (tmp_path / "other.zip").write_bytes(raw)
    assert "was changed after it was made" in run("evidence", "--verify", tmp_path / "other.zip", code=2).stderr


def test_what_makes_no_sense_is_refused(run, model, table, tmp_path):
    assert "give --out FILE" in run("evidence", model, table, code=2).stderr
    assert "needs a model file and a table" in run("evidence", "--out", tmp_path / "e.zip", code=2).stderr
    wrong = run("evidence", model, table, "--group", "age:x", "--out", tmp_path / "e.zip", code=2).stderr
    assert "edges must be numbers" in wrong
    assert json.dumps("age:x").strip('"') in wrong
