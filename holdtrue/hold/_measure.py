"""By which margin judges are kept as often as wanted: measured when a `Holding` is fitted."""

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.hold._calibrate import Choice, Outcome, Part, cheapest_slack, fewest_found, people_for, point_of
from holdtrue.hold._draws import brought, level_at, spared_for, sparing
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
    if people is None or n == 0 or len(holding.judges_) < FEWEST_JUDGES:
        why = f"{n} refused people and {len(holding.judges_)} judges: too few to measure by"
        return [replace(level, note=f"Not measured: {why}.")]
    asking = _Asking(holding, people)
    if not holding.panel_search.guidable:
        best = point_of(0.0, asking.ask(None, 0, hold), holding.confidence)
        note = f"{holding.base_name} cannot be guided by several models: it searches for the model alone."
        return [replace(level_at(level, best), reached=best.lower >= hold, note=note)]
    chosen, seen = [], {}
    for wanted in dict.fromkeys((hold, *also)):
        numbers = sparing(checked_level(wanted, "Holding"), len(holding.guides_), holding.predictor_)
        choice = cheapest_slack(
            lambda slack, few, wanted=wanted: asking.ask(slack, few, wanted),
            asking.everybody, numbers, wanted, holding.confidence, fewest_found(wanted, holding.confidence, n),
        )  # fmt: skip
        own = replace(level, hold=wanted, spared=choice.spared, reached=choice.reached)
        chosen.append(level_at(replace(own, note=_note(own, choice)), choice.point))
        for few, point in choice.asked:
            seen[few, point.slack] = level_at(replace(level, spared=few), point)
    for one in chosen:
        seen.pop((one.spared, one.slack), None)
    return [*chosen, *seen.values()]


def _note(level: Level, choice: Choice) -> str:
    """What should be known of a margin."""
    point = choice.point
    if not any(asked.people for _, asked in choice.asked):
        return "Nobody was brought to where all agree, at any margin. Does a guide refuse everybody?"
    least = people_for(level.hold, level.confidence, 1)
    if level.reached:
        return brought(point.found)
    if point.people < least:
        return (
            f"{point.people} people are too few to show {100 * level.hold:g}% with {level.confidence:.0%} "
            f"confidence, which takes {least}."
        )
    return f"No margin that was tried keeps {100 * level.hold:g}%; this one is the surest for everybody."


class _Asking:
    """What comes of a slack for these people, with so many guides spared.

    On trees every person is a search of its own, and some are asked first: where these are not kept as often
    as wanted, on average, a bound for everybody would not be either, and the others are spared.
    """

    def __init__(self, holding: "Holding", people: Table) -> None:
        self._holding, self._people = holding, people
        self._target = np.full(people.n_rows, holding.predictor_.decision.favourable)
        self._problems = holding.problems(people, self._target, Restrictions())
        spared = spared_for(holding.hold, len(holding.guides_))
        self._first = holding.panel_search.cheapest(self._problems, None, None, spared)
        everybody = np.arange(people.n_rows)
        some = everybody[::ONE_IN]
        self._parts = [some, np.setdiff1d(everybody, some)]
        if "trees" not in holding.predictor_.capabilities or len(some) < FEWEST_ASKED:
            self._parts = [everybody]
        self._of_part = functools.cache(self._searched)

    def ask(self, slack: float | None, spared: int, hold: float) -> Outcome:
        """Of those who are brought there; None: of the cheapest recourse."""
        asked = self._of_part(0, slack, spared)
        if len(self._parts) > 1 and not asked.kept < hold:
            asked = asked.join(self._of_part(1, slack, spared))
        return asked.outcome()

    def everybody(self, slack: float, most: float, spared: int, first: bool) -> Outcome:
        """Of everybody, or of those asked first: who is not brought to a slack goes as far as there is a way.

        How far that is does not depend on the slack, so it is looked for once, from the largest slack on.
        """

        def of(part: int) -> Part:
            return self._of_part(part, slack, spared).or_else(self._of_part(part, most, spared, fallback=True))

        asked = of(0)
        if len(self._parts) > 1 and not first:
            asked = asked.join(of(1))
        return asked.outcome()

    def _searched(self, part: int, slack: float | None, spared: int, fallback: bool = False) -> Part:
        holding, rows = self._holding, self._parts[part]
        asked, own = self._problems.take(rows), self._first.take(rows)
        solution = own
        if slack is not None:
            solution = holding.panel_search.guided(asked, own, slack, spared=spared, fallback=fallback)
        frame = holding.unjudged(solution, self._people.take(rows), self._target[rows])
        found = frame.found
        accepts = holding.judges_.accepts(frame.recourse.take(found), frame.target[found])
        cheapest = holding.panel_search.cost(asked.x[found], own.x[found])
        return Part(accepts, found[is_found(own.status)], frame.cost[found], cheapest)
