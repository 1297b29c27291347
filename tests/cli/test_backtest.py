"""`holdtrue backtest` on small tables."""

import json

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht

QUICK = ("--target", "approved", "--model", "logistic_regression", "--method", "sparse_search", "--window", "2",
         "--people", "8", "--guides", "4")  # fmt: skip


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    rng, folder, places = np.random.default_rng(0), tmp_path_factory.mktemp("years"), []
    for k in range(5):
        frame = pd.DataFrame({"income": rng.integers(10, 100, 120), "age": rng.integers(20, 70, 120)})
        frame["approved"] = (frame.income + 8 * rng.normal(size=120) > 45 + 3 * k).astype(int)
        places.append(folder / f"{2001 + k}.csv")
        frame.to_csv(places[-1], index=False)
    ht.Schema(
        [
            ht.Feature(name="income", kind="integer", bounds=(0, 100), direction="increase"),
            ht.Feature(name="age", kind="integer", bounds=(18, 99), direction="fixed"),
        ]
    ).save(folder / "s.yaml")
    return places


def test_level_picture_and_text(run, years, tmp_path):
    level, picture, keep = tmp_path / "level.json", tmp_path / "kept.png", tmp_path / "keep"
    asked = ("backtest", *years, "--schema", years[0].parent / "s.yaml", *QUICK, "--keep", keep)
    done = run(*asked, "--term", 1, "--hold", "90%", "--out", level, "--plot", picture)
    assert "Backtest of LogisticRegression: 3 periods (2002 to 2004) replayed" in done.output
    assert f"Written to {level}." in done.output
    read = ht.Level.load(level)
    assert (read.hold, read.term, read.guides) == (0.9, 1, 4)
    assert picture.stat().st_size > 10_000
    assert len(list(keep.iterdir())) == 3
    again = json.loads(run(*asked, "--term", 2, "--hold", "0.9", "--json").stdout)
    assert again["level"]["term"] == 2
    assert again["chosen"]["1"]["level"] == read.to_dict()


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["--hold", "95"], "--hold: must be a chance between 0 and 1; got '95'"),
        (["--window", "5"], "too few periods; got 5 for window=5"),
        (["--set", "wachter.norm=l2"], "--set: must begin with model., regime. or method.; got 'wachter'"),
        (["--target", "paid"], "--target: is not a column; got 'paid'"),
        (["--model", "logistc"], "unknown model; got 'logistc'"),
    ],
)
def test_wrong_options_are_answered(run, years, asked, answer):
    assert answer in run("backtest", *years, *QUICK, *asked, code=2).output


def test_other_columns_are_named(run, years, tmp_path):
    other = tmp_path / "2006.csv"
    pd.read_csv(years[0]).rename(columns={"age": "years"}).to_csv(other, index=False)
    assert "period '2006' has other columns than '2001'" in run("backtest", *years, other, *QUICK, code=2).output
