"""The linearised step as a search: a linear programme, then the cheapest way to its optimum."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Feasible, Norm
from holdtrue.models import Decision
from holdtrue.search._linear_step import best_corner, within
from holdtrue.search._problem import Problem, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

POINTS = 8  # asked at a time along a way
ROUNDS = 4  # of narrowing a way down: 1/8^4 of it at the end

Way = Callable[[Float[Array, ""]], Float[Array, " d"]]  # from the factual at 0 to the corner at 1


class Linearised(NamedTuple):
    """Where the model is linearised next."""

    at: Float[Array, " d"]


class LinearProgramSolver(AbstractSolver):
    """Linearise the margin, solve the linear programme, and look for the cheapest valid point on the way there.

    One step is one linearisation. The optimum lies in a far corner of what is permitted. Two ways lead there
    from the factual: straight, and one feature after the other in the order of what its change gains for its
    cost. Along each, hardened points are asked in rounds that narrow down the first valid one. The next
    linearisation is at the best point found; without one, between the last place and the corner.
    """

    decision: Decision
    cost_weights: Float[Array, " d"]
    radius: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)

    def start(self, problem: Problem) -> Linearised:
        """Linearise where the problem says: at the factual, as a rule."""
        return Linearised(problem.start)

    def step(self, problem: Problem, state: State[Linearised]) -> State[Linearised]:
        """One linearisation, one linear programme, two ways."""
        feasible = within(problem.feasible, self.radius)
        # The loss falls as the margin rises, so both have the same linear programme.
        slope = -jax.grad(self.decision.margin)(state.own.at, problem.target)
        far = best_corner(feasible, slope)
        for way in (lambda t: problem.x + t * (far - problem.x), self._by_gain(problem, slope, far)):
            state = self._first_valid(problem, feasible, state, way)
        mixed = state.own.at + 2 / (state.n_steps + 2) * (far - state.own.at)  # the step of Frank and Wolfe
        lost = ~jnp.all(jnp.isfinite(slope))
        at = jnp.where(is_found(state.status), state.best, jnp.where(lost, state.own.at, mixed))
        return eqx.tree_at(lambda s: (s.own, s.done), state, (Linearised(at), lost))

    def _by_gain(self, problem: Problem, slope: Array, far: Array) -> Way:
        """Way that changes one feature after the other, the most gain for its cost first.

        For a linear model of numbers, a cost that adds up and a box it passes through the cheapest point of
        every score.
        """
        layout = problem.feasible.layout
        owner = np.full(layout.n_columns, len(layout.slots))
        for i, slot in enumerate(layout.slots):
            owner[slot.start : slot.stop] = i
        n_slots = len(layout.slots)
        change = far - problem.x
        gain = jnp.zeros(n_slots + 1).at[owner].add(-slope * change)[:n_slots]
        paid = problem.feasible.measured(far) - problem.feasible.measured(problem.x)
        cost = jnp.zeros(n_slots + 1).at[owner].add(self.cost_weights * jnp.abs(paid))[:n_slots]
        ratio = jnp.where(cost > 0, gain / jnp.where(cost > 0, cost, 1.0), -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-ratio, stable=True), stable=True)
        n_moving = jnp.maximum(jnp.sum(ratio > 0), 1)
        turn = jnp.concatenate([rank, jnp.asarray([n_slots])])[owner]

        def at(t: Array) -> Array:
            return problem.x + jnp.clip(t * n_moving - turn, 0.0, 1.0) * change

        return at

    def _first_valid(self, problem: Problem, feasible: Feasible, state: State, way: Way) -> State:
        """Offer hardened points along a way, in rounds between the last invalid and the first valid one."""

        def ask(t: Float[Array, ""]) -> tuple[Array, Array, Bool[Array, ""]]:
            x, ok = feasible.hard(way(t))
            return x, self.decision.margin(x, problem.target), ok

        def one_round(_: Array, carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
            state, low, high = carry
            t = low + (high - low) * (jnp.arange(POINTS) + 1) / POINTS
            x, margin, ok = jax.vmap(ask)(t)
            valid = ok & (margin >= CLEARANCE)
            cost = jnp.where(valid, jax.vmap(lambda row: self.cost(row, problem))(x), jnp.inf)
            best = jnp.argmin(cost)
            state = self.offer(problem, state, x[best], margin[best], ok[best])
            first = jnp.argmax(valid)
            below = jnp.where(first > 0, t[jnp.maximum(first - 1, 0)], low)
            found = jnp.any(valid)
            return state, jnp.where(found, below, low), jnp.where(found, t[first], high)

        start = (state, jnp.zeros(()), jnp.ones(()))
        return jax.lax.fori_loop(0, ROUNDS, one_round, start)[0]
