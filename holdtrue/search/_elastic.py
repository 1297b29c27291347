"""Elastic-net search: FISTA on hinge + l1 + l2, in rounds that look for the weight of the hinge."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.encoding import Norm, distance
from holdtrue.models import Decision
from holdtrue.search._gradient import shrunk
from holdtrue.search._losses import AbstractLoss, Reply, ask
from holdtrue.search._norm_ball import movable_ball
from holdtrue.search._polish import Polish
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._prototype import PrototypePull
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

NO_UPPER = 1e10  # no round has succeeded yet
STILL = 1e-5  # steps shorter than this, in encoded units, end a round


class Rounds(NamedTuple):
    """Own variables: iterate and the one before, the bisection for the trade-off `weight`, a prototype if any."""

    u: Float[Array, " d"]
    last: Float[Array, " d"]
    at: Int[Array, ""]
    round: Int[Array, ""]
    weight: Float[Array, ""]
    lower: Float[Array, ""]
    upper: Float[Array, ""]
    hit: Bool[Array, ""]
    polish: Polish
    prototype: Float[Array, " k"] | None


class ElasticSolver(AbstractSolver):
    """Accelerated proximal steps on ``weight * loss + l1_weight * |x'-x|_1 + l2_weight * |x'-x|_2^2``.

    A round is `round_steps` steps from the start at one `weight`, or fewer where the iterate stands still, as it
    does at once at weights too small to pay for any change. It has succeeded if any point it asked about was
    valid: then the weight falls half-way to the largest that failed; else it grows tenfold, or half-way to the
    smallest that succeeded. After `n_rounds` rounds the best point is polished (see `Polish`).

    A `pull` joins the objective at its own weight; of the valid points the one with the least sum of the two costs
    and the pull is then kept, instead of the cheapest. A step is shortened by the pull's curvature: for a
    quadratic one this is its exact proximal map, stable at any weight.

    As in `GradientSolver`, the iterate is relaxed and the model is asked about the hardened point.
    """

    decision: Decision
    loss: AbstractLoss
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    step_size: Float[Array, ""]
    l1_weight: Float[Array, ""]
    l2_weight: Float[Array, ""]
    first_weight: Float[Array, ""]
    round_steps: Int[Array, ""]
    n_rounds: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    pull: PrototypePull | None = None
    still: float = eqx.field(static=True, default=STILL)

    def start(self, problem: Problem) -> Rounds:
        """Start the first round."""
        none, zero = jnp.asarray(NO_UPPER, jnp.float32), jnp.asarray(0.0, jnp.float32)
        return Rounds(
            u=problem.start,
            last=problem.start,
            at=jnp.asarray(0),
            round=jnp.asarray(0),
            weight=self.first_weight,
            lower=zero,
            upper=none,
            hit=jnp.asarray(False),
            polish=Polish.of(problem.x),
            prototype=None if self.pull is None else self.pull.find(problem),
        )

    def step(self, problem: Problem, state: State[Rounds]) -> State[Rounds]:
        """Ask about the iterate, or after the rounds about what the last phase wants to know; then move."""
        own = state.own
        polishing = own.round >= self.n_rounds
        x, ok = problem.feasible.hard(jnp.where(polishing, own.polish.point(problem), own.u))
        x = jax.lax.stop_gradient(x)

        def objective(at: Float[Array, " d"]) -> tuple[Array, Reply]:
            reply = ask(self.decision, at, problem.target, state.n_steps)
            return jnp.where(polishing, -reply.margin, self.loss(reply)), reply

        slope, reply = jax.grad(objective, has_aux=True)(x)
        value = None
        if self.pull is not None and own.prototype is not None:
            value = self._penalties(problem, x) + self.pull(x, own.prototype)
        state = self.offer(problem, state, x, reply.margin, ok, value)
        valid = ok & (reply.margin >= CLEARANCE)

        moved = self._move(problem, own, slope)
        lost = ~jnp.all(jnp.isfinite(moved)) & ~polishing
        # FISTA: the next question is a little beyond the point reached.
        ahead = moved + own.at / (own.at + 3) * (moved - own.last)
        # Both: a turning point of the momentum is no end.
        still = jnp.max(jnp.maximum(jnp.abs(moved - own.u), jnp.abs(moved - own.last))) < self.still
        own = own._replace(u=jnp.where(lost, own.u, ahead), last=jnp.where(lost, own.last, moved))
        own = own._replace(at=own.at + 1, hit=own.hit | valid)
        over = (own.at >= self.round_steps) | still
        following = jax.tree.map(lambda a, b: jnp.where(over, a, b), self._next_round(problem, state, own), own)
        ball = movable_ball(problem, self.weights(problem), self.norm)
        told = own._replace(polish=own.polish.told(problem, ball, x, -slope, reply.margin, valid, state.best))
        own = jax.tree.map(lambda a, b: jnp.where(polishing, a, b), told, following)

        found = is_found(state.status)
        ended = (own.round >= self.n_rounds) & (~found | own.polish.done)
        status = jnp.where(lost & ~found, int(Status.DIVERGED), state.status)
        return eqx.tree_at(lambda s: (s.own, s.done, s.status), state, (own, ended | lost, status))

    def _penalties(self, problem: Problem, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The two costs, each at its weight; infinite for a change that is no option of its own."""
        weights, measured = self.cost_weights * self._factors(problem), problem.feasible.measured
        l1, l2 = (distance(measured(x), measured(problem.x), norm, weights) for norm in ("l1", "l2"))
        both = self.l1_weight * l1 + self.l2_weight * l2**2
        return jnp.where(jnp.isfinite(self.cost(x, problem)), both, jnp.inf)

    def _move(self, problem: Problem, own: Rounds, slope: Float[Array, " d"]) -> Float[Array, " d"]:
        """A gradient step on the loss and the exact proximal map of the two costs, into the person's box."""
        step = self.step_size * jnp.sqrt(jnp.maximum(1 - own.at / self.round_steps, 0.0))
        slope = own.weight * slope
        if self.pull is not None and own.prototype is not None:
            pulled, curvature = self.pull.slope(own.u, own.prototype)
            slope, step = slope + pulled, step / (1 + step * curvature)
        change = own.u - step * slope - problem.x
        weights = self.weights(problem)
        change = shrunk(change, step * self.l1_weight * weights)
        change = change / (1 + 2 * step * self.l2_weight * weights**2)
        return problem.feasible.clip(problem.x + change)

    def _next_round(self, problem: Problem, state: State[Rounds], own: Rounds) -> Rounds:
        upper = jnp.where(own.hit, jnp.minimum(own.upper, own.weight), own.upper)
        lower = jnp.where(own.hit, own.lower, jnp.maximum(own.lower, own.weight))
        weight = jnp.where(upper < NO_UPPER, (lower + upper) / 2, own.weight * 10)
        return Rounds(
            u=problem.start,
            last=problem.start,
            at=jnp.zeros_like(own.at),
            round=own.round + 1,
            weight=weight,
            lower=lower,
            upper=upper,
            hit=jnp.zeros_like(own.hit),
            polish=Polish.of(state.best),
            prototype=own.prototype,
        )
