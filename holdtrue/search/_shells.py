"""Search by sampling: shells around the person, in a space, until one of them holds a recourse."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._problem import Problem, Solution, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State
from holdtrue.search._space import AbstractSpace


class Shell(NamedTuple):
    """The shell to draw from next, how wide shells are, and whether they still shrink."""

    centre: Float[Array, " k"]
    low: Float[Array, ""]
    high: Float[Array, ""]
    shrinking: Bool[Array, ""]


class ShellSolver(AbstractSolver):
    """Draw `n_candidates` points of a shell, harden them, ask the model about all of them at once.

    The first shell is the ball of `radius`. With `contract`, it is halved while it holds a recourse; then
    shells of its width follow outwards up to the first that holds one. Without `grow` every step draws from the
    first ball again. The cheapest recourse seen is kept, and with `sparsify` its changed features are set back
    to the factual one by one, the smallest change first, as long as the decision stays.
    """

    decision: Decision
    space: AbstractSpace
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    radius: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    n_candidates: int = eqx.field(static=True)
    grow: bool = eqx.field(static=True)
    contract: bool = eqx.field(static=True)
    sparsify: bool = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """All candidates of a shell at once."""
        return self.n_candidates

    def start(self, problem: Problem) -> Shell:
        """Start with the ball around the person."""
        radius = jnp.asarray(self.radius, jnp.float32)
        return Shell(self.space.centre(problem), jnp.zeros_like(radius), radius, jnp.asarray(self.contract))

    def step(self, problem: Problem, state: State[Shell]) -> State[Shell]:
        """Ask about one shell, then move to the next."""
        centre, low, high, shrinking = state.own
        key = jax.random.fold_in(problem.key, state.n_steps)
        drawn = self.space.draw(problem, centre, key, low, high, self.n_candidates)
        x, ok = jax.vmap(problem.feasible.hard)(drawn)
        margins = jax.vmap(lambda row: self.decision.margin(row, problem.target))(x)
        valid = ok & (margins >= CLEARANCE)
        costs = jnp.where(valid, jax.vmap(lambda row: self.cost(row, problem))(x), jnp.inf)
        nearest = jnp.argmin(costs)
        state = self.offer(problem, state, x[nearest], margins[nearest], ok[nearest])

        holds = jnp.any(jnp.isfinite(costs))
        halve = shrinking & holds
        next_low = jnp.where(halve, 0.0, high)
        # Outwards again, the shells keep the width that the first ball was brought down to.
        width = jnp.where(shrinking, high, high - low)
        next_high = jnp.where(halve, high / 2, high + width)
        if not self.grow:
            next_low, next_high = low, high
        # A ball of twice the size held a recourse, so one shell beyond the last halving is enough.
        done = is_found(state.status) & ~shrinking
        done = done | (self.grow & ~halve & (next_low > self.space.reach(problem)))
        own = Shell(centre, next_low, next_high, halve)
        return eqx.tree_at(lambda s: (s.own, s.done), state, (own, done))

    def finish(self, problem: Problem, state: State[Shell]) -> Solution:
        """Return the cheapest recourse seen, with as few changes as it needs."""
        x = state.best
        if self.sparsify:
            x = fewest_changes(self, problem, x, is_found(state.status))
        cost = jnp.where(is_found(state.status), self.cost(x, problem), state.best_cost)
        return Solution(x, state.status, cost, state.n_steps)


def fewest_changes(
    solver: AbstractSolver, problem: Problem, x: Float[Array, " d"], found: Bool[Array, ""]
) -> Float[Array, " d"]:
    """Set changed features of a recourse back to the factual, the smallest change first, while it stays one.

    Every round asks about each feature set back by itself and takes the smallest change that is not needed; it
    ends where every change left is needed, given the others. A feature is set back whole: all columns of a
    category. What the rest of the row requires (a linear constraint, an implication) stays.
    """
    slots = problem.feasible.layout.slots
    mask = jnp.stack([_columns(slot.start, slot.stop, x.shape[0]) for slot in slots])

    def round_(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        at, _ = carry
        trial = jnp.where(mask, problem.x, at)
        size = jnp.sum(jnp.where(mask, jnp.abs(at - problem.x), 0.0), axis=1)
        margins = jax.vmap(lambda row: solver.decision.margin(row, problem.target))(trial)
        kept = jax.vmap(problem.feasible.satisfied)(trial) & (margins >= CLEARANCE)
        if problem.options is not None:  # with fewer changes it may be like an option the person has
            kept = kept & jnp.isfinite(jax.vmap(lambda row: solver.cost(row, problem))(trial))
        size = jnp.where(kept & (size > 0), size, jnp.inf)
        pick = jnp.argmin(size)
        more = jnp.isfinite(size[pick])
        return jnp.where(more, trial[pick], at), more

    return jax.lax.while_loop(lambda carry: carry[1], round_, (x, found))[0]


def _columns(start: int, stop: int, d: int) -> Bool[Array, " d"]:
    at = jnp.arange(d)
    return (at >= start) & (at < stop)
