import json

import numpy as np
import pandas as pd
import pytest
import yaml

import holdtrue as ht
from holdtrue.attribution import CodeTable, sample_codes

CODES = """
name: ours
codes:
  - {code: A, text: Obligations, features: [obrat, hrat]}
otherwise: {code: Z, text: Other}
"""


@pytest.fixture(scope="module")
def expected(model, bank):
    return ht.reasons(ht.load(model), bank.X[:300])


def test_the_command_says_what_python_says(run, model, parquet, bank, expected, tmp_path):
    out = tmp_path / "reasons.csv"
    said = run("reasons", model, parquet, "--out", out).stderr
    frame = pd.read_csv(out)
    refused = expected.take(expected.refused)
    assert len(frame) == len(refused)
    assert f"{len(refused):,} of {len(expected):,} people are refused" in said
    np.testing.assert_allclose(frame["holdtrue_gap"], refused.gap)
    assert frame["holdtrue_reason_1"].tolist() == [refused.of(i)[0].text for i in range(len(refused))]
    assert set(bank.X.columns) <= set(frame.columns)


def test_as_records_keep_them(run, model, parquet, expected):
    lines = run("reasons", model, parquet, "--json").stdout.splitlines()
    assert len(lines) == int(expected.refused.sum())
    first = json.loads(lines[0])
    i = first.pop("row")
    truth = expected.to_dict(i)
    assert [one["text"] for one in first["named"]] == [one["text"] for one in truth["named"]]
    assert first["contributions"] == pytest.approx(truth["contributions"])
    assert first["reference"]["sha256"] == truth["reference"]["sha256"]


def test_codes_and_a_schema_of_ones_own(run, model, parquet, bank, tmp_path):
    (tmp_path / "codes.yaml").write_text(CODES)
    bank.schema.replace(male={"protected": True}).save(tmp_path / "schema.yaml")
    out = tmp_path / "reasons.parquet"
    own = ("--codes", tmp_path / "codes.yaml", "--schema", tmp_path / "schema.yaml")
    run("reasons", model, parquet, *own, "-n", 2, "--out", out)
    frame = pd.read_parquet(out)
    # Nobody but whom protected columns alone keep from a yes is without a reason.
    unnamed = frame["holdtrue_reason_1_code"].isna()
    assert (frame["holdtrue_protected"] >= frame["holdtrue_gap"])[unnamed].all()
    assert set(frame.loc[~unnamed, "holdtrue_reason_1_code"]) == {"A", "Z"}
    assert "holdtrue_reason_3" not in frame
    assert frame["holdtrue_protected"].abs().max() > 0


def test_a_sample_of_codes(run):
    text = run("reasons", "--sample-codes", "hmda").stdout
    assert text == sample_codes("hmda")
    assert CodeTable.from_dict(yaml.safe_load(text)).sample
