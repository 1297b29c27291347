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
FEWEST_FOUND = 0.25  # share of people brought to a slack, at least, where no fewer are enough to show the level
FINALISTS = 3  # slacks, where none reaches the level, of which all people are asked
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
    accepts : bool array (judges, found)
        Of those for whom a recourse was found that the panel accepts.
    found : bool array (people,)
        Who they are, of those for whom the model alone has one.
    cost, cheapest : float array (found,)
        What recourse costs those who were found, and the cheapest for the model alone.
    """

    accepts: np.ndarray
    found: np.ndarray
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
            np.concatenate([self.found, other.found]),
            np.concatenate([self.cost, other.cost]),
            np.concatenate([self.cheapest, other.cheapest]),
        )

    def or_else(self, other: "Part") -> "Part":
        """The same people, with what another slack found for those for whom nothing is found here."""
        found = self.found | other.found

        def of_both(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
            out = np.empty((*mine.shape[:-1], len(found)), mine.dtype)
            out[..., other.found], out[..., self.found] = theirs, mine
            return out[..., found]

        return Part(
            of_both(self.accepts, other.accepts), found, of_both(self.cost, other.cost),
            of_both(self.cheapest, other.cheapest),
        )  # fmt: skip

    def outcome(self) -> Outcome:
        """The share found, and what they pay."""
        found = len(self.cost)
        price = float(self.cost.mean() / max(self.cheapest.mean(), 1e-9)) if found else math.nan
        return Outcome(self.accepts, found / max(len(self.found), 1), price)


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


def fewest_found(hold: float, confidence: float, people: int) -> float:
    """The share of so many people who must be brought to a slack, lest it say nothing of the level.

    As many as a bound takes. Where those are most of them, or more than there are, a quarter: the level is not to
    be shown then, but there is still a surest slack.
    """
    return min(FEWEST_FOUND, models_needed(hold, confidence) / max(people, 1))


def smallest_slack(
    ask: Callable[[float], Outcome],
    hold: float,
    confidence: float,
    dearest: float = math.inf,
    fewest: float = FEWEST_FOUND,
) -> tuple[Point | None, list[Point]]:
    """The smallest slack whose lower bound reaches the level, if there is one, and all that were asked.

    Survival grows with slack, so that halving finds it. It is the survival of those who are brought there: fewer
    and fewer, from some slack on fewer than it takes to show the level. Who is not goes as far as there is a way.

    Parameters
    ----------
    ask : callable
        What comes of a slack.
    hold, confidence : float
    dearest : float
        A price from which on no slack is of use: the price grows with slack as survival does, so that nothing
        beyond it is asked.
    fewest : float
        Share of people who must be brought to a slack: beyond it nothing is asked either. See `fewest_found`.
    """
    asked: dict[int, Point] = {}

    def enough(i: int) -> bool:
        if i not in asked:
            asked[i] = point_of(SLACKS[i], ask(SLACKS[i]), confidence)
        return asked[i].lower >= hold and asked[i].found >= fewest

    def too_much(i: int) -> bool:
        return asked[i].found < fewest or asked[i].price >= dearest

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
    return (asked[high] if high <= last and enough(high) else None), points


@dataclass(frozen=True)
class Choice:
    """How many guides are spared and at which slack, whether that reaches the level, and all that was asked."""

    spared: int
    point: Point
    reached: bool
    asked: list[tuple[int, Point]]


def cheapest_slack(
    ask: Callable[[float, int], Outcome],
    everybody: Callable[[float, float, int, bool], Outcome],
    sparing: Sequence[int],
    hold: float,
    confidence: float,
    fewest: float = FEWEST_FOUND,
) -> Choice:
    """Of the smallest slacks, one for each number of guides spared, the one that reaches the level cheapest.

    Where one does for little more than the cheapest recourse's cost, further numbers are not tried: there is
    little to save, and every slack is a search for everybody. A number below the first makes a level dearer, and
    is tried only where none before it reaches it.

    Where none does it is the surest for everybody, and of equals the cheapest: for those who are brought to it,
    and those who go as far as there is a way for them. By those alone who are brought there a smaller slack, which
    brings more, would seem surer than a larger one, though nobody were surer by it. All are compared on the same
    people: where only some are asked at first, on these, and then the `FINALISTS` on all.

    Parameters
    ----------
    ask : callable
        What comes of a slack, and a number spared, for those who are brought there.
    everybody : callable
        The same with all others, given the largest slack too that was asked with this number, and whether to ask
        only those who are asked first.
    sparing
        Numbers of guides that may refuse, in the order in which they are tried.
    hold, confidence, fewest : float
        See `smallest_slack`.
    """
    asked, reaching, dearest = [], [], math.inf
    for spared in sparing:
        if dearest <= DEAR or (spared < sparing[0] and dearest < math.inf):
            break
        point, seen = smallest_slack(lambda slack, few=spared: ask(slack, few), hold, confidence, dearest, fewest)
        if point is not None:
            dearest = min(dearest, point.price)
            reaching.append((spared, point))
        asked += [(spared, other) for other in seen]
    if reaching:
        spared, point = min(reaching, key=lambda one: one[1].price)
        return Choice(spared, point, True, asked)
    most = {spared: max(point.slack for few, point in asked if few == spared) for spared, _ in asked}
    sure = list(dict.fromkeys((spared, point.slack) for spared, point in asked))
    for first in (True, False):
        outcomes = [everybody(slack, most[spared], spared, first) for spared, slack in sure]
        points = [point_of(slack, outcome, confidence) for (_, slack), outcome in zip(sure, outcomes, strict=True)]
        order = sorted(range(len(sure)), key=lambda i: _surest(points[i]))
        spared, point = sure[order[0]][0], points[order[0]]
        sure = [sure[i] for i in order[:FINALISTS]]
    return Choice(spared, point, False, asked)


def _surest(point: Point) -> tuple[float, float, float]:
    """What orders slacks: the surest first, of equals the cheapest, then the smallest."""
    return -point.lower, math.inf if math.isnan(point.price) else point.price, point.slack


def point_of(slack: float, outcome: Outcome, confidence: float) -> Point:
    """What was measured at a slack."""
    n = outcome.accepts.shape[1]
    if n == 0:
        return Point(slack, math.nan, 0.0, outcome.found, math.nan, 0)
    share, lower = mean_survival(outcome.accepts, confidence)
    return Point(slack, share, lower, outcome.found, outcome.price, n)
