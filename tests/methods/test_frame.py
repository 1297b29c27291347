"""What a person reads."""

import numpy as np
import pandas as pd
import pytest

import holdtrue as ht
from holdtrue.methods import Wachter, about, join, phrase
from holdtrue.search import Status
from holdtrue.testing import _world as world

INCOME = ht.Feature(name="income", kind="numeric", bounds=(0, 100_000), unit="$", label="yearly income")
RATIO = ht.Feature(name="ratio", kind="numeric", bounds=(0, 1), step=0.01)


@pytest.mark.parametrize(
    ("feature", "before", "after", "text"),
    [
        (INCOME, 31_000.0, 35_500.0, "raise yearly income from 31,000 $ to 35,500 $"),
        (RATIO, 0.95, 0.9, "lower ratio from 0.95 to 0.9"),
        (ht.Feature(name="job", kind="categorical", levels=("a", "b")), "a", "b", "change job from a to b"),
        (ht.Feature(name="job", kind="categorical", missing="level"), None, "b", "change job from (missing) to b"),
        (ht.Feature(name="flag", kind="binary", levels=(0.0, 1.0)), 0.0, 1.0, "change flag from no to yes"),
        (ht.Feature(name="age", kind="binary", levels=(1.0, 2.0)), 1.0, 2.0, "change age from 1 to 2"),
    ],
)
def test_a_change_in_words(feature, before, after, text):
    assert phrase(feature, before, after) == text


def test_numbers_keep_the_digits_that_matter():
    assert about(1234.5678, INCOME) == "1,235 $"
    assert about(0.123456, RATIO) == "0.1235"
    fine = ht.Feature(name="x", kind="numeric", bounds=(0, 1e-6))
    assert float(about(2.5e-7, fine)) == pytest.approx(2.5e-7, rel=0.01)


def test_one_month_is_not_one_months():
    term = ht.Feature(name="tenure", kind="numeric", bounds=(0, 72), step=0.5, unit="months")
    assert [about(value, term) for value in (0, 1, 1.5, 2.0)] == ["0 months", "1 month", "1.5 months", "2 months"]
    assert about(1, ht.Feature(name="x", kind="integer", bounds=(0, 9), unit="GBs")) == "1 GBs"


def test_a_list_in_words():
    assert join([]) == ""
    assert join(["a"]) == "a"
    assert join(["a", "b", "c"]) == "a, b and c"


@pytest.fixture(scope="module")
def plan():
    table, _ = world.people()
    return (
        Wachter(n_steps=100)
        .fit(world.classifier(limits=False))
        .recourse(table, restrictions={0: {"income": "fixed"}})
    )


def test_sentences_say_what_changed_or_why_not(plan):
    sentences = plan.changes()
    assert len(sentences) == len(plan)
    assert str(sentences).count("\n") == len(plan) - 1
    for i, text in enumerate(sentences):
        if plan.status[i] != int(Status.FOUND):
            assert text == Status(plan.status[i]).message
        else:
            for feature, changed in zip(plan.schema, plan.changed()[i], strict=True):
                assert (feature.title in text) == changed


def test_frame_holds_the_recourse_and_how_it_was_found(plan):
    frame = plan.to_frame()
    assert list(frame.columns[: len(world.SCHEMA)]) == world.SCHEMA.names
    assert set(frame["holdtrue_status"]) <= {s.name for s in Status}
    assert frame["age"].dtype == world.people()[0]["age"].dtype
    decided = world.classifier(limits=False).predict(frame)
    assert (decided[plan.found] == 1).all()


def test_taking_a_part_takes_everything_along(plan):
    part = plan.take([2, 0])
    assert len(part) == 2
    assert part.restrictions == {1: plan.restrictions[0]}
    assert part.status.tolist() == plan.status[[2, 0]].tolist()
    assert part.changes() == [plan.changes()[2], plan.changes()[0]]
    assert part.seconds == pytest.approx(plan.seconds * 2 / len(plan))


def test_chunks_join_to_one_call(plan, monkeypatch):
    from holdtrue.methods import _base

    monkeypatch.setattr(_base, "CHUNK", 70)
    table, _ = world.people()
    again = (
        Wachter(n_steps=100)
        .fit(world.classifier(limits=False))
        .recourse(table, restrictions={0: {"income": "fixed"}, 150: {"debt": "fixed"}})
    )
    assert again.status.tolist()[:150] == plan.status.tolist()[:150]
    assert set(again.restrictions) == {0, 150}
    assert not again.changed()[150, world.SCHEMA.names.index("debt")]


def test_html_escapes_what_it_shows():
    hostile = "<script>alert(1)</script>"
    table = pd.DataFrame({"a": np.linspace(0, 1, 40), "b": [hostile, "x"] * 20})
    y = (table["a"] > 0.5).astype(int).to_numpy()
    clf = ht.RecourseClassifier(
        model=ht.Linear(), regime=ht.StandardTraining(n_epochs=200, step_size=0.05), random_state=0
    )
    plan = clf.fit(table, y).recourse(table)
    page = plan._repr_html_()
    assert "<script>" not in page
    assert "<table>" in page


class Advised(Wachter):
    def consulted(self):
        return ("a", "b")


def test_a_plan_says_which_models_its_search_asked(monkeypatch):
    monkeypatch.setattr("holdtrue.methods._base.CHUNK", 3)
    table, y = world.people()
    method = Advised(n_steps=3).fit(world.classifier(limits=False), table, y)
    plan = method.recourse(table[:5])
    assert plan.consulted == plan.take([0]).consulted == ("a", "b")
    assert method.recourse(table[:5], deadline=1e-9).consulted == ("a", "b")
    over = ht.SNS(base=Advised(n_steps=3), n_steps=2).fit(world.classifier(limits=False), table, y)
    assert over.consulted() == ("a", "b")
    assert ht.SNS().fit(world.classifier(limits=False), table, y).consulted() == ()
