"""The one search loop, and what a solver must say about its steps."""

from abc import abstractmethod
from typing import Any, Generic, TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from holdtrue.encoding import Norm, distance
from holdtrue.models import Decision
from holdtrue.search._options import by_feature, column_factors, surcharged
from holdtrue.search._problem import Problem, Solution, Status, is_found

Own = TypeVar("Own")

# A candidate must clear the boundary by this much in logits, so that decoding and encoding again in another
# precision cannot push it back.
CLEARANCE = 1e-4


class State(eqx.Module, Generic[Own]):
    """Where a search stands: the best hardened valid point seen, and the solver's own variables.

    `best_value` is what the best point is the least of: its cost, unless the solver offers another value.
    """

    best: Float[Array, " d"]
    best_cost: Float[Array, ""]
    best_value: Float[Array, ""]
    status: Int[Array, ""]
    done: Bool[Array, ""]
    n_steps: Int[Array, ""]
    since: Int[Array, ""]
    own: Own


AnyState: TypeAlias = State[Any]
"""A state whose own variables are whatever its solver has."""


class AbstractPriced(eqx.Module):
    """What knows the price of a point."""

    norm: eqx.AbstractVar[Norm]
    cost_weights: eqx.AbstractVar[Float[Array, " d"]]

    def cost(self, x: Float[Array, " d"], problem: Problem) -> Float[Array, ""]:
        """What going from the factual to `x` costs; more where the person has an option like it already."""
        cost = self.distance(x, problem)
        return (
            cost
            if problem.options is None
            else surcharged(cost, problem.options, by_feature(problem.feasible.layout, x - problem.x))
        )

    def distance(self, x: Float[Array, " d"], problem: Problem) -> Float[Array, ""]:
        """The one distance from the factual, other options aside."""
        measured = problem.feasible.measured
        return distance(measured(x), measured(problem.x), self.norm, self.cost_weights)


class AbstractSolver(AbstractPriced):
    """A search as a start and a step. It knows one person; `iterate` and `batch` run it.

    A step proposes candidates; `offer` keeps the cheapest one that is feasible, valid and hardened (or the best by
    a `value` of the solver's own).
    """

    decision: eqx.AbstractVar[Decision]
    n_steps: eqx.AbstractVar[Int[Array, ""]]

    @property
    def n_asked(self) -> int:
        """Rows that one person's step asks the model about; fewer people then share a batch."""
        return 1

    @property
    def on_host(self) -> bool:
        """Whether a step calls back to Python, which one search at a time may do."""
        return self.decision.model.on_host

    @property
    def n_lanes(self) -> int | None:
        """People a processor core searches for at once, where more would only wait for one another."""
        return None

    @abstractmethod
    def start(self, problem: Problem) -> PyTree:
        """Return the solver's own variables at the outset."""

    @abstractmethod
    def step(self, problem: Problem, state: AnyState) -> AnyState:
        """Return the state after one step: candidates offered, own variables moved."""

    def unit_costs(self, problem: Problem) -> Float[Array, " d"]:
        """Cost of a unit of change in each column about the factual, other options aside."""
        tails = problem.feasible.tails
        return self.cost_weights if tails is None else self.cost_weights * tails.slopes(problem.x)

    def weights(self, problem: Problem) -> Float[Array, " d"]:
        """Cost of a unit of change in each column, for steps that treat columns one by one.

        Where a column is measured by percentile this is the slope about the factual: steps are a guess, and what
        they lead to is priced by `cost`.
        """
        return self.unit_costs(problem) * self._factors(problem)

    def _factors(self, problem: Problem) -> Float[Array, " d"] | float:
        """What columns cost more where the person has an option that changes them."""
        return 1.0 if problem.options is None else column_factors(problem.feasible.layout, problem.options)

    def offer(
        self,
        problem: Problem,
        state: AnyState,
        x: Float[Array, " d"],
        margin: Float[Array, ""],
        ok: Bool[Array, ""],
        value: Float[Array, ""] | None = None,
    ) -> AnyState:
        """Keep a hardened candidate where it is allowed, valid and cheaper than the best so far.

        A solver that looks for something else than the cheapest point gives its own `value`, of which less is
        better.
        """
        cost = self.cost(x, problem)
        value = cost if value is None else value
        better = ok & (margin >= CLEARANCE) & (value < state.best_value)
        # Small gains do not keep a search alive.
        worth_it = jnp.where(jnp.isfinite(state.best_value), 1e-3 * jnp.abs(state.best_value), 0.0)
        gained = better & (value < state.best_value - worth_it)
        return eqx.tree_at(
            lambda s: (s.best, s.best_cost, s.best_value, s.status, s.since),
            state,
            (
                jnp.where(better, x, state.best),
                jnp.where(better, cost, state.best_cost),
                jnp.where(better, value, state.best_value),
                jnp.where(better & ~is_found(state.status), int(Status.FOUND), state.status),
                jnp.where(gained, 0, state.since + 1),
            ),
        )

    # ---- the loop's view of a solver ----------------------------------------------------------------

    def begin(self, problem: Problem) -> AnyState:
        """State before the first step; people who need no search, or can have none, are done here."""
        favourable = problem.favourable
        if favourable is None:
            favourable = self.decision.is_target(problem.x, problem.target)
        stuck = ~jnp.any(self._can_move(problem))
        status = jnp.where(
            favourable,
            int(Status.ALREADY_FAVOURABLE),
            jnp.where(stuck, int(Status.INFEASIBLE), int(Status.NOT_FOUND)),
        )
        nothing = jnp.where(favourable, 0.0, jnp.inf).astype(jnp.float32)
        return State(
            best=problem.x,
            best_cost=nothing,
            best_value=nothing,
            status=status.astype(jnp.int32),
            done=favourable | stuck,
            n_steps=jnp.asarray(0),
            since=jnp.asarray(0),
            own=self.start(problem),
        )

    def advance(self, problem: Problem, state: AnyState) -> AnyState:
        """One step of the loop; a search that is done stays as it is."""
        moved = self.step(problem, state)
        n_steps = state.n_steps + 1
        moved = eqx.tree_at(
            lambda s: (s.n_steps, s.done), moved, (n_steps, moved.done | (n_steps >= self.n_steps))
        )
        return jax.tree.map(lambda old, new: jnp.where(state.done, old, new), state, moved)

    def finish(self, problem: Problem, state: AnyState) -> Solution:
        """Return the answer."""
        return Solution(state.best, state.status, state.best_cost, state.n_steps)

    def _can_move(self, problem: Problem) -> Bool[Array, " d"]:
        """Columns in which this person could be anywhere but where they are."""
        feasible = problem.feasible
        in_group = feasible.layout.members[len(feasible.layout.numbers) :].any(axis=0)
        own_level = in_group & (problem.x * feasible.scale + feasible.offset > 0.5)
        elsewhere = (feasible.lower < feasible.upper) | (problem.x < feasible.lower) | (problem.x > feasible.upper)
        return feasible.movable & elsewhere & ~own_level


def iterate(solver: AbstractSolver, problem: Problem) -> Solution:
    """Run one person's search to its end: the reference that `batch` must agree with."""
    state = jax.lax.while_loop(lambda s: ~s.done, lambda s: solver.advance(problem, s), solver.begin(problem))
    return solver.finish(problem, state)
