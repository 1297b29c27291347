"""Gradient search: descend on validity loss + weighted cost, asking the model about the hardened point."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from holdtrue.encoding import Norm
from holdtrue.models import Decision
from holdtrue.search._losses import AbstractLoss, Reply, ask, log_odds
from holdtrue.search._problem import Problem, Status, is_found
from holdtrue.search._solver import CLEARANCE, AbstractSolver, State

FAR = 1e3  # what a missing unit of log-odds weighs against cost: more than any cost


class Descent(NamedTuple):
    """Own variables of a gradient search."""

    u: Float[Array, " d"]
    memory: optax.OptState
    cost_weight: Float[Array, ""]


class GradientSolver(AbstractSolver):
    """Adam on ``loss(margin) + cost_weight * distance``.

    The iterate `u` is relaxed; the model is asked about ``hard(u)`` at every step, and the gradient taken
    there is applied to `u` (straight-through). So each step costs one forward and one backward pass, and every
    point that is asked is one the person could really be at.

    `cost_weight` follows a schedule: while no valid point has been seen it is multiplied by `decay` every
    `patience` steps; afterwards it falls where the iterate is invalid and rises where it is valid, so that
    the search keeps crossing the boundary near its cheapest point. It ends after `patience` steps without a
    cheaper valid point. A solver that does not `follow` keeps its cost weight fixed throughout.

    With `required`, only points whose log-odds reach that count as valid. With `enough`, the search ends at the
    first valid point whose log-odds reach that; a point that does not is kept only as long as none comes nearer.
    A solver that does not `harden` asks about the iterate itself, clipped to the box: fractions of categories and
    of whole numbers, which nobody can be at.
    """

    decision: Decision
    loss: AbstractLoss
    cost_weights: Float[Array, " d"]
    n_steps: Int[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    decay: Float[Array, ""]
    patience: Int[Array, ""]
    norm: Norm = eqx.field(static=True)
    required: Float[Array, ""] | None = None
    enough: Float[Array, ""] | None = None
    optimiser: Literal["adam", "descent"] = eqx.field(static=True, default="adam")
    follow: bool = eqx.field(static=True, default=True)
    harden: bool = eqx.field(static=True, default=True)

    @staticmethod
    def plain(
        decision: Decision, loss: AbstractLoss, cost_weights: Array, *, n_steps: int, step_size: float,
        cost_weight: float, norm: Norm, wanted: float | None, harden: bool = True,
    ) -> "GradientSolver":  # fmt: skip
        """Gradient descent on a loss and a fixed share of the cost, up to the first point that is good enough.

        `wanted` is the probability of the target that is enough; without it, any valid point is.
        """
        enough = -jnp.inf if wanted is None else np.log(wanted) - np.log1p(-wanted)
        return GradientSolver(
            decision=decision,
            loss=loss,
            cost_weights=cost_weights,
            n_steps=jnp.asarray(n_steps),
            step_size=jnp.asarray(step_size, jnp.float32),
            cost_weight=jnp.asarray(cost_weight, jnp.float32),
            decay=jnp.asarray(1.0, jnp.float32),
            patience=jnp.asarray(n_steps + 1),
            norm=norm,
            enough=jnp.asarray(enough, jnp.float32),
            optimiser="descent",
            follow=False,
            harden=harden,
        )

    def start(self, problem: Problem) -> Descent:
        """Start where the problem says: at the factual, as a rule."""
        return Descent(problem.start, self._rule().init(problem.x), self.cost_weight)

    def step(self, problem: Problem, state: State[Descent]) -> State[Descent]:
        """Ask the model about the hardened iterate, then move."""
        u, memory, cost_weight = state.own
        x, ok = problem.feasible.hard(u) if self.harden else (u, jnp.asarray(True))
        x = jax.lax.stop_gradient(x)

        def objective(at: Float[Array, " d"]) -> tuple[Array, Reply]:
            reply = ask(self.decision, at, problem.target, state.n_steps)
            if self.required is not None:
                spare = log_odds(reply.logits, problem.target) - self.required
                reply = reply._replace(margin=jnp.minimum(reply.margin, spare))
            return self.loss(reply), reply

        slope, reply = jax.grad(objective, has_aux=True)(x)
        margin = reply.margin
        reached, value = jnp.asarray(False), None
        if self.enough is not None:
            odds = log_odds(reply.logits, problem.target)
            reached = ok & (margin >= CLEARANCE) & (odds >= self.enough)
            value = self.cost(x, problem) + jnp.where(reached, 0.0, FAR * jnp.maximum(self.enough - odds, 1.0))
        state = self.offer(problem, state, x, margin, ok, value)
        moved, memory = self._move(problem, u, slope, memory, cost_weight)

        found = is_found(state.status)
        stale = state.since >= self.patience
        if self.follow:
            lowered = jnp.where(stale, cost_weight * self.decay, cost_weight)
            crossing = jnp.where((margin >= 0) & ok, cost_weight * 1.1, cost_weight / 1.1)
            cost_weight = jnp.where(found, crossing, lowered)
        lost = ~jnp.all(jnp.isfinite(moved))
        state = eqx.tree_at(
            lambda s: (s.own, s.done, s.since, s.status),
            state,
            (
                Descent(jnp.where(lost, u, moved), memory, cost_weight),
                (found & stale) | lost | reached,
                jnp.where(stale & ~found, 0, state.since),
                jnp.where(lost & ~found, int(Status.DIVERGED), state.status),
            ),
        )
        return state

    def _rule(self) -> optax.GradientTransformation:
        return optax.scale_by_adam() if self.optimiser == "adam" else optax.identity()

    def _move(
        self,
        problem: Problem,
        u: Float[Array, " d"],
        slope: Float[Array, " d"],
        memory: PyTree,
        cost_weight: Array,
    ) -> tuple[Float[Array, " d"], PyTree]:
        """One step on the loss; the cost enters by its gradient, or exactly where it is separable.

        A norm that adds up over columns is handled by its proximal map, in Adam's own metric where Adam steps: a
        column whose slope does not pay for its cost returns to the factual instead of trembling about it, so
        that few features change.
        """
        sums_up = self.norm in ("l0", "l1", "mad")
        if not sums_up:
            slope = slope + cost_weight * jax.grad(lambda at: self.cost(at, problem))(u)
        move: PyTree
        move, memory = self._rule().update(slope, memory)
        moved = u - self.step_size * move
        if sums_up:
            size: Array | float = 1.0
            if self.optimiser == "adam":
                size = jnp.sqrt(memory.nu / (1 - 0.999 ** memory.count.astype(u.dtype))) + 1e-8
            shrink = self.step_size * cost_weight * self.weights(problem) / size
            moved = problem.x + shrunk(moved - problem.x, shrink)
        return problem.feasible.clip(moved), memory


def shrunk(change: Float[Array, " d"], by: Float[Array, " d"]) -> Float[Array, " d"]:
    """Each coordinate `by` so much nearer to 0, and no farther: the proximal map of a weighted l1 norm."""
    return jnp.sign(change) * jnp.maximum(jnp.abs(change) - by, 0.0)
