"""The smallest slack at which judges are kept as often as wanted."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from holdtrue.metrics import mean_survival, models_needed

# In log-odds. Below 0 guides may lack a little; the model itself never may.
SLACKS = (
    -2.0,
    -1.0,
    -0.5,
    -0.25,
    0.0,
    0.125,
    0.25,
    0.375,
    0.5,
    0.75,
    1.0,
    1.25,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
)
START = SLACKS.index(0.0)
FEWEST_FOUND = 0.5  # share of people without whom a slack says nothing about the rest
DEAR = 1.25  # in multiples of the cheapest's cost: holding for less is not asked for at a second number spared


@dataclass(frozen=True)
class Outcome:
    """What came of one slack.

    Attributes
    ----------
    accepts : bool array (judges, people)
        Of those for whom a recourse was found that the panel accepts.
    found : float
        Their share.
    price : float
        Their mean cost in multiples of the cheapest's.
    """

    accepts: np.ndarray
    found: float
    price: float


@dataclass(frozen=True)
class Part:
    """What came of one slack for a part of the people.

    Attributes
    ----------
    accepts : bool array (judges, people)
        Of those for whom a recourse was found that the panel accepts.
    reachable : int
        For how many the model alone has one.
    cost, cheapest : float array (people,)
        What recourse costs those who were found, and the cheapest for the model alone.
    """

    accepts: np.ndarray
    reachable: int
    cost: np.ndarray
    cheapest: np.ndarray

    @property
    def kept(self) -> float:
        """How often judges accept, on average; NaN where nobody was found."""
        return float(self.accepts.mean()) if self.accepts.size else math.nan

    def join(self, other: "Part") -> "Part":
        """Both parts of the people."""
        return Part(
            np.concatenate([self.accepts, other.accepts], axis=1),
            self.reachable + other.reachable,
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.cheapest, other.cheapest]),
        )

    def outcome(self) -> Outcome:
        """The share found, and what they pay."""
        found = len(self.cost)
        price = float(self.cost.mean() / max(self.cheapest.mean(), 1e-9)) if found else math.nan
        return Outcome(self.accepts, found / max(self.reachable, 1), price)


@dataclass(frozen=True)
class Point:
    """A slack with what was measured at it."""

    slack: float
    kept: float
    lower: float
    found: float
    price: float
    people: int


def people_for(hold: float, confidence: float, least: int) -> int:
    """How many people are asked: enough that, were all kept, the bound could lie above the level."""
    return max(least, models_needed(hold, confidence))


def smallest_slack(
    ask: Callable[[float], Outcome], hold: float, confidence: float, dearest: float = math.inf
) -> tuple[Point, bool, list[Point]]:
    """The smallest slack whose lower bound reaches the level, whether there is one, and all that were asked.

    Survival grows with slack, so that halving finds it; where none reaches the level it is the slack with the
    highest bound.

    Parameters
    ----------
    ask : callable
        What comes of a slack.
    hold, confidence : float
    dearest : float
        A price from which on no slack is of use: the price grows with slack as survival does, so that nothing
        beyond it is asked.
    """
    asked: dict[int, Point] = {}

    def enough(i: int) -> bool:
        if i not in asked:
            asked[i] = point_of(SLACKS[i], ask(SLACKS[i]), confidence)
        return asked[i].lower >= hold and asked[i].found >= FEWEST_FOUND

    def too_much(i: int) -> bool:
        return asked[i].found < FEWEST_FOUND or asked[i].price >= dearest

    last = len(SLACKS) - 1
    # Up to `low` it does not do; `high` does, or is too much: from there on too few are found, or it is too dear.
    low, high, at, step = -1, last + 1, START, 1
    while low < last and high > last:
        if enough(at) or too_much(at):
            high = at
        else:
            low, at, step = at, min(at + step, last), 2 * step
    while high <= last and high - low > 1:
        middle = (low + high) // 2
        if enough(middle) or too_much(middle):
            high = middle
        else:
            low = middle
    points = [asked[i] for i in sorted(asked)]
    if high <= last and enough(high):
        return asked[high], True, points
    usable = [point for point in points if point.found >= FEWEST_FOUND] or points
    return max(usable, key=lambda point: (point.lower, -point.slack)), False, points


@dataclass(frozen=True)
class Choice:
    """How many guides are spared and at which slack, whether that reaches the level, and all that was asked."""

    spared: int
    point: Point
    reached: bool
    asked: list[tuple[int, Point]]


def cheapest_slack(
    ask: Callable[[float, int], Outcome], sparing: Sequence[int], hold: float, confidence: float
) -> Choice:
    """Of the smallest slacks, one for each number of guides spared, the one that reaches the level cheapest.

    Where none does, the one with the highest bound. Where one does for little more than the cheapest recourse's
    cost, further numbers are not tried: there is little to save, and every slack is a search for everybody. A
    number below the first makes a level dearer, and is tried only where none before it reaches it.
    """
    tried, asked, dearest = [], [], math.inf
    for spared in sparing:
        if dearest <= DEAR or (spared < sparing[0] and dearest < math.inf):
            break
        point, reached, seen = smallest_slack(lambda slack, few=spared: ask(slack, few), hold, confidence, dearest)
        if reached:
            dearest = min(dearest, point.price)
        tried.append((spared, point, reached))
        asked += [(spared, other) for other in seen]
    enough = [one for one in tried if one[2]]
    best = min(enough, key=lambda one: one[1].price) if enough else max(tried, key=lambda one: one[1].lower)
    spared, point, reached = best
    return Choice(spared, point, reached, asked)


def point_of(slack: float, outcome: Outcome, confidence: float) -> Point:
    """What was measured at a slack."""
    n = outcome.accepts.shape[1]
    if n == 0:
        return Point(slack, math.nan, 0.0, outcome.found, math.nan, 0)
    share, lower = mean_survival(outcome.accepts, confidence)
    return Point(slack, share, lower, outcome.found, outcome.price, n)
