"""Another method's search, asked of a model and its guides together."""

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import equinox as eqx
import numpy as np

from holdtrue.batch import distances, solve, usual_slots
from holdtrue.hold._calibrate import SLACKS
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
        """Whether the base can be asked of several models at once, and its points are where people end."""
        return not self.base.foresees and self.base.serves(
            with_guides(self.base.predictor_, self.guides.members, 0.0).capabilities
        )

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
            Who cannot be brought there gets what the largest smaller slack finds that finds anything; otherwise
            nothing.
        deadline, on_rows
            See `holdtrue.batch.solve`.
        """
        out = _Answers(
            np.array(first.x),
            np.array(first.status),
            np.array(first.cost),
            np.array(first.n_steps),
            # What every answer costs at least: what is proved for the model alone is true of the panel too.
            None if first.bound is None else np.array(first.bound),
        )
        cheapest = np.where(is_found(out.status), self.cost(problems.x, first.x), np.nan)
        left = np.flatnonzero(is_found(out.status))
        if on_rows is not None:
            on_rows(len(problems) - len(left))
        climbs = "differentiable" in self.method(slack, int(problems.target[0]), spared).predictor_.capabilities
        if len(left) and (deadline is None or time.monotonic() < deadline):
            found = self._asked(out, problems, first, left, slack, spared, deadline, proves=True, nearest=fallback)
            if on_rows is not None:
                on_rows(int(found.sum()))
            left = left[~found]
        if not fallback:
            out.status[left] = int(Status.NOT_FOUND)
            out.x[left] = problems.x[left]
        elif not climbs and len(left):
            self._largest(out, problems, first, left, slack, spared, deadline)
        if on_rows is not None and len(left):
            on_rows(len(left))
        bound, status = out.bound, out.status
        if bound is not None:  # a point that lacks something of what was asked for is the cheapest of nothing
            known = (status == int(Status.OPTIMAL)) & ~np.isnan(bound)
            status[known & ~np.isclose(out.cost, bound, rtol=1e-4)] = int(Status.FOUND)
        return Solutions(out.x, status, out.cost, out.n_steps, cheapest.astype(np.float32), bound)

    def _asked(
        self, out: "_Answers", problems: Problems, first: Solutions, rows: np.ndarray, slack: float, spared: int,
        deadline: float | None, *, proves: bool = False, nearest: bool = False,
    ) -> np.ndarray:  # fmt: skip
        """Search for some rows at one slack, into `out`; whether something was found for each.

        With `proves` what is proved of the cost is kept. With `nearest` a climb's end counts as found, which lacks
        least of the slack where nothing reaches it.
        """
        done = np.zeros(len(rows), bool)
        for wanted in np.unique(problems.target[rows]).tolist():
            own = problems.target[rows] == wanted
            some, method = rows[own], self.method(slack, wanted, spared)
            good = margins(method.predictor_.decision, first.x[some], problems.target[some]) >= CLEARANCE
            out.take(some[good], first, some[good])
            if (~good).any():
                others = some[~good]
                begun = _begun(problems, others, first)
                found = method.answers(begun, deadline, None)
                brought = is_found(found.status)
                out.take(others[brought], found, np.flatnonzero(brought))
                out.n_steps[others] += found.n_steps
                if proves and out.bound is not None and found.bound is not None:
                    out.bound[others] = found.bound
                if "differentiable" in method.predictor_.capabilities:
                    agreed, best = self._climbed(method, begun, deadline, len(problems))
                    cheaper = agreed & (best.cost < np.where(brought, found.cost, np.inf))
                    kept = cheaper | (~brought & is_found(best.status) & nearest)
                    out.take(others[kept], best, np.flatnonzero(kept))
                    out.status[others[kept]] = int(Status.FOUND)
                    out.n_steps[others] += best.n_steps
                    brought = brought | kept
                good[~good] = brought
            done[own] = good
        return done

    def _largest(
        self, out: "_Answers", problems: Problems, first: Solutions, rows: np.ndarray, slack: float, spared: int,
        deadline: float | None,
    ) -> None:  # fmt: skip
        """For whom nothing is found at a slack, into `out`: what the largest smaller one finds.

        The points at which all agree by a slack are among those at which they do by a smaller one, so that
        halving finds the largest. Judges have no say: they could not tell without bias afterwards how sure a
        point is that they had chosen.
        """
        steps = [s for s in SLACKS if s < slack]
        low, high = np.full(len(rows), -1), np.full(len(rows), len(steps))
        while (open_ := high - low > 1).any():
            if deadline is not None and time.monotonic() >= deadline:
                break
            middle = (low + high) // 2
            for step in np.unique(middle[open_]).tolist():
                own = np.flatnonzero(open_ & (middle == step))
                found = self._asked(out, problems, first, rows[own], steps[step], spared, deadline)
                low[own[found]], high[own[~found]] = step, step

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


@dataclass
class _Answers:
    """What is known of every person so far."""

    x: np.ndarray
    status: np.ndarray
    cost: np.ndarray
    n_steps: np.ndarray
    bound: np.ndarray | None

    def take(self, rows: np.ndarray, other: "Solutions | _Answers", places: np.ndarray) -> None:
        """Others' answers for some rows."""
        self.x[rows], self.status[rows] = other.x[places], other.status[places]
        self.cost[rows] = other.cost[places]


def _begun(problems: Problems, rows: np.ndarray, first: Solutions) -> Problems:
    """Some people's problems, from the cheapest recourse on: from the person, a descent ends in dearer places."""
    return eqx.tree_at(lambda p: p.start, problems.take(rows), first.x[rows].astype(np.float32))


def as_cheapest(solution: Solutions, cost: np.ndarray) -> Solutions:
    """The same answers, of which each is the cheapest."""
    cheapest = np.where(is_found(solution.status), cost, np.nan).astype(np.float32)
    return eqx.tree_at(lambda s: s.cheapest, solution, cheapest, is_leaf=lambda leaf: leaf is None)
