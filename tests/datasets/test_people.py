"""Adults and pupils."""

import pandas as pd
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def test_adult_transitions_and_implications() -> None:
    schema = datasets.load("adult").schema
    moves = schema["marital-status"].transitions
    assert all("Never-married" not in to for to in moves.values())
    assert all("?" not in to and "Never-worked" not in to for to in schema["workclass"].transitions.values())
    assert schema["education"].levels[-1] == "Doctorate"
    assert len(schema.implications) == 3


def test_adult_parts() -> None:
    data = datasets.load("adult")
    counts = pd.Series(data.y).groupby(data.groups["split"]).agg(["size", "sum"])
    assert counts.loc["train"].tolist() == [32561, 7841]
    assert counts.loc["test"].tolist() == [16281, 3846]


def test_adult_of_the_papers() -> None:
    ross = datasets.load("adult", variant="actionable-recourse")
    moving = {f.name: f.direction for f in ross.schema if f.direction != "fixed"}
    assert moving == {"education-num": "increase", "hours-per-week": "free"}
    training = datasets.load("adult", variant="counterfactual-training", protect=True)
    assert [f.name for f in training.schema if f.direction == "fixed"] == ["age"]
    assert [f.kind for f in training.schema].count("categorical") == 8
    assert (len(ross), len(training)) == (32561, 32561)


def test_student_pass_marks() -> None:
    assert int(datasets.load("student_por", pass_mark=14).y.sum()) == 194
    assert int(datasets.load("student_mat").y.sum()) == 265


def test_rocoursenet_label_is_fourteen_upwards() -> None:
    paper = datasets.load("rocoursenet_student", variant="rocoursenet")
    assert sum(len(f.levels) if f.kind == "categorical" else 1 for f in paper.schema) == 83
    source = datasets.load("student_por", pass_mark=14)
    ours, theirs = (pd.Series(d.y).groupby(d.groups["school"]).agg(["size", "sum"]) for d in (source, paper))
    assert ours.equals(theirs)
