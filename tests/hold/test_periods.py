"""Past periods of which no guide can be made: told before any is trained, by the period's number or file."""

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import holdtrue as ht
from holdtrue.cli import cli
from holdtrue.errors import DataError
from holdtrue.hold._draws import resampled

COLUMNS = ["loanprc", "obrat", "unver"]
BANK = ht.datasets.load("loanapp").subset(range(300))
assert BANK.schema is not None
SCHEMA = ht.Schema([BANK.schema[name] for name in COLUMNS])
X: Any = BANK.X[COLUMNS]
Y = np.asarray(BANK.y)
GOOD = (X[:100], Y[:100])
ONE = Y == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((X[:100].rename(columns={"obrat": "ratio"}), Y[:100]), "columns of the schema are absent; got .'obrat'."),
        ((X[:100].assign(unver=7), Y[:100]), "column 'unver' has levels unseen at fit"),
        ((X[:100], Y[:50]), "has 100 rows but 50 labels"),
        ((X[ONE], Y[ONE]), "has one class, of which no model can be made; got 1"),
        ((X[:100], np.where(Y[:100] == 1, "yes", "no")), "has a class unseen at fit; got '"),
        ((X[:0], Y[:0]), "is empty; got 0 rows"),
        (X[:100], "must be rows and labels; got DataFrame"),
    ],
    ids=["columns", "levels", "short", "one class", "other class", "empty", "no labels"],
)
def test_a_bad_period_is_told_before_anything_is_trained(bad, words):
    clf = ht.RecourseClassifier(
        schema=SCHEMA, model=ht.Linear(), regime=ht.StandardTraining(n_epochs=2), hold=None, random_state=0
    ).fit(X, Y)
    trained = []
    with pytest.raises(DataError, match=f"^Holding, period 2: {words}"):
        ht.Holding(n_guides=2, n_judges=2).fit(clf, X, Y, tables=[GOOD, bad], on_model=trained.append)
    assert not trained


def test_resamples_are_as_they_were():
    (first, labels), *_ = resampled([GOOD], 1, np.random.RandomState(3))
    assert first.n_rows == 100
    assert labels.sum() == Y[:100].sum()  # within classes


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.rename(columns={"obrat": "ratio"}), "columns of the schema are absent"),
        (lambda table: table.assign(approved=1), "has one class; no model can be made of it; got '1'"),
        (
            lambda table: table.assign(approved=table.approved.map({0: "no", 1: "yes"})),
            "a class unseen in the table",
        ),
        (lambda table: table[:0], "is empty; got 0 rows"),
        (lambda table: table.drop(columns="approved"), "is not a column; got 'approved'"),
    ],
    ids=["columns", "one class", "other class", "empty", "no labels"],
)
def test_the_command_names_the_file(change, words, tmp_path):
    table = X.assign(approved=Y)
    table.to_csv(tmp_path / "all.csv", index=False)
    table[:100].to_csv(tmp_path / "good.csv", index=False)
    change(table[:100]).to_csv(tmp_path / "bad.csv", index=False)
    SCHEMA.save(tmp_path / "s.json")
    said = [
        "--target",
        "approved",
        "--schema",
        tmp_path / "s.json",
        "--guides",
        2,
        "--out",
        tmp_path / "m.holdtrue",
    ]
    said += ["--period", tmp_path / "good.csv", "--period", tmp_path / "bad.csv"]
    ran = CliRunner().invoke(cli, ["fit", str(tmp_path / "all.csv"), *map(str, said)], prog_name="holdtrue")
    assert ran.exit_code == 2
    assert f"error: --period {tmp_path / 'bad.csv'}: " in ran.output
    assert words in ran.output
    assert not (tmp_path / "m.holdtrue").exists()


def test_a_backtest_names_the_file_too(tmp_path):
    table = X.assign(approved=Y)
    places = [tmp_path / f"{i}.csv" for i in range(4)]
    for i, place in enumerate(places):
        table[i * 60 : (i + 1) * 60].to_csv(place, index=False)
    table[:60].assign(approved=1).to_csv(places[2], index=False)
    words = ["backtest", *map(str, places), "--target", "approved", "--window", "1"]
    ran = CliRunner().invoke(cli, words, prog_name="holdtrue")
    assert ran.exit_code == 2
    assert f"error: backtest, {places[2]}: must hold a few classes; got 1 distinct" in ran.output
