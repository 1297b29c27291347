"""Home-equity lines, Taiwan, Give Me Some Credit."""

import numpy as np
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def width(schema: object) -> int:
    return sum(len(f.levels) if f.kind == "categorical" else 1 for f in schema)


def test_heloc_codes_are_missing_values() -> None:
    data = datasets.load("heloc")
    assert not (data.X < 0).any().any()
    assert int(data.X.isna().all(axis=1).sum()) == 588
    assert int(data.X["MSinceMostRecentDelq"].isna().sum()) == 4664 + 176 + 588
    paper = datasets.load("heloc", variant="consistent-counterfactuals")
    assert width(paper.schema) == 40
    assert int((paper.X == -9).all(axis=1).sum()) == 588


def test_taiwan_inputs() -> None:
    assert width(datasets.load("taiwan_credit", variant="consistent-counterfactuals").schema) == 32
    paper = datasets.load("taiwan_credit", variant="counterfactual-training", protect=True)
    assert width(paper.schema) == 33
    # Age is the 15th input, as in the reference configuration.
    before = paper.schema.features[: paper.schema.names.index("AGE")]
    assert width(before) == 14
    assert [f.name for f in paper.schema if f.direction == "fixed"] == ["AGE"]


@pytest.mark.parametrize(("name", "rows"), [("taiwan_credit", 13272), ("give_me_some_credit", 16714)])
def test_balanced_variants(name: str, rows: int) -> None:
    first, again, other = (
        datasets.load(name, variant="counterfactual-training", random_state=s) for s in (0, 0, 1)
    )
    assert len(first) == rows
    assert first.y.mean() == 0.5
    assert first.X.equals(again.X)
    assert not first.X.equals(other.X)
    # The rarer class is there in full in both.
    assert np.array_equal(first.X[first.y == 0], other.X[other.y == 0])


def test_gmsc_missing_values() -> None:
    X = datasets.load("give_me_some_credit").X
    missing = X.isna().sum()
    assert (missing["MonthlyIncome"], missing["NumberOfDependents"]) == (29731, 3924)
    assert missing["NumberOfTimes90DaysLate"] == 269
    assert X["NumberOfTimes90DaysLate"].max() < 96
