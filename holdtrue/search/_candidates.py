"""Search over a list of ready-made candidates, cheapest first."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._problem import Problem, is_found
from holdtrue.search._solver import AbstractSolver, State

CHUNK = 256  # candidates hardened at a time, to keep memory flat in their number


class Queue(NamedTuple):
    """Indices of the person's cheapest candidates, in order of cost, and the next one to ask about."""

    order: Int[Array, " m"]
    at: Int[Array, ""]


class CandidateSolver(AbstractSolver):
    """Ask about the hardened candidates of the wanted decision, in order of cost; stop at the first valid one.

    Costs need no model, so the model is asked only about the `n_candidates` cheapest, `block` at a step.
    """

    decision: Decision
    candidates: Float[Array, "m d"]
    decided: Int[Array, " m"]
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    n_candidates: int = eqx.field(static=True)
    block: int = eqx.field(static=True)

    def start(self, problem: Problem) -> Queue:
        """Order the candidates by what they would cost this person."""
        # Only rows that are themselves decided as wanted are worth becoming like.
        costs = candidate_costs(self, problem, self.candidates, self.decided == problem.target)
        _, order = jax.lax.top_k(-costs, self.n_candidates)
        return Queue(order, jnp.asarray(0))

    def step(self, problem: Problem, state: State[Queue]) -> State[Queue]:
        """Ask about the next block."""
        order, at = state.own
        rows = jax.lax.dynamic_slice(order, (at,), (self.block,))
        x, ok = jax.vmap(problem.feasible.hard)(self.candidates[rows])
        margins: Float[Array, " b"] = jax.vmap(lambda row: self.decision.margin(row, problem.target))(x)

        def one(i: Array, carry: State[Queue]) -> State[Queue]:
            fits: Bool[Array, ""] = ok[i]
            return self.offer(problem, carry, x[i], margins[i], fits)

        state = jax.lax.fori_loop(0, self.block, one, state)
        last = at + self.block >= self.n_candidates
        found = is_found(state.status)
        queue = Queue(order, jnp.minimum(at + self.block, self.n_candidates - self.block))
        return eqx.tree_at(lambda s: (s.own, s.done), state, (queue, found | last))


def candidate_costs(
    solver: AbstractSolver, problem: Problem, candidates: Float[Array, "m d"], counts: Bool[Array, " m"]
) -> Float[Array, " m"]:
    """What becoming like each candidate would cost; infinitely much where it does not count or cannot be."""
    m = candidates.shape[0]
    padding = -m % min(CHUNK, m)
    chunks = jnp.pad(candidates, ((0, padding), (0, 0))).reshape(-1, min(CHUNK, m), problem.x.shape[0])

    def costs(chunk: Float[Array, "c d"]) -> Float[Array, " c"]:
        x, ok = jax.vmap(problem.feasible.hard)(chunk)
        return jnp.where(ok, jax.vmap(lambda row: solver.cost(row, problem))(x), jnp.inf)

    return jnp.where(counts, jax.lax.map(costs, chunks).reshape(-1)[:m], jnp.inf)
