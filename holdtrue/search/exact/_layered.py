"""The cheapest recourse under a linear model, a network of straight pieces or a panel: proved, or how far."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from holdtrue.encoding import Feasible, Norm
from holdtrue.models import Decision
from holdtrue.search._flipset import INSIDE, OUTSIDE, support
from holdtrue.search._menu import Menu, Support, menu
from holdtrue.search._options import SAME, TINY, by_feature, column_factors
from holdtrue.search._problem import Problems, Solutions, Status, is_found
from holdtrue.search._solver import CLEARANCE
from holdtrue.search.exact._layered_descent import Cost, dive
from holdtrue.search.exact._layers import Member, Members, members_of
from holdtrue.search.exact._programme import Answer, Spans, solve
from holdtrue.search.exact._relaxed import Reach

NEED = 1.5 * CLEARANCE  # score that a row must have: the clearance, and room for float32
HAIR = 1e-5  # score below which no rounding makes a yes of a no
CLOSE = 1e-6  # by which share the best may be dearer than the cheapest
EDGE = 2e-5  # the same, in encoded units, where a linear constraint is kept from a little inside
PIECES = 6  # straight pieces of a network on which a good point is improved
SEVERAL = 8  # points that the model is asked about together
HALVINGS = 8  # of costs, to see what the relaxation alone excludes
STAGE = 0.5  # of what is left between what is excluded and what was found, asked next
LAST = 0.9  # of the cost of what was found, from where on all is asked at once
TRIES = 12  # combinations of features that are too like an option before


def cheapest_in_layers(
    decision: Decision,
    problems: Problems,
    weights: np.ndarray,
    norm: Norm,
    *,
    max_changes: int | None,
    seconds: float,
    deadline: float | None = None,
    on_rows: Callable[[int], None] | None = None,
) -> Solutions:
    """Answer every person's problem by integer programming.

    Parameters
    ----------
    decision : Decision
        Of a model with the capability ``layers``.
    problems : Problems
        Of people whom the decision refuses.
    weights, norm
        What a unit of each encoded column costs, and how costs add up.
    max_changes : int, optional
        Features changed at most.
    seconds : float
        How long one person is searched for.
    deadline, on_rows
        See `holdtrue.batch.solve`.
    """
    tails = problems.feasible.tails
    if tails is not None:
        # Costs by percentile are no part of the programme: it answers who has a way at all, and a way of the least
        # cost by range, of which nothing is proved in percentiles.
        plain = replace(problems, feasible=replace(problems.feasible, tails=None))
        found = cheapest_in_layers(
            decision, plain, weights, norm, max_changes=max_changes, seconds=seconds, deadline=deadline,
            on_rows=on_rows,
        )  # fmt: skip
        status = np.where(found.status == int(Status.OPTIMAL), int(Status.FOUND), found.status)
        rises = [np.asarray(tails.rise(np.asarray(x, np.float64))) for x in (problems.x, found.x)]
        cost = np.array(
            [Cost(own, np.asarray(weights), norm)(to[None])[0] for own, to in zip(*rises, strict=True)]
        )
        cost = np.where(is_found(status), np.sqrt(cost) if norm == "l2" else cost, found.cost)
        bound = np.where(status == int(Status.INFEASIBLE), np.inf, 0.0)
        return replace(found, status=status, cost=cost.astype(found.cost.dtype), bound=bound)
    out = replace(Solutions.unreached(problems), bound=np.zeros(len(problems)))
    assert out.bound is not None
    members = {int(target): members_of(decision, int(target)) for target in np.unique(problems.target)}
    for row in range(len(problems)):
        now = time.monotonic()
        if deadline is not None and now >= deadline:
            break
        until = min(now + seconds, np.inf if deadline is None else deadline)
        asked = _Question.of(decision, members, problems, row, weights, norm, max_changes, until)
        found = asked.answer() if problems.options is None else asked.other_option(problems, row)
        out.status[row], out.n_steps[row] = int(found.status), found.n_nodes
        out.bound[row] = np.sqrt(found.bound) if norm == "l2" else found.bound
        if found.x is not None:
            out.x[row] = found.x
            out.cost[row] = np.sqrt(found.cost) if norm == "l2" else found.cost
        if on_rows is not None:
            on_rows(1)
    return out


@dataclass
class _Found:
    """What is known of one person so far; costs in units that add up."""

    x: np.ndarray | None = None
    cost: float = np.inf
    bound: float = 0.0
    status: Status = Status.NOT_FOUND
    n_nodes: int = 0


@dataclass(frozen=True)
class _Question:
    """One person's menu, what is asked of whom, and when the time is over."""

    decision: Decision
    members: Members
    menu: Menu
    cost: Cost
    feasible: Feasible
    target: int
    max_changes: int | None
    until: float

    @classmethod
    def of(
        cls,
        decision: Decision,
        members: dict[int, Members],
        problems: Problems,
        row: int,
        weights: np.ndarray,
        norm: Norm,
        max_changes: int | None,
        until: float,
    ) -> "_Question":
        """One person's, from everybody's."""
        own = np.asarray(weights, np.float64)
        if problems.options is not None:
            own = own * np.asarray(column_factors(problems.feasible.layout, problems.options[row]))
        open_ = menu(problems.feasible, row, own, norm, tie=0.0)
        cost = Cost(np.asarray(problems.x[row], np.float64), own, norm)
        target = int(problems.target[row])
        return cls(decision, members[target], open_, cost, problems.feasible.one(row), target, max_changes, until)

    # ---- the answer ---------------------------------------------------------------------------------

    def answer(self) -> _Found:
        """The cheapest, or that there is none, or as far as the time went."""
        found = _Found(n_nodes=1)
        if not self.menu.features:
            return replace(found, bound=np.inf, status=Status.INFEASIBLE)
        if not self.members.linear:
            self._improve(found)
        first = self._first(found)
        found.bound = first.bound
        if first.x is not None:
            self._offer(found, [first.x])
            if not self._proved(found):
                self._inside(found)
        if found.x is None and np.isinf(first.bound):
            return self._by_a_hair(found)
        if found.x is None:
            return found
        found.bound = min(found.bound, found.cost)
        found.status = Status.OPTIMAL if self._proved(found) else Status.FOUND
        if self.menu.norm == "l0" and found.status == Status.OPTIMAL:
            self._shorten(found)
        return found

    def _first(self, found: _Found) -> Answer:
        """The programme's answer among what costs less than what was found.

        Of a network the units that may change sides are the fewer the less may be spent. So it is asked from
        below: what the relaxation alone excludes first, then up to half of what is left, and so on.
        """
        if self.members.linear or found.x is None:
            return self._below(found, NEED, -OUTSIDE)
        least, most = 0.0, found.cost
        for _ in range(HALVINGS):
            middle = (least + most) / 2
            hopeless = Spans(self.members, Reach.of(self.menu, middle)).hopeless(NEED)
            least, most = (middle, most) if hopeless else (least, middle)
        bound, at = least, least
        while True:
            at += STAGE * (found.cost - at)
            last = at >= LAST * found.cost
            answer = self._below(found, NEED, -OUTSIDE, limit=None if last else at)
            bound = max(bound, answer.bound)
            over = time.monotonic() >= self.until
            if answer.x is not None or last or over:
                return replace(answer, bound=min(bound, found.cost))

    def _below(
        self, found: _Found, need: float, inside: float, barred: Any = (), limit: float | None = None
    ) -> Answer:
        """The programme's answer among what costs less than what was found; its bound holds for all rows."""
        if limit is None:
            limit = found.cost * (1 - CLOSE) if found.x is not None else np.inf
        spans = None
        if not self.members.linear or self.members.spared:
            spans = Spans(self.members, Reach.of(self.menu, limit))
            if spans.hopeless(need):
                return Answer(None, limit)
        answer = solve(
            self.menu, self.members, spans, need, inside=inside, limit=limit, max_changes=self.max_changes,
            barred=barred, until=self.until,
        )  # fmt: skip
        found.n_nodes += answer.n_nodes
        return replace(answer, bound=min(answer.bound, limit))

    def _inside(self, found: _Found) -> None:
        """Points a little inside of what the model or a linear constraint may refuse by rounding."""
        for further in (1.0, 2.0, 4.0):
            again = self._below(found, further * NEED, INSIDE)
            if again.x is None or self._offer(found, [again.x]):
                return

    def _by_a_hair(self, found: _Found) -> _Found:
        """Nobody whom nothing clears the threshold for has a way, unless something reaches it by a hair."""
        loosely = self._below(found, -HAIR, -HAIR)
        found.bound = loosely.bound
        if loosely.x is None:
            found.status = Status.INFEASIBLE if np.isinf(loosely.bound) else Status.NOT_FOUND
            return found
        if self._offer(found, [loosely.x], least=0.0):
            found.status = Status.OPTIMAL if self._proved(found) else Status.FOUND
        return found

    def _proved(self, found: _Found) -> bool:
        cost, bound = found.cost, found.bound
        if self.menu.norm == "l2":
            cost, bound = np.sqrt(cost), np.sqrt(bound)
        return bool(cost - bound <= CLOSE * (1.0 + cost) + (EDGE if len(self.menu.b) else 0.0))

    # ---- points -------------------------------------------------------------------------------------

    def _offer(self, found: _Found, points: list[np.ndarray], least: float = CLEARANCE) -> bool:
        """Keep the cheapest of some points that the model itself accepts; whether any is."""
        at = np.stack([*points, *points[:1] * SEVERAL])[:SEVERAL].astype(np.float32)
        hardened, margin = (np.asarray(p) for p in _ask(self.decision, self.feasible, self.target, at))
        cost = np.where(margin >= least, self.cost(hardened), np.inf)
        if self.max_changes is not None:
            layout = self.feasible.layout
            changed = [
                np.abs(hardened - self.menu.x)[:, s.start : s.stop].max(axis=1) > 1e-6 for s in layout.slots
            ]
            cost = np.where(np.sum(changed, axis=0) <= self.max_changes, cost, np.inf)
        best = int(cost.argmin())
        if cost[best] < found.cost:
            found.x, found.cost = hardened[best], float(cost[best])
        return bool(np.isfinite(cost[best]))

    def _improve(self, found: _Found) -> None:
        """A good point of a network: what dives find, then the cheapest of the straight piece that it lies on."""
        points = dive(self.menu, self.members, self.cost, NEED, self.max_changes)
        if points:
            self._offer(found, points)
        at = self.menu.x if found.x is None else found.x
        need = NEED
        for _ in range(PIECES):
            if time.monotonic() >= self.until:
                return
            pieces = tuple(Member((), *member.at(at)) for member in self.members.each)
            straight = replace(self, members=Members(pieces))
            answer = straight._below(_Found(found.x, found.cost), need, INSIDE)
            if answer.x is None:
                return
            before = found.cost
            lacks = NEED - float(self.members.margins(answer.x[None])[0])
            if self._offer(found, [answer.x]):
                if found.cost > before * (1 - 1e-4):
                    return
            else:
                need += 0.5 * float(np.clip(lacks, 0.01, 2.0))
            at = answer.x

    def _shorten(self, found: _Found) -> None:
        """In l0 as many changes do, however far: of those features, the least distance."""
        assert found.x is not None
        kept = support(self.menu, found.x)
        open_ = [f for f in self.menu.features if f.start in kept]
        near = replace(self.menu, features=open_, norm="l1")
        small = replace(self, menu=near, members=self.members, max_changes=None)
        spans = (
            None
            if self.members.linear and not self.members.spared
            else Spans(self.members, Reach.of(near, np.inf))
        )
        answer = solve(near, self.members, spans, NEED, inside=INSIDE, until=self.until)
        shorter = _Found()
        if answer.x is None or not small._offer(shorter, [answer.x]) or shorter.x is None:
            return
        if float(self.cost(shorter.x[None])[0]) <= found.cost * (1 + 1e-9):
            found.x = shorter.x

    # ---- options ------------------------------------------------------------------------------------

    def other_option(self, problems: Problems, row: int) -> _Found:
        """A recourse unlike those that a person has; nothing is proved of it."""
        assert problems.options is not None
        barred: list[Support] = []
        for _ in range(TRIES):
            found = _Found(n_nodes=1)
            answer = self._below(found, NEED, INSIDE, barred)
            if answer.x is None or not self._offer(found, [answer.x]):
                return _Found()
            assert found.x is not None
            own = by_feature(problems.feasible.layout, (found.x - self.menu.x)[None])
            share = float(((problems.options[row] @ own[0]) ** 2).sum())
            if share <= SAME * max(float((own**2).sum()), TINY):
                return replace(found, status=Status.FOUND, bound=0.0)
            barred.append(support(self.menu, found.x))
        return _Found()


@eqx.filter_jit
def _ask(decision: Decision, feasible: Feasible, target: int, points: Any) -> tuple[Array, Array]:
    """Points that the person could be at, and the margin there; minus infinity where there is none."""

    def one(point: Array) -> tuple[Array, Array]:
        x, ok = feasible.hard(point)
        return x, jnp.where(ok, decision.margin(x, jnp.asarray(target)), -jnp.inf)

    return jax.vmap(one)(points)
