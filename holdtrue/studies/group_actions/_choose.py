"""Which few of many actions serve most people, within what they may cost in the mean."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from holdtrue.studies.group_actions._actions import Action, joined, variants
from holdtrue.studies.group_actions._trial import Trial, alike

SWAPS = 6  # rounds in which every chosen action may be exchanged
NODES = 200  # of the integer program: a count, not a time, so that the same is chosen again
PAIRS = 20_000  # of an action and a person whom it serves, of the program that keeps a mean
ALIKE = 150  # people who are mixed from those who choose
SLACK, TIE = 1e-9, 1e-6  # of sums of costs; of two costs, which are of single precision


@dataclass(frozen=True)
class Served:
    """What a few actions do for people: which serves each at the least cost (-1: none), and what that costs."""

    which: np.ndarray
    cost: np.ndarray

    @property
    def covered(self) -> np.ndarray:
        """Whom one of them serves."""
        return self.which >= 0


def served(costs: np.ndarray, most: float | None = None) -> Served:
    """The cheapest of some actions, for everyone whom it costs at most this."""
    if not len(costs):
        n = costs.shape[1]
        return Served(np.full(n, -1), np.full(n, np.inf))
    best = costs.argmin(axis=0)
    least = costs[best, np.arange(costs.shape[1])]
    least = np.where(least <= (np.inf if most is None else most), least, np.inf)
    return Served(np.where(np.isfinite(least), best, -1), least)


def counted(least: np.ndarray, mean: float | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many people can be served, what that costs together and the dearest, of the least cost of each.

    With a `mean` the cheapest come first, as many as keep it: no other choice of people serves more. Of people who
    would pay the same all are served or none. Rows of many are counted at once; where all are served who can be,
    the dearest is infinite: nobody is too dear.
    """
    order, number = np.sort(least, axis=-1), np.arange(1, least.shape[-1] + 1)
    spent = np.cumsum(order, axis=-1)
    after = np.concatenate([order[..., 1:], np.full((*order.shape[:-1], 1), np.inf)], axis=-1)
    most = np.inf if mean is None else mean * number + SLACK
    inside = np.isfinite(order) & (spent <= most) & (after > order + TIE)
    counts = np.where(inside, number, 0).max(axis=-1, initial=0)
    at = np.maximum(counts - 1, 0)[..., None]
    last, paid = (np.take_along_axis(part, at, axis=-1)[..., 0] for part in (order, spent))
    dearest = np.where(counts == np.isfinite(order).sum(axis=-1), np.inf, np.where(counts > 0, last + TIE, 0.0))
    return counts, np.where(counts > 0, paid, 0.0), dearest


def cap_of(costs: np.ndarray, mean: float | None) -> float | None:
    """What nobody may be asked to exceed so that those whom some actions serve keep the mean; None: no cap."""
    cap = float(counted(served(costs).cost, mean)[2])
    return None if np.isinf(cap) else cap


Worth = tuple[int, int, float]


def worths(costs: np.ndarray, rest: np.ndarray, mean: float | None, more: "Pair | None" = None) -> list[Worth]:
    """What each row is worth beside the rows of `rest`: how many they serve, how many others, less the cost.

    Who others are is up to `more`, the same two arrays of their costs: people like those who choose. They come
    before the cost, within what the mean leaves, since who has no part in the choice differs from who has.
    """
    least = np.minimum(costs, rest.min(axis=0, initial=np.inf))
    counts, spent, dearest = counted(least, mean)
    others = np.zeros(len(costs), int)
    if more is not None:
        most = np.minimum(dearest, np.finfo(float).max)[:, None]  # an infinite cost is above every cap
        others = (np.minimum(more[0], more[1].min(axis=0, initial=np.inf)) <= most).sum(axis=1)
    return list(zip(counts.tolist(), others.tolist(), (-spent).tolist(), strict=True))


Pair = tuple[np.ndarray, np.ndarray]


def worth(costs: np.ndarray, mean: float | None = None, others: np.ndarray | None = None) -> Worth:
    """What some actions are worth together: see `worths`."""
    more = None if others is None else (others[:1], others[1:])
    return worths(costs[:1], costs[1:], mean, more)[0] if len(costs) else (0, 0, 0.0)


def _best(
    costs: np.ndarray, rest: Sequence[int], mean: float | None, others: np.ndarray | None
) -> tuple[int, Worth]:
    """Which row is worth most beside some, and what they are worth together."""
    some = list(rest)
    found = worths(costs, costs[some], mean, None if others is None else (others, others[some]))
    best = max(range(len(found)), key=found.__getitem__)
    return best, found[best]


def greedy(costs: np.ndarray, k: int, mean: float | None = None, others: np.ndarray | None = None) -> list[int]:
    """At most `k` rows, each the one that is worth most beside those before it.

    Without a `mean` the number served is submodular, so that this many serve at least 1 - (1 - 1/k)^k of what the
    best `k` do.
    """
    chosen: list[int] = []
    most: Worth = (0, 0, 0.0)
    for _ in range(min(k, len(costs))):
        best, here = _best(costs, chosen, mean, others)
        if here[:2] <= most[:2]:
            break
        chosen.append(best)
        most = here
    return chosen


def swapped(
    costs: np.ndarray, chosen: Sequence[int], mean: float | None = None, others: np.ndarray | None = None
) -> list[int]:
    """A choice after exchanging one at a time for whichever other is worth more."""
    out = list(chosen)
    for _ in range(SWAPS):
        before = list(out)
        for at in range(len(out)):
            best, here = _best(costs, [i for j, i in enumerate(out) if j != at], mean, others)
            if _more(here, worth(costs[out], mean, None if others is None else others[out])):
                out[at] = best
        if out == before:
            break
    return out


def _more(one: Worth, other: Worth) -> bool:
    """Whether it is worth more, and not by rounding alone."""
    return one > (*other[:2], other[2] + SLACK)


def covering(costs: np.ndarray, k: int) -> list[int]:
    """At most `k` rows that serve most people, as an integer program; none where it was not solved to the end."""
    if not costs.size:
        return []
    reach = np.isfinite(costs)
    spent = np.where(reach, costs, 0.0).sum(axis=1)
    order = np.argsort(spent, kind="stable")  # of rows that serve the same people the cheapest stands for all
    _, first = np.unique(reach[order], axis=0, return_index=True)
    rows = order[np.sort(first)]
    m, n = len(rows), costs.shape[1]
    each = sp.hstack([-sp.csr_matrix(reach[rows].T.astype(float)), sp.eye(n)])
    total = sp.csr_matrix(np.concatenate([np.ones(m), np.zeros(n)])[None])
    most: Any = np.append(np.zeros(n), k)
    found = milp(
        np.concatenate([np.zeros(m), -np.ones(n)]),
        constraints=LinearConstraint(sp.vstack([each, total]).tocsc(), -np.inf, most),
        integrality=np.concatenate([np.ones(m), np.zeros(n)]), bounds=Bounds(0, 1), options={"node_limit": NODES},
    )  # fmt: skip
    return [] if found.status != 0 else [int(i) for i in rows[np.flatnonzero(found.x[:m] > 0.5)]]


def covering_within(costs: np.ndarray, k: int, mean: float) -> list[int]:
    """The same with a mean that those who are served keep; none where there are too many pairs to ask about."""
    reach = np.isfinite(costs)
    row, person = np.nonzero(reach)
    if not 0 < len(row) <= PAIRS:
        return []
    (m, n), p = costs.shape, len(row)
    pair = np.arange(p)
    # Whether an action is chosen, then whether it serves a person: only if it is, everybody once, k in all.
    opened = sp.hstack([sp.csr_matrix((-np.ones(p), (pair, row)), (p, m)), sp.eye(p)])
    once = sp.hstack([sp.csr_matrix((n, m)), sp.csr_matrix((np.ones(p), (person, pair)), (n, p))])
    total = sp.csr_matrix(np.concatenate([np.ones(m), np.zeros(p)])[None])
    spent = sp.csr_matrix(np.concatenate([np.zeros(m), costs[row, person] - mean])[None])
    most: Any = np.concatenate([np.zeros(p), np.ones(n), [k, 0.0]])
    found = milp(
        np.concatenate([np.zeros(m), -np.ones(p)]),
        constraints=LinearConstraint(sp.vstack([opened, once, total, spent]).tocsc(), -np.inf, most),
        integrality=np.ones(m + p), bounds=Bounds(0, 1), options={"node_limit": NODES},
    )  # fmt: skip
    return [] if found.status != 0 else np.flatnonzero(found.x[:m] > 0.5).tolist()


def chosen_of(costs: np.ndarray, k: int, mean: float | None = None, others: np.ndarray | None = None) -> list[int]:
    """At most `k` rows: those that serve most, exchanged for those that serve as many and are worth more."""
    best = covering(costs, k) if mean is None else covering_within(costs, k, mean)
    quick = greedy(costs, k, mean, others)
    if best:  # what is left of the k: whoever serves further people
        best = [*best, *(i for i in quick if i not in best)][:k]
    found = [swapped(costs, rows, mean, others) for rows in (quick, best)]
    return max(found, key=lambda rows: worth(costs[rows], mean, None if others is None else others[rows]))


def best_of(costs: np.ndarray, k: int, mean: float | None = None) -> list[int]:
    """The best `k` of a few rows, by trying all: for small numbers alone."""
    return list(
        max(itertools.combinations(range(len(costs)), min(k, len(costs))), key=lambda c: worth(costs[[*c]], mean))
    )


def choose(
    trial: Trial, candidates: Iterable[Action], k: int, rounds: int, mean: float | None = None
) -> list[Action]:
    """At most `k` actions: the best of the candidates, then each changed as long as that helps.

    Parameters
    ----------
    trial : Trial
    candidates : iterable of Action
    k : int
    rounds : int
        How often each may be changed: a little, or to ask also what a candidate asks.
    mean : float, optional
        What those who are served may be asked in the mean.
    """
    pool = list(dict.fromkeys(action for action in candidates if action))
    others = None if mean is None else alike(trial, ALIKE)
    known = None if others is None else others.matrix(pool)
    chosen = [pool[i] for i in chosen_of(trial.matrix(pool), k, mean, known)]
    for _ in range(rounds):
        before = list(chosen)
        for at in range(len(chosen)):
            chosen[at] = _mended(trial, others, chosen, at, pool, mean)
        if chosen == before:
            break
    return chosen


def _mended(
    trial: Trial, others: Trial | None, chosen: list[Action], at: int, pool: list[Action], mean: float | None
) -> Action:
    encoder = trial.predictor.encoder
    beside = [action for i, action in enumerate(chosen) if i != at]
    near = variants(chosen[at], encoder.schema, encoder)
    both = (joined(chosen[at], action, encoder.schema) for action in pool)
    some = list(dict.fromkeys([chosen[at], *near, *(action for action in both if action is not None)]))
    costs, rest = trial.matrix(some), trial.matrix(beside)
    more = None if others is None else (others.matrix(some), others.matrix(beside))
    found = worths(costs, rest, mean, more)
    best = max(range(len(found)), key=found.__getitem__)
    return some[best] if _more(found[best], found[0]) else chosen[at]
