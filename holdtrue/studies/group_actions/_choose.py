"""Which few of many actions serve most people: trying each on everybody, then choosing."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from holdtrue.batch import Predictor, distances
from holdtrue.encoding import Norm, broken_limits
from holdtrue.schema import Table
from holdtrue.studies.group_actions._actions import Action, taken, variants

SWAPS = 4  # rounds in which every chosen action may be exchanged
NODES = 200  # of the integer program: a count, not a time, so that the same is chosen again


@dataclass
class Trial:
    """People on whom actions are tried, each action once.

    Parameters
    ----------
    predictor : Predictor
    people : Table
        Refused people, checked.
    target : int array
        The wanted class of each.
    norm : str
        What costs are counted in.
    max_cost : float or None
        What nobody is asked to exceed.
    """

    predictor: Predictor
    people: Table
    target: np.ndarray
    norm: Norm
    max_cost: float | None = None
    known: dict[Action, np.ndarray] = field(default_factory=dict)

    def costs(self, action: Action) -> np.ndarray:
        """What the action costs whom it serves; infinite for others: still refused, or a limit broken.

        Whom it asks nothing of is not served, since they are refused as they are.
        """
        if action not in self.known:
            self.known[action] = self._try(action)
        return self.known[action]

    def _try(self, action: Action) -> np.ndarray:
        encoder, out = self.predictor.encoder, np.full(self.people.n_rows, np.inf)
        after, able = taken(action, self.people, encoder.schema)
        rows = np.flatnonzero(able & _whole(after, action))
        if not len(rows):
            return out
        people, after = self.people.take(rows), after.take(rows)
        x, z = encoder.encode(people), encoder.encode(after)
        cost = np.asarray(distances(encoder, x, z, self.norm), np.float64)
        yes = self.predictor.decide_of(self.predictor.logits_of(z)) == self.target[rows]
        if self.max_cost is not None:
            yes &= cost <= self.max_cost
        kept = np.flatnonzero(yes)
        if len(kept):
            broken = broken_limits(encoder, people.take(kept), after.take(kept))
            kept = kept[[not texts for texts in broken]]
        out[rows[kept]] = cost[kept]
        return out

    def matrix(self, actions: Sequence[Action]) -> np.ndarray:
        """Costs of shape (actions, people)."""
        return np.stack([self.costs(action) for action in actions]) if actions else np.zeros((0, len(self.target)))


@dataclass(frozen=True)
class Served:
    """What a few actions do for people: which serves each at the least cost (-1: none), and what that costs."""

    which: np.ndarray
    cost: np.ndarray

    @property
    def covered(self) -> np.ndarray:
        """Whom one of them serves."""
        return self.which >= 0


def served(costs: np.ndarray) -> Served:
    """The cheapest of some actions, for everyone."""
    if not len(costs):
        n = costs.shape[1]
        return Served(np.full(n, -1), np.full(n, np.inf))
    best = costs.argmin(axis=0)
    least = costs[best, np.arange(costs.shape[1])]
    return Served(np.where(np.isfinite(least), best, -1), least)


def worth(costs: np.ndarray) -> tuple[int, float]:
    """How many some actions serve; of equal ones, what they cost together, less is more."""
    found = served(costs)
    return int(found.covered.sum()), -float(found.cost[found.covered].sum())


def greedy(costs: np.ndarray, k: int) -> list[int]:
    """At most `k` rows, each the one that serves most whom none before it serves; of equal ones the cheapest.

    As the number served is submodular, this many serve at least 1 - (1 - 1/k)^k of what the best `k` do.
    """
    chosen: list[int] = []
    left = np.ones(costs.shape[1], bool)
    for _ in range(min(k, len(costs))):
        reach = np.isfinite(costs[:, left])
        counts = reach.sum(axis=1)
        if not counts.max(initial=0):
            break
        spent = np.where(reach, costs[:, left], 0.0).sum(axis=1)
        best = max(range(len(costs)), key=lambda i: (counts[i], -spent[i]))
        chosen.append(best)
        left &= ~np.isfinite(costs[best])
    return chosen


def swapped(costs: np.ndarray, chosen: Sequence[int]) -> list[int]:
    """A choice after exchanging one at a time for whichever other serves more, or as many at less cost."""
    out = list(chosen)
    for _ in range(SWAPS):
        before = list(out)
        for at in range(len(out)):
            rest = [i for j, i in enumerate(out) if j != at]
            base = costs[rest].min(axis=0) if rest else np.full(costs.shape[1], np.inf)
            both = np.minimum(costs, base)
            reach = np.isfinite(both)
            counts, spent = reach.sum(axis=1), np.where(reach, both, 0.0).sum(axis=1)
            best = max(range(len(costs)), key=lambda i: (counts[i], -spent[i]))
            if (counts[best], -spent[best]) > (counts[out[at]], -spent[out[at]] + 1e-9):
                out[at] = best
        if out == before:
            break
    return out


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


def chosen_of(costs: np.ndarray, k: int) -> list[int]:
    """At most `k` rows: those that serve most, exchanged for cheaper ones that serve as many."""
    quick, best = swapped(costs, greedy(costs, k)), covering(costs, k)
    return quick if worth(costs[quick]) >= worth(costs[best]) else swapped(costs, best)


def best_of(costs: np.ndarray, k: int) -> list[int]:
    """The best `k` of a few rows, by trying all: for small numbers alone."""
    return list(
        max(itertools.combinations(range(len(costs)), min(k, len(costs))), key=lambda c: worth(costs[[*c]]))
    )


def choose(trial: Trial, candidates: Iterable[Action], k: int, rounds: int) -> list[Action]:
    """At most `k` actions: the best of the candidates, then each changed a little as long as that helps."""
    pool = list(dict.fromkeys(action for action in candidates if action))
    costs = trial.matrix(pool)
    chosen = [pool[i] for i in chosen_of(costs, k)]
    for _ in range(rounds):
        before = list(chosen)
        for at in range(len(chosen)):
            chosen[at] = _mended(trial, chosen, at)
        if chosen == before:
            break
    return chosen


def _mended(trial: Trial, chosen: list[Action], at: int) -> Action:
    schema, encoder = trial.predictor.encoder.schema, trial.predictor.encoder
    rest = [action for i, action in enumerate(chosen) if i != at]
    value: Callable[[Action], tuple[int, float]] = lambda action: worth(trial.matrix([*rest, action]))  # noqa: E731
    best, most = chosen[at], value(chosen[at])
    for action in variants(chosen[at], schema, encoder):
        here = value(action)
        if here > (most[0], most[1] + 1e-9):
            best, most = action, here
    return best


def _whole(after: Table, action: Action) -> np.ndarray:
    """Who has a value in every column that the action speaks of."""
    out = np.ones(after.n_rows, bool)
    for change in action:
        out &= ~after.missing(change.feature)
    return out
