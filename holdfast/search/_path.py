"""What training takes from a search: where it ended, and the last point at which it had hardly begun."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from holdfast.encoding import Feasible
from holdfast.models import AbstractModel, Decision
from holdfast.search._gradient import GradientSolver
from holdfast.search._losses import AbstractLoss
from holdfast.search._problem import Problem, is_found


class Path(NamedTuple):
    """One person's search: where it ended, the last iterate near the factual, and whether it got there."""

    recourse: Float[Array, " d"]
    nascent: Float[Array, " d"]
    mature: Bool[Array, ""]


class AbstractSampler(eqx.Module):
    """Gives training one point of a class, for one person, from the model as it stands."""

    @abstractmethod
    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """One search from `feasible.x`."""


class DescentSampler(AbstractSampler):
    """The search of `Generic` and `ECCCo`, of `n_steps` steps, up to a probability `wanted` of the target.

    The nascent point is the last iterate that moved no column by more than `radius` (eq. 5).
    """

    loss: AbstractLoss
    radius: Float[Array, ""]
    step_size: Float[Array, ""]
    cost_weight: Float[Array, ""]
    wanted: float = eqx.field(static=True)
    n_steps: int = eqx.field(static=True)
    harden: bool = eqx.field(static=True)

    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """Descend, and keep what eq. 2 asks for."""
        solver = GradientSolver.plain(
            decision, self.loss, jnp.ones_like(feasible.x),
            n_steps=self.n_steps + 1,  # the factual is asked about first, and is no step
            step_size=0.0, cost_weight=0.0, norm="l1", wanted=self.wanted, harden=self.harden,
        )  # fmt: skip
        numbers = (self.step_size, self.cost_weight)
        solver = eqx.tree_at(lambda s: (s.step_size, s.cost_weight), solver, numbers)
        problem = Problem(feasible.x, target, feasible, key, feasible.x)

        def advance(carry: tuple) -> tuple:
            state, nascent, _ = carry
            asked = state.own.u
            near = jnp.max(jnp.abs(asked - problem.x)) <= self.radius
            return solver.advance(problem, state), jnp.where(near, asked, nascent), asked

        start = (solver.begin(problem), problem.x, problem.x)
        state, nascent, last = jax.lax.while_loop(lambda c: ~c[0].done, advance, start)
        # A point that is valid but not probable enough carries a surcharge in its value.
        mature = is_found(state.status) & (state.best_value < state.best_cost + 1.0)
        return Path(jnp.where(mature, state.best, last), nascent, mature)


class LangevinSampler(AbstractSampler):
    """A sample of what the model holds for likely, as in a joint energy model: noisy descent on the energy.

    Starts at a random point of the box ``lower <= x <= upper`` and forgets the person. The energy is
    ``-logit(target)``, or, where `marginal`, ``-logsumexp(logits)``.
    """

    lower: Float[Array, " d"]
    upper: Float[Array, " d"]
    step_size: Float[Array, ""]
    noise: Float[Array, ""]
    n_steps: int = eqx.field(static=True)
    marginal: bool = eqx.field(static=True)

    def __call__(self, decision: Decision, feasible: Feasible, target: Int[Array, ""], key: PRNGKeyArray) -> Path:
        """One sample; always mature, and the factual is its nascent point."""
        end = self.sample(decision.model, target, key)
        real = jnp.all(jnp.isfinite(end))
        return Path(jnp.where(real, end, feasible.x), feasible.x, real)

    def sample(self, model: AbstractModel, target: Int[Array, ""], key: PRNGKeyArray) -> Float[Array, " d"]:
        """One sample of the target's rows under the model."""

        def energy(at: Float[Array, " d"]) -> Float[Array, ""]:
            logits = model.logits(at)
            return -(jax.nn.logsumexp(logits) if self.marginal else logits[target])

        def step(at: Float[Array, " d"], own: PRNGKeyArray) -> tuple[Float[Array, " d"], None]:
            moved = at - self.step_size * jax.grad(energy)(at) + self.noise * jax.random.normal(own, at.shape)
            return jnp.clip(moved, self.lower, self.upper), None

        start_key, walk_key = jax.random.split(key)
        start = jax.random.uniform(start_key, self.lower.shape, minval=self.lower, maxval=self.upper)
        return jax.lax.scan(step, start, jax.random.split(walk_key, self.n_steps))[0]
