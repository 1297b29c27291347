"""Changes that a recourse does not need, taken back."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from holdtrue.search._problem import Problem
from holdtrue.search._solver import CLEARANCE, AbstractSolver

MOST = 32
"""Features tried a round, those that changed least first: of a recourse that changes more, these are tried."""


def trim(solver: AbstractSolver, problem: Problem, x: Float[Array, " d"]) -> tuple[Array, Array]:
    """Take back, one after the other, every change without which the answer is the same; and the cost then.

    A descent moves all features together, so that when the last of them crosses the boundary others may have moved
    for nothing. Each round puts every changed feature back by itself, asks the model about all of these points,
    and takes the cheapest that is accepted, keeps every limit and costs less. A point that lacked something (of a
    panel's agreement, for instance) may not lack more.
    """
    members = jnp.asarray(problem.feasible.layout.members)
    n = min(MOST, members.shape[0])
    needed = jnp.minimum(_spares(solver, problem, x), CLEARANCE)

    def price(at: Array) -> Array:
        # Without what a further option pays for being like those before it: that is no reason to change more.
        return solver.distance(at, problem)

    def put_back(member: Array, at: Array) -> tuple[Array, Array]:
        moved = jnp.where(member, problem.x, at)
        kept = jnp.all(_spares(solver, problem, moved) >= needed) & problem.feasible.satisfied(moved)
        kept &= jnp.isfinite(solver.cost(moved, problem))  # else it is no option of its own any more
        return moved, jnp.where(kept, price(moved), jnp.inf)

    def round(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        at, cost, _ = carry
        size = jnp.max(members * jnp.abs(at - problem.x), axis=1)
        nearest = jnp.argsort(jnp.where(size > 0, size, jnp.inf))[:n]
        points, costs = jax.vmap(put_back, in_axes=(0, None))(members[nearest], at)
        costs = jnp.where(size[nearest] > 0, costs, jnp.inf)
        best = jnp.argmin(costs)
        better = costs[best] < cost
        return jnp.where(better, points[best], at), jnp.where(better, costs[best], cost), better

    at, _, _ = jax.lax.while_loop(lambda carry: carry[2], round, (x, price(x), jnp.any(x != problem.x)))
    return at, solver.cost(at, problem)


def _spares(solver: AbstractSolver, problem: Problem, x: Float[Array, " d"]) -> Float[Array, " m"]:
    """What a point has beyond what is asked of it; of a panel, also what the model itself has."""
    decision = solver.decision
    spares = [solver.spare(problem, x)]
    if decision.model.alone is not decision.model:
        spares.append(decision.of(decision.model.alone).margin(x, problem.target))
    return jnp.stack(spares)
