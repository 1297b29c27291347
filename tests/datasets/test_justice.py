"""COMPAS and bail."""

import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def test_compas_labels() -> None:
    by_score = datasets.load("compas", label="score")
    assert (by_score.y == (by_score.groups["score_text"] == "Low")).all()
    assert by_score.target == "score_text"


def test_compas_of_ross() -> None:
    data = datasets.load("compas", variant="actionable-recourse")
    assert data.X.shape == (6172, 7)
    assert {f.name: f.direction for f in data.schema if f.direction != "fixed"} == {"priors_count": "free"}


def test_bail_missing_values() -> None:
    data = datasets.load("bail")
    third = (data.groups["FILE"] == 3).to_numpy()
    assert data.X.loc[third, ["ALCHY", "JUNKY"]].isna().all().all()
    assert int(data.X["PRIORS"].isna().sum()) == 1347
    assert int(data.X["SCHOOL"].isna().sum()) == 213
    assert not datasets.load("bail", variant="robustness-tradeoffs").X.isna().any().any()


@pytest.mark.parametrize(("name", "rows"), [("bail", (4618, 5739)), ("bail_ross", (7911, 8923))])
def test_bail_of_ross(name: str, rows: tuple[int, int]) -> None:
    data = datasets.load(name, variant="actionable-recourse")
    assert tuple(data.groups["cohort"].value_counts().sort_index()) == rows
    moving = {f.name: f.direction for f in data.schema if f.direction != "fixed"}
    assert moving == {"SCHOOL": "increase", "RULE": "free"}
