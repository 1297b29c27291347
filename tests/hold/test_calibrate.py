"""The smallest margin that keeps what is wanted: known answers, and simulations of what the bound promises."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from holdtrue.hold._calibrate import (
    DEAR,
    FINALISTS,
    SLACKS,
    Outcome,
    Part,
    cheapest_slack,
    fewest_found,
    people_for,
    smallest_slack,
)
from holdtrue.hold._draws import sparing
from holdtrue.metrics import mean_survival

LEVELS = {0.9: (), 0.95: (), 0.97: (), 0.99: ("trees",)}


def alike(ask):
    """Everybody is brought to every slack."""
    return lambda slack, most, spared, first: ask(slack, spared)


def outcome(share: float, found: float = 1.0, judges: int = 20, people: int = 400) -> Outcome:
    """Answers of which exactly this share is a yes, spread evenly over judges and people."""
    yes = np.zeros(judges * people, bool)
    yes[: round(share * judges * people)] = True
    return Outcome(np.random.default_rng(0).permutation(yes).reshape(judges, people), found, 1.0)


def test_the_smallest_of_the_slacks_that_do():
    asked = []

    def ask(slack):
        asked.append(slack)
        return outcome(float(norm.cdf(1.0 + slack)))

    best, points = smallest_slack(ask, 0.95, 0.95)
    does = [mean_survival(outcome(float(norm.cdf(1.0 + s))).accepts).lower >= 0.95 for s in SLACKS]
    assert best is not None
    assert best.slack == SLACKS[does.index(True)]
    assert len(asked) == len(set(asked)) <= 7
    assert [p.slack for p in points] == sorted(asked)


@pytest.mark.parametrize("always", [1.0, 0.999])
def test_a_level_that_any_slack_keeps_takes_the_smallest(always):
    best, _ = smallest_slack(lambda slack: outcome(always), 0.9, 0.95)
    assert best is not None
    assert best.slack == SLACKS[0]


def test_a_level_that_none_keeps_is_not_reached_and_the_surest_for_everybody_is_taken():
    def ask(slack, spared=0):
        return Outcome(outcome(0.5 + 0.05 * expit(slack)).accepts, 1.0, 2.0 + slack)

    assert smallest_slack(ask, 0.9, 0.95)[0] is None
    choice = cheapest_slack(ask, lambda slack, most, spared, first: ask(slack), (0,), 0.9, 0.95)
    assert not choice.reached
    assert choice.point.slack == SLACKS[-1]


def brought(slack):
    """Answers for those who are brought to a slack: of 400 people fewer and fewer, who are kept more and more."""
    people = round(400 * expit(1.0 - slack))
    return outcome(float(norm.cdf(1.0 + 0.2 * slack)), found=people / 400, people=people)


def test_a_slack_to_which_few_are_brought_counts_where_they_are_enough_to_show_the_level():
    assert fewest_found(0.95, 0.95, 400) == 59 / 400
    assert fewest_found(0.99, 0.95, 400) == fewest_found(0.99, 0.95, 100) == 0.25
    best, points = smallest_slack(brought, 0.95, 0.95, fewest=59 / 400)
    assert best is None  # 0.95 takes 3.2, to which 40 people are brought, 59 at least would show it
    assert max(p.slack for p in points if p.people >= 59) >= 2.5
    few, _ = smallest_slack(brought, 0.9, 0.95, fewest=fewest_found(0.9, 0.95, 400))
    assert few is not None
    assert 0.1 < few.found < 0.5
    assert few.lower >= 0.9


def test_of_margins_that_do_not_reach_a_level_the_surest_for_everybody_and_of_equals_the_cheapest():
    def everybody(slack, most, spared, first):
        assert most == max(s for s in asked if s is not None)
        return Outcome(outcome(min(0.6 + 0.1 * slack, 0.7)).accepts, 1.0, 2.0 + slack)

    asked = []

    def ask(slack, spared):
        asked.append(slack)
        return outcome(0.8 - 0.05 * slack)  # of those who are brought there the smallest would seem the surest

    choice = cheapest_slack(ask, everybody, (0,), 0.95, 0.95)
    assert not choice.reached
    assert choice.point.slack == min(s for s in asked if s >= 1)  # as sure as any larger one, and cheaper


def test_where_no_margin_reaches_a_level_all_are_compared_on_the_same_people():
    asked = []

    def everybody(slack, most, spared, first):
        asked.append((slack, first))
        sure = 0.6 + 0.05 * slack if first else 0.75 - 0.05 * slack
        return Outcome(outcome(min(sure, 0.8), people=100 if first else 400).accepts, 1.0, 2.0 + slack)

    choice = cheapest_slack(lambda slack, spared: outcome(0.8), everybody, (0,), 0.95, 0.95)
    screened = sorted({slack for slack, first in asked if first}, key=lambda s: (-min(0.6 + 0.05 * s, 0.8), s))
    finalists = [slack for slack, first in asked if not first]
    assert finalists == screened[:FINALISTS]  # by those who are asked first
    assert choice.point.slack == min(finalists)  # and of these by all
    assert choice.point.people == 400


def test_where_too_few_are_asked_to_show_a_level_larger_slacks_are_still_tried():
    def ask(slack, spared=0):
        return Outcome(outcome(min(0.9 + 0.02 * slack, 1.0), people=100).accepts, 1.0, 2.0 + slack)

    choice = cheapest_slack(ask, alike(ask), (1,), 0.99, 0.95, fewest_found(0.99, 0.95, 100))
    assert not choice.reached
    assert choice.point.kept == 1.0


@pytest.mark.parametrize("until", [1.5, 2.0, 5.0])
def test_between_too_little_and_too_few_the_slack_that_does_is_found(until):
    best, _ = smallest_slack(
        lambda s: outcome(0.99 if s >= 1.5 else 0.8, found=0.9 if s <= until else 0.2), 0.95, 0.95
    )
    assert best is not None
    assert best.slack == 1.5


def test_where_many_are_lost_at_once_smaller_slacks_are_tried():
    best, _ = smallest_slack(lambda s: outcome(0.99, found=0.9 if s <= -1 else 0.2), 0.95, 0.95)
    assert best is not None
    assert best.slack == SLACKS[0]


def test_of_numbers_spared_the_one_that_reaches_the_level_cheapest():
    def ask(slack, spared):
        given = outcome(float(norm.cdf(1.0 + slack - 0.1 * spared)))
        return Outcome(given.accepts, given.found, 3.0 + slack - 0.5 * spared)

    choice = cheapest_slack(ask, alike(ask), (0, 4), 0.95, 0.95)
    assert choice.reached
    assert choice.spared == 4
    assert choice.point == smallest_slack(lambda slack: ask(slack, 4), 0.95, 0.95)[0]
    assert {spared for spared, _ in choice.asked} == {0, 4}

    def hardly(slack, spared):
        return outcome(0.5 + 0.01 * spared)

    none = cheapest_slack(hardly, alike(hardly), (0, 4), 0.95, 0.95)
    assert not none.reached
    assert none.spared == 4


def test_a_second_number_spared_is_tried_where_the_first_is_dear_and_no_further_than_it_is_cheaper():
    def asking(base):
        asked = []

        def ask(slack, spared):
            asked.append((spared, slack))
            given = outcome(float(norm.cdf(1.0 + slack - 0.5 * spared)))
            return Outcome(given.accepts, given.found, base + slack)

        return ask, asked

    ask, asked = asking(DEAR - 1.0)
    cheap = cheapest_slack(ask, alike(ask), (0, 4), 0.95, 0.95)
    assert cheap.reached
    assert cheap.point.price <= DEAR
    assert {spared for spared, _ in asked} == {0}
    ask, asked = asking(3.0)
    dear = cheapest_slack(ask, alike(ask), (0, 4), 0.95, 0.95)
    assert (dear.spared, dear.point) == (0, cheapest_slack(ask, alike(ask), (0,), 0.95, 0.95).point)
    most = max(slack for spared, slack in asked if spared == 4)
    assert mean_survival(ask(most, 4).accepts).lower < 0.95  # it did not go on to where so many spared would do


def test_parts_of_the_people_are_the_whole():
    rng = np.random.default_rng(1)
    accepts, cost, cheapest = rng.random((5, 9)) < 0.8, rng.random(9), rng.random(9)
    found = np.array([True] * 4 + [False] * 3 + [True] * 5)
    parts = [
        Part(accepts[:, rows], found[people], cost[rows], cheapest[rows])
        for rows, people in ((slice(0, 4), slice(0, 6)), (slice(4, 9), slice(6, 12)))
    ]
    both = parts[0].join(parts[1]).outcome()
    np.testing.assert_array_equal(both.accepts, accepts)
    assert both.found == 9 / 12
    assert both.price == pytest.approx(cost.mean() / cheapest.mean())
    nobody = Part(np.zeros((5, 0), bool), np.zeros(0, bool), np.zeros(0), np.zeros(0))
    assert np.isnan(nobody.kept)
    assert nobody.outcome().found == 0


def test_who_is_not_found_here_has_what_was_found_there():
    here, there = np.array([True, False, True, False]), np.array([True, True, False, False])
    one = Part(np.array([[True, False]]), here, np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    other = Part(np.array([[False, True]]), there, np.array([9.0, 2.0]), np.array([9.0, 2.0]))
    both = one.or_else(other)
    np.testing.assert_array_equal(both.found, [True, True, True, False])
    np.testing.assert_array_equal(both.accepts, [[True, True, False]])
    np.testing.assert_array_equal(both.cost, [1.0, 2.0, 3.0])


def test_as_many_people_as_a_bound_takes():
    assert people_for(0.99, 0.95, 200) == 299
    assert people_for(0.95, 0.95, 200) == 200
    all_kept = np.ones((20, 299), bool)
    assert mean_survival(all_kept).lower > 0.99 > mean_survival(all_kept[:, :298]).lower - 1e-4


@pytest.mark.parametrize(("of_models", "of_people"), [(0.0, 0.0), (0.8, 0.0), (0.0, 2.0), (0.6, 1.5)])
def test_the_bound_lies_below_the_truth_as_often_as_it_says(of_models, of_people):
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(400_000, 2)) * (of_models, of_people)
    truth = expit(3.0 + draws.sum(axis=1)).mean()
    below = 0
    for _ in range(400):
        chance = expit(3.0 + of_models * rng.normal(size=(20, 1)) + of_people * rng.normal(size=(1, 150)))
        below += mean_survival(rng.random((20, 150)) < chance).lower <= truth
    # 0.95 is aimed at, 0.92 was seen where single models refuse many; a deviation of 400 draws is 0.013.
    assert below / 400 >= (0.89 if of_models else 0.92)


def test_the_bound_needs_models_and_people():
    assert mean_survival(np.ones((1, 50), bool)).lower == pytest.approx(0.05 ** (1 / 50))
    assert mean_survival(np.array([[True, False, True]])).lower == 0
    assert np.isnan(mean_survival(np.ones((3, 0), bool)).share)


def test_fewer_are_spared_only_where_the_level_is_not_reached_otherwise():
    seen = set()

    def ask(slack, spared):
        seen.add(spared)
        return outcome(0.999 if spared == 0 and slack >= 1.0 else 0.95)

    strict = cheapest_slack(ask, alike(ask), (1, 4, 0), 0.98, 0.95)
    assert (strict.spared, strict.point.slack, strict.reached) == (0, 1.0, True)
    seen.clear()
    assert cheapest_slack(ask, alike(ask), (1, 4, 0), 0.9, 0.95).spared == 1
    assert 0 not in seen


def test_a_level_that_leaves_no_guide_of_twenty_tries_none_spared_last():
    tried = {hold: sparing(hold, 20, SimpleNamespace(capabilities=kinds)) for hold, kinds in LEVELS.items()}
    assert tried == {0.9: (2,), 0.95: (1,), 0.97: (1, 0), 0.99: (1, 4, 0)}
