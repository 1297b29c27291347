"""By which margin judges are kept as often as wanted: measured when a `Holding` is fitted."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.hold._calibrate import Outcome, Part, cheapest_slack, people_for, point_of
from holdtrue.hold._draws import level_at, spared_for, sparing
from holdtrue.methods import Level, checked_level
from holdtrue.schema import Restrictions, Table
from holdtrue.search import is_found

if TYPE_CHECKING:
    from holdtrue.hold._holding import Holding

FEWEST_JUDGES = 5
ONE_IN = 3  # of the people that a slack is measured by, who are asked first
FEWEST_ASKED = 30  # of them, at least


def measured(holding: "Holding", people: Table | None, also: Sequence[float] = ()) -> list[Level]:
    """The slack for a level, chosen by judges, and after it what was seen on the way to it and to others."""
    hold = holding.hold
    level = Level(
        hold, 0.0, vary=holding.judges_.vary, method=holding.base_name, confidence=holding.confidence,
        judges=len(holding.judges_), guides=len(holding.guides_), threshold=holding.predictor_.threshold,
    )  # fmt: skip
    n = 0 if people is None else people.n_rows
    least = people_for(hold, holding.confidence, 1)
    if people is None or n == 0 or len(holding.judges_) < FEWEST_JUDGES:
        why = f"{n} refused people and {len(holding.judges_)} judges: too few to measure by"
        return [replace(level, note=f"Not measured: {why}.")]
    ask, spared = _asking(holding, people), 0
    levels = []
    if not holding.panel_search.guidable:
        best = point_of(0.0, ask(None, 0, hold), holding.confidence)
        reached = best.lower >= hold
        note = f"{holding.base_name} cannot be guided by several models: it searches for the model alone."
    else:
        found = {}
        for wanted in dict.fromkeys((hold, *also)):
            numbers = sparing(checked_level(wanted, "Holding"), len(holding.guides_), holding.predictor_)
            found[wanted] = cheapest_slack(
                lambda slack, few, wanted=wanted: ask(slack, few, wanted), numbers, wanted, holding.confidence
            )
            levels += [level_at(replace(level, spared=few), point) for few, point in found[wanted].asked]
        spared, best, reached = found[hold].spared, found[hold].point, found[hold].reached
        note = "" if reached else f"No margin that was tried keeps {100 * hold:g}%; this one keeps most."
        if best.people == 0:
            note = "Nobody was brought to where all agree, at any margin. Does a guide refuse everybody?"
        elif not reached and best.people < least:
            note = (
                f"{best.people} people are too few to show {100 * hold:g}% with {holding.confidence:.0%} "
                f"confidence, which takes {least}."
            )
    first = replace(level_at(replace(level, spared=spared), best), reached=reached, note=note)
    return [first, *(other for other in levels if (other.slack, other.spared) != (best.slack, spared))]


def _asking(holding: "Holding", people: Table) -> Callable[[float | None, int, float], Outcome]:
    """What comes of a slack for these people, with so many guides spared; None: of the cheapest recourse.

    On trees every person is a search of its own, and some are asked first: where these are not kept as often
    as wanted, on average, a bound for everybody would not be either, and the others are spared.
    """
    target = np.full(people.n_rows, holding.predictor_.decision.favourable)
    problems = holding.problems(people, target, Restrictions())
    first = holding.panel_search.cheapest(problems, None, None, spared_for(holding.hold, len(holding.guides_)))
    everybody = np.arange(people.n_rows)
    some = everybody[::ONE_IN]
    parts = [some, np.setdiff1d(everybody, some)]
    if "trees" not in holding.predictor_.capabilities or len(some) < FEWEST_ASKED:
        parts = [everybody]

    @functools.cache
    def of_part(part: int, slack: float | None, spared: int) -> Part:
        rows = parts[part]
        asked, own = problems.take(rows), first.take(rows)
        solution = own
        if slack is not None:
            solution = holding.panel_search.guided(asked, own, slack, spared=spared, fallback=False)
        frame = holding.unjudged(solution, people.take(rows), target[rows])
        found = frame.found
        accepts = holding.judges_.accepts(frame.recourse.take(found), frame.target[found])
        cheapest = holding.panel_search.cost(asked.x[found], own.x[found])
        return Part(accepts, int(is_found(own.status).sum()), frame.cost[found], cheapest)

    def ask(slack: float | None, spared: int, hold: float) -> Outcome:
        asked = of_part(0, slack, spared)
        if len(parts) > 1 and not asked.kept < hold:
            asked = asked.join(of_part(1, slack, spared))
        return asked.outcome()

    return ask
