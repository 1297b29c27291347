"""A plan as people see it: efforts in words, options that are none, pictures, and what a notebook shows."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.batch import Predictor
from holdtrue.encoding import Encoder
from holdtrue.methods._dominated import covers, dominated
from holdtrue.models import Decision, LinearModel
from holdtrue.schema import Table

FEATURES = [
    ht.Feature(name="income", kind="numeric", bounds=(0, 100), unit="$", label="monthly <income>"),
    ht.Feature(name="loan", kind="numeric", bounds=(0, 100), unit="$"),
    ht.Feature(name="term", kind="integer", bounds=(0, 60), unit="months"),
    ht.Feature(name="job", kind="categorical", levels=("none", "part", "full")),
    ht.Feature(name="cosigner", kind="binary", levels=(0, 1)),
]
NOW = {"income": 20.0, "loan": 50.0, "term": 10, "job": "none", "cosigner": 0}


@pytest.fixture(scope="module")
def made():
    """Make a plan of any recourses of one person, whose spreads are 10 $, 10 $ and 6 months."""
    table = pd.DataFrame({
        "income": [0.0, 40, 50, 60, 100], "loan": [0.0, 40, 50, 60, 100], "term": [0, 24, 30, 36, 60],
        "job": ["none", "part", "full", "none", "part"], "cosigner": [0, 1, 0, 1, 0],
    })  # fmt: skip
    encoder = Encoder.fit(ht.Schema(FEATURES), table)
    weights = np.zeros((2, encoder.n_columns), np.float32)
    weights[1, 0] = 10.0
    model = LinearModel(weights, np.array([0, -5], np.float32))
    predictor = Predictor(encoder, Decision(model, np.float32(0.5), 1), np.array([0, 1]))
    people = pd.DataFrame([NOW], index=["Ada"])
    first = ht.Wachter(n_steps=200).fit(predictor).recourse(people)
    assert first.found.all()

    def plan(*recourses, cost=None):
        n = len(recourses)
        many = first.take(np.zeros(n, int))
        rows = [NOW | change for change in recourses]
        columns = {name: np.array([row[name] for row in rows], many.recourse.columns[name].dtype) for name in NOW}
        out = replace(many, recourse=Table(columns, n), person=np.zeros(n, int))
        return out if cost is None else replace(out, cost=np.array(cost, float))

    return plan


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"income": 24.0}, "one small change (4 $)"),
        ({"income": 24.0, "loan": 47.0}, "two small changes (7 $)"),
        ({"income": 24.0, "loan": 20.0, "term": 12}, "two small changes and one large (34 $, 2 months)"),
        ({"job": "full"}, "one medium change"),
        ({"term": 16, "job": "part", "loan": 20.0}, "two medium changes and one large (6 months, 30 $)"),
        ({}, "no change"),
    ],
)
def test_effort_in_words(made, change, text):
    def order(told):
        return sorted(re.sub(r"[(),]", " ", told).split())

    assert order(made(change).effort()[0]) == order(text)


def test_what_is_asked_for_as_one_number(made):
    """In spreads; another category counts one, whatever the norm makes of it."""
    plan = made({"income": 24.0, "loan": 47.0}, {"job": "full"}, {"term": 16, "job": "part", "loan": 20.0}, {})
    np.testing.assert_allclose(plan.asked(), [0.7, 1.0, 5.0, 0.0], atol=1e-5)


def test_an_option_that_asks_for_more_than_another_is_none(made):
    less, more, other = {"income": 50.0}, {"income": 60.0, "cosigner": 1}, {"loan": 20.0}
    assert dominated(made(less, more, other, cost=[1, 2, 0.5])).tolist() == [False, True, False]
    assert dominated(made(more, less, cost=[2, 1])).tolist() == [True, False]
    assert not dominated(made(less, {"income": 40.0, "cosigner": 1}, cost=[1, 2])).any()  # less far
    assert not dominated(made({"job": "part"}, {"job": "full", "cosigner": 1}, cost=[1, 2])).any()
    assert dominated(made({"job": "part"}, {"job": "part", "cosigner": 1}, cost=[1, 2])).tolist() == [False, True]
    plan = made(less, more, cost=[1, 2])
    layout = plan.predictor.encoder.layout
    change = plan.predictor.encoder.encode(plan.recourse) - plan.predictor.encoder.encode(plan.factual)
    assert covers(layout, change, change).all()


@pytest.mark.parametrize(
    ("people", "said"),
    [
        ([0], "1 person by"),
        ([0, 1, 2], "3 people by"),
        ([0, 0, 0], "1 person, 3 options, by"),
        ([0, 0, 1, 2, 2], "3 people, 5 options, by"),
    ],
)
def test_people_are_counted_and_not_their_options(made, people, said):
    plan = replace(made(*[{"income": 60.0}] * len(people)), person=np.array(people))
    assert repr(plan).startswith(f"<RecourseFrame of {said} Wachter: FOUND {len(people)}.")


def test_what_a_notebook_shows_of_a_plan(made):
    plan = made({"income": 60.0}, {"loan": 20.0})
    page = plan._repr_html_()
    assert "Ada, option 1" in page
    assert "<p>RecourseFrame of" in page  # no angle brackets of Python's
    assert "monthly &lt;income&gt;" in page
    assert f"{plan.before[0]:.0%}" in page
    assert f"{plan.after[0]:.0%}" in page
    assert "one large (40 $)" not in page
    assert "one large change (40 $)" in page


def test_pictures(made, tmp_path):
    one = made({"income": 60.0, "job": "full", "term": 13})
    figure = one.plot(tmp_path / "one.png")
    assert figure._repr_png_()[:4] == b"\x89PNG" == (tmp_path / "one.png").read_bytes()[:4]
    path, changes = figure.axes
    line = path.lines[0].get_xydata()
    np.testing.assert_allclose(
        line[[0, -1], 1], [one.before[0], one.predictor.proba(one.recourse)[0, 1]], atol=1e-6
    )
    assert [text.get_text().split("  ")[1] for text in changes.get_yticklabels()] == [
        "monthly <income>",
        "term",
        "job",
    ]
    assert path.get_ylabel() == "chance of a yes"
    many = made({"income": 60.0}, {"income": 70.0}).plot()
    assert "not known" in many.axes[0].get_title(loc="left")
    np.testing.assert_allclose(many.axes[0].collections[0].get_offsets()[:, 0], one.cost[[0, 0]])
    from holdtrue.errors import DataError

    with pytest.raises(DataError, match="nothing to draw"):
        replace(one, status=np.array([3])).plot()


def test_what_a_notebook_shows_of_the_rest():
    page = ht.Schema(FEATURES)._repr_html_()
    assert "monthly &lt;income&gt;" in page
    assert "none, part, full" in page
    assert "0 to 60" in page
    bank = ht.datasets.load("loanapp").subset(range(30))
    shown = bank._repr_html_()
    assert "30 rows" in shown
    assert "people hope for 1" in shown
