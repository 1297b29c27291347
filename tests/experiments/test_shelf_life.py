"""The study of trainings: its page is what its maker writes, and what it counts is right on made-up cells."""

import json

import pytest
from scipy.stats import binom

from experiments.shelf_life import page
from experiments.shelf_life._result import Cell, Certified, Offers
from experiments.shelf_life.study import TRAININGS


def test_the_page_is_made_of_what_is_committed():
    if not page.RESULTS.is_dir():
        pytest.skip("a source distribution has no results")
    assert page.PAGE.read_text(encoding="utf-8") == page.page()


def test_a_cell_is_read_as_it_was_written():
    for place in page.RESULTS.glob("*.json"):
        kept = json.loads(place.read_text("utf-8"))
        assert Cell.from_dict(kept).to_dict() == kept


def cell(training: str, people: list[int], cost: float, lasts: float, **other: object) -> Cell:
    n = len(people)
    offers = Offers(found=[1] * n, cost=[cost] * n, survival=[lasts] * n, by_model=[lasts])
    return Cell(
        dataset="german_credit", title=training, seconds={}, split=0, n_train=10, n_test=10, n_models=1,
        accuracy=0.7, auc=0.7, accepted=0.5, accuracy_again=0.7, moved=0.1, people=people,
        offers={"plain": offers, "held": offers}, certified=Certified(**other),  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_same_people_are_those_whom_every_training_refuses():
    some = [cell(t, [1, 2, 3] if i else [2, 3, 4], 1.0 + i, 0.5) for i, t in enumerate(TRAININGS)]
    assert page.n_common(some) == 2
    assert page.common(some, "plain", "cost", TRAININGS[0]) == 1.0
    assert page.common(some, "plain", "cost", TRAININGS[2]) == 3.0
    assert page.common(some[:-1], "plain", "cost", TRAININGS[0]) is None


def test_a_promise_is_refuted_by_more_than_chance_allows():
    """Of 100 people 5 may be without recourse; so many that 1% of draws have as many or more refute it."""
    enough = next(n for n in range(100) if binom.sf(n - 1, 100, 0.05) <= 0.01)
    own = cell(
        "plain", [1], 1.0, 1.0, thresholds=[0.9], n=100, n_use=100, before=[5], after=[[5, enough - 1, enough]]
    )
    assert page.broken(own, 0) == pytest.approx(1 / 3)
    assert page.broken(own, 1) is None
    assert page.without(own, 0) == [0.05, (enough - 1) / 100, enough / 100]


def test_an_interval_over_people():
    some = [cell("plain", [1, 2], 1.0, lasts) for lasts in (0.0, 1.0)]
    assert page.half(some, "plain") == pytest.approx(1.96 * (1 / 3 / 4) ** 0.5)
    assert page.half(some, "generated") is None
