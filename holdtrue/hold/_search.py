"""Another method's search, asked of a model and its guides together."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import equinox as eqx
import numpy as np

from holdtrue.batch import distances, solve, usual_slots
from holdtrue.hold._panel import margins, with_guides
from holdtrue.methods import AbstractMethod, AbstractSolverMethod, climbing
from holdtrue.models import PanelModel
from holdtrue.retraining import AbstractRetrained
from holdtrue.search import CLEARANCE, Least, Problems, Solutions, Status, is_found

CLIMB_STEPS = 400  # at most
MUTED = -1e6  # a slack at which no guide is the least sure, so that the model decides alone


@dataclass
class PanelSearch:
    """The search of a method for what the model and its guides accept.

    Attributes
    ----------
    base : AbstractMethod
        Fitted to the model alone.
    guides : AbstractRetrained
    """

    base: AbstractMethod
    guides: AbstractRetrained
    _methods: dict[tuple[float, int, int], AbstractMethod] = field(default_factory=dict)

    @functools.cached_property
    def guidable(self) -> bool:
        """Whether the base can be asked of several models at once."""
        return self.base.serves(with_guides(self.base.predictor_, self.guides.members, 0.0).capabilities)

    def method(self, slack: float, wanted: int, spared: int) -> AbstractMethod:
        """The base, fitted to the panel: made once for each slack, from the one before where there is one."""
        key = (slack, wanted, spared)
        if key not in self._methods:
            near = next((m for (_, other, _), m in self._methods.items() if other == wanted), self.base)
            panel = with_guides(self.base.predictor_, self.guides.members, slack, wanted, spared)
            self._methods[key] = near.rebind(panel)
        return self._methods[key]

    def cheapest(
        self,
        problems: Problems,
        deadline: float | None,
        on_rows: Callable[[int], None] | None,
        spared: int = 0,
    ) -> Solutions:
        """What the base answers for the model alone.

        Of additive models the panel is asked, with guides that agree to everything: a sum more is nothing, and a
        program less to compile is seconds.
        """
        base, targets = self.base, np.unique(problems.target)
        additive = "additive" in base.predictor_.capabilities and self.guidable
        if additive and isinstance(base, AbstractSolverMethod) and len(targets) == 1:
            base = self.method(MUTED, int(targets[0]), spared)
        return base.answers(problems, deadline, on_rows)

    def cost(self, x: np.ndarray, to: np.ndarray) -> np.ndarray:
        """What each way costs, in the base's norm."""
        return distances(self.base.predictor_.encoder, x, to, self.base.norm)

    def guided(
        self,
        problems: Problems,
        first: Solutions,
        slack: float,
        *,
        spared: int = 0,
        fallback: bool = True,
        deadline: float | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> Solutions:
        """Answers that the panel accepts.

        Parameters
        ----------
        problems : Problems
        first : Solutions
            The cheapest answers for the model alone: kept where the panel accepts, else where a search begins.
        slack, spared
            By how much the members must clear the threshold, and how many guides may refuse.
        fallback : bool, default=True
            Who cannot be brought there gets what lacks least of it; otherwise nothing.
        deadline, on_rows
            See `holdtrue.batch.solve`.
        """
        x, status, n_steps = (np.array(leaf) for leaf in (first.x, first.status, first.n_steps))
        cheapest = np.where(is_found(status), self.cost(problems.x, first.x), np.nan)
        cost = np.array(first.cost)
        # What every answer costs at least: what is proved for the model alone is true of the panel too.
        bound = None if first.bound is None else np.array(first.bound)
        left = np.flatnonzero(is_found(status))
        if on_rows is not None:
            on_rows(len(problems) - len(left))
        climbs = "differentiable" in self.method(slack, int(problems.target[0]), spared).predictor_.capabilities
        for asked in _ladder(slack) if fallback and not climbs else (slack,):
            if len(left) == 0 or (deadline is not None and time.monotonic() >= deadline):
                break
            answered = np.zeros(len(left), bool)
            for wanted in np.unique(problems.target[left]).tolist():
                own = problems.target[left] == wanted
                rows = left[own]
                method = self.method(asked, wanted, spared)
                sure = margins(method.predictor_.decision, first.x[rows], problems.target[rows]) >= CLEARANCE
                done = sure.copy()
                if (~sure).any():
                    some = rows[~sure]
                    # From the cheapest recourse on: from the person, a descent ends in other and dearer places.
                    begun = eqx.tree_at(lambda p: p.start, problems.take(some), first.x[some].astype(np.float32))
                    found = method.answers(begun, deadline, None)
                    good = is_found(found.status)
                    x[some[good]], status[some[good]] = found.x[good], found.status[good]
                    cost[some[good]] = found.cost[good]
                    n_steps[some] += found.n_steps
                    if bound is not None and found.bound is not None and asked == slack:
                        bound[some] = found.bound
                    if climbs:
                        agreed, best = self._climbed(method, begun, deadline, len(problems))
                        cheaper = agreed & (best.cost < np.where(good, found.cost, np.inf))
                        kept = cheaper | (~good & is_found(best.status) & fallback)
                        x[some[kept]], cost[some[kept]] = best.x[kept], best.cost[kept]
                        status[some[kept]] = int(Status.FOUND)
                        n_steps[some] += best.n_steps
                        good |= kept
                    done[~sure] = good
                answered[own] = done
            if on_rows is not None:
                on_rows(int(answered.sum()))
            left = left[~answered]
        if not fallback:
            status[left] = int(Status.NOT_FOUND)
            x[left] = problems.x[left]
        if on_rows is not None and len(left):
            on_rows(len(left))
        if bound is not None:  # a point that lacks something of what was asked for is the cheapest of nothing
            known = (status == int(Status.OPTIMAL)) & ~np.isnan(bound)
            status[known & ~np.isclose(cost, bound, rtol=1e-4)] = int(Status.FOUND)
        return Solutions(x, status, cost, n_steps, cheapest.astype(np.float32), bound)

    def _climbed(
        self, method: AbstractMethod, problems: Problems, deadline: float | None, n_in_all: int
    ) -> tuple[np.ndarray, Solutions]:
        """Whom a climb from where they start brings to where the panel agrees, and where it leads.

        As many are searched for at once as if all of the `n_in_all` people climbed: how many do differs from
        slack to slack, and every size is a program to compile.

        Two searches of different kinds are often better than one: the cheaper answer is kept.
        """
        decision = method.predictor_.decision
        assert isinstance(decision.model, PanelModel)
        solver = climbing(method, Least(1 + decision.model.n_guides), CLIMB_STEPS)
        found = solve(solver, problems, slots=usual_slots(solver, n_in_all), deadline=deadline)
        found = method.trimmed(problems, found, deadline)
        agreed = is_found(found.status) & (margins(decision, found.x, problems.target) >= CLEARANCE)
        return agreed, found


def _ladder(slack: float) -> tuple[float, ...]:
    """Slacks to try, one after the other, for those whom the one before finds nothing."""
    return tuple(dict.fromkeys(s for s in (slack, slack / 2, 0.0, -0.5, -1.0) if s <= slack))


def as_cheapest(solution: Solutions, cost: np.ndarray) -> Solutions:
    """The same answers, of which each is the cheapest."""
    cheapest = np.where(is_found(solution.status), cost, np.nan).astype(np.float32)
    return eqx.tree_at(lambda s: s.cheapest, solution, cheapest, is_leaf=lambda leaf: leaf is None)
