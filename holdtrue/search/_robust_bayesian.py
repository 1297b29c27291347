"""Robust Bayesian search: from the boundary to where a yes is likely even under the worst densities."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm
from holdtrue.models import Decision, Kernel, log_density
from holdtrue.search._norm_ball import NormBall, movable_ball
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

BISECTIONS = 7  # the boundary to less than a hundredth of the way
STILL = 1e-5  # a step shorter than this, in encoded units, ends the search


class Odds(NamedTuple):
    """Own variables: the iterate, the labelled sample about the boundary, its kernels, and how far to go."""

    u: Float[Array, " d"]
    points: Float[Array, "m d"]
    accepted: Bool[Array, " m"]
    refusing: Kernel
    accepting: Kernel
    radius: Float[Array, ""]
    begun: Bool[Array, ""]


class OddsSolver(AbstractSolver):
    """Descend the log-odds of a refusal, as kernel densities of a sample about the boundary have them at worst.

    The boundary is looked for on the way to each of the `n_neighbours` nearest rows of the wanted decision, by
    bisection. `n_samples` points of the l2 ball of `spread` about the nearest such place are labelled
    by the model. From there on projected gradient steps lower ``log most(refused) - log least(accepted)`` within
    the ball of `norm` about the person that reaches `slack` beyond the boundary. Of the hardened valid points
    asked about, the one with the least odds is kept, whatever it costs.

    A label is what the model says about the hardened point, so that the sample has the boundary a person meets.
    The two points between which the decision turned belong to it: no label is without a point.
    """

    decision: Decision
    rows: Float[Array, "m d"]
    decided: Int[Array, " m"]
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    step_size: Float[Array, ""]
    sigma: Float[Array, ""]
    refused_radius: Float[Array, ""] | None
    accepted_radius: Float[Array, ""] | None
    spread: Float[Array, ""]
    slack: Float[Array, ""]
    norm: Norm = eqx.field(static=True)
    n_neighbours: int = eqx.field(static=True)
    n_samples: int = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """One row a step, but many at the start."""
        return max(self.n_neighbours, self.n_samples)

    def start(self, problem: Problem) -> Odds:
        """Find the boundary, draw about it, and ask for labels."""
        before, after, begun = self.boundary(problem)
        ball = NormBall(problem.feasible.movable.astype(jnp.float32), "l2")
        keys = jax.random.split(problem.key, self.n_samples)
        drawn = jax.vmap(lambda key: problem.feasible.clip(after + ball.draw(key, self.spread)))(keys)
        labels = jax.vmap(lambda at: self._accepts(problem, at))(drawn)
        radius = self._away(problem, after) + self.slack
        n_free = jnp.maximum(jnp.sum(problem.feasible.movable), 1).astype(jnp.float32)
        points = jnp.concatenate([drawn, before[None], after[None]])
        reach = 2 * jnp.max(jnp.linalg.norm(points - problem.x, axis=1)) + 2 * self.slack
        return Odds(
            u=after,
            points=points,
            accepted=jnp.concatenate([labels, jnp.array([False, True])]),
            refusing=Kernel.of(self.sigma, self.refused_radius, n_free, reach, "most"),
            accepting=Kernel.of(self.sigma, self.accepted_radius, n_free, reach, "least"),
            radius=radius,
            begun=begun,
        )

    def boundary(self, problem: Problem) -> tuple[Float[Array, " d"], Float[Array, " d"], Bool[Array, ""]]:
        """Last refused and first accepted point, on the way where that is nearest; whether there is one."""
        ends = jax.vmap(problem.feasible.clip)(self.rows)
        away = jnp.where(self.decided == problem.target, jax.vmap(lambda e: self._away(problem, e))(ends), jnp.inf)
        _, nearest = jax.lax.top_k(-away, min(self.n_neighbours, self.rows.shape[0]))
        ends, away = ends[nearest], away[nearest]

        def halve(i: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            low, high, usable = carry
            share = jnp.where(i == 0, high, (low + high) / 2)
            at = problem.x + share[:, None] * (ends - problem.x)
            accepted = jax.vmap(lambda point: self._accepts(problem, point))(at)
            # First the ends: a row's decision may be another once the person's fixed features replace its own.
            usable = jnp.where(i == 0, accepted & jnp.isfinite(away), usable)
            return jnp.where(accepted, low, share), jnp.where(accepted, share, high), usable

        start = (jnp.zeros_like(away), jnp.ones_like(away), jnp.zeros(away.shape, bool))
        low, high, usable = jax.lax.fori_loop(0, 1 + BISECTIONS, halve, start)
        best = jnp.argmin(jnp.where(usable, high * away, jnp.inf))
        way = ends[best] - problem.x
        return problem.x + low[best] * way, problem.x + high[best] * way, usable[best]

    def log_odds(self, own: Odds, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Log-odds of a refusal at `x`, at worst."""
        refused = log_density(own.refusing, own.points, ~own.accepted, x)
        return refused - log_density(own.accepting, own.points, own.accepted, x)

    def step(self, problem: Problem, state: State[Odds]) -> State[Odds]:
        """Ask about the hardened iterate, then move."""
        own = state.own
        x, ok = problem.feasible.hard(own.u)
        # A change that is no option of its own costs infinitely much, and has no odds.
        value = jnp.where(jnp.isfinite(self.cost(x, problem)), self.log_odds(own, x), jnp.inf)
        margin = self.decision.margin(x, problem.target)
        state = self.offer(problem, state, x, margin, ok & own.begun, value)
        ball = movable_ball(problem, self.unit_costs(problem), self.norm)
        moved = own.u - self.step_size * jax.grad(lambda at: self.log_odds(own, at))(own.u)
        moved = problem.feasible.clip(problem.x + ball.into(moved - problem.x, own.radius))
        lost = ~jnp.all(jnp.isfinite(moved)) & own.begun
        over = ~own.begun | lost | (jnp.max(jnp.abs(moved - own.u)) < STILL)
        status = jnp.where(lost & ~is_found(state.status), int(Status.DIVERGED), state.status)
        own = own._replace(u=jnp.where(lost, own.u, moved))
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (own, state.done | over, status))

    def _accepts(self, problem: Problem, at: Float[Array, " d"]) -> Bool[Array, ""]:
        x, ok = problem.feasible.hard(at)
        return ok & (self.decision.margin(x, problem.target) >= CLEARANCE)

    def _away(self, problem: Problem, at: Float[Array, " d"]) -> Float[Array, ""]:
        return self.distance(at, problem)
