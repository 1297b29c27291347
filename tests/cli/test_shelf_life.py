import json

import pandas as pd
import pytest


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("life")
    return folder / "life.json", folder / "people.csv", folder / "life.png"


def test_everyone_has_a_chance_and_an_interval(run, run_json, files, model, table):
    out, people, plot = files
    args = ("--models", 4, "--vary", "bootstrap", "--target", "approve")
    result = run("shelf-life", model, table, *args, "--out", out, "--people", people, "--plot", plot,
                 "--subject", "who")  # fmt: skip
    assert "asked of 4 retrained models (bootstrap)" in " ".join(result.stdout.split())
    life = json.loads(out.read_text())
    assert (life["format"], life["n_models"], life["n_rows"]) == ("holdtrue-shelf-life", 4, 300)
    assert plot.stat().st_size > 5_000
    rows = pd.read_csv(people)
    assert rows.columns[:2].tolist() == ["row", "who"]
    assert rows["who"].tolist() == pd.read_csv(table)["who"].tolist()
    assert len(rows) == 300
    found = rows[rows["status"] == "FOUND"]
    assert len(found) == life["n_found"] > 0
    assert found["survival"].mean() == pytest.approx(life["mean"])
    assert ((found["lower"] <= found["survival"]) & (found["survival"] <= found["upper"])).all()
    assert found["fragile"].sum() == life["n_fragile"]
    assert rows.loc[rows["status"] != "FOUND", "survival"].isna().all()
    again = run_json("shelf-life", model, table, *args)
    assert again == life  # the same seed asks the same models


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "shelf-life: needs the label column"),
        (["--target", "aprove"], "Did you mean 'approve'"),
        (["--target", "approve", "--plot", "nowhere/life.png"], "the folder is not there"),
        (["--target", "approve", "--people", "people.xls"], "End it in .csv"),
        (["--target", "approve", "--fragile", "90"], "--fragile"),
    ],
)
def test_bad_input(run, model, table, args, words):
    assert words in run("shelf-life", model, table, *args, code=2).stderr
