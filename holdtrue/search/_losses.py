"""Validity losses: what a search descends on, from what the model said about one row."""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from holdtrue.models import ConformalSets, Decision

ENERGY_RIDGE = 0.001  # of the squared energy


class Reply(NamedTuple):
    """What the model said about one row, the class that is wanted, and the step at which it was asked."""

    logits: Float[Array, " k"]
    margin: Float[Array, ""]
    target: Int[Array, ""]
    n_steps: Int[Array, ""]


def ask(decision: Decision, x: Float[Array, " d"], target: Int[Array, ""], n_steps: Int[Array, ""]) -> Reply:
    """Ask the model about one row."""
    logits = decision.model.logits(x)
    return Reply(logits, decision.margin_of(logits, target), target, n_steps)


def log_odds(logits: Float[Array, " k"], target: Int[Array, ""]) -> Float[Array, ""]:
    """Log-odds of the target against all other classes together; no threshold enters."""
    is_target: Bool[Array, " k"] = jnp.arange(logits.shape[0]) == target
    return logits[target] - jax.nn.logsumexp(jnp.where(is_target, -jnp.inf, logits))


class AbstractLoss(eqx.Module):
    """Validity loss of one row."""

    @abstractmethod
    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply; its margin is in logits and 0 at the boundary."""


class SquaredScore(AbstractLoss):
    """``(margin - aim)^2`` up to the aim, 0 beyond: the squared score gap of SCFE (eq. 2)."""

    aim: Float[Array, ""]

    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply."""
        return jnp.minimum(reply.margin - self.aim, 0.0) ** 2


class Hinge(AbstractLoss):
    """``max(aim - margin, 0)``: a constant pull until the aim is reached, then none."""

    aim: Float[Array, ""]

    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply."""
        return jnp.maximum(self.aim - reply.margin, 0.0)


class CrossEntropy(AbstractLoss):
    """``-log p(target)``; it never stops pulling, and is blind to the threshold."""

    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply."""
        return jax.nn.softplus(-log_odds(reply.logits, reply.target))


class EnergyConstrained(AbstractLoss):
    """Cross-entropy plus a decaying pull towards low energy ``E = -logit(target)``, as in ECCCo.

    The pull is ``weight * phi_t * (E + ridge * E^2)`` with ``phi_t = a * (b + t)^-0.9``; the small square keeps
    the energy from falling without end.
    """

    weight: Float[Array, ""]
    a: Float[Array, ""]
    b: Float[Array, ""]
    ridge: Float[Array, ""]

    @staticmethod
    def over(n_steps: int, weight: float) -> "EnergyConstrained":
        """The pull of a search of so many steps. `b` is at least 1: at 0 the energy would vanish in short ones."""
        b = max(round(n_steps / 25), 1)
        return EnergyConstrained(*(jnp.asarray(value, jnp.float32) for value in (weight, b / 10, b, ENERGY_RIDGE)))

    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply."""
        energy = -reply.logits[reply.target]
        phi = self.a * (self.b + reply.n_steps + 1) ** -0.9  # steps count from 1
        return CrossEntropy()(reply) + self.weight * phi * (energy + self.ridge * energy**2)


class SetSizePenalised(AbstractLoss):
    """Another loss plus ``weight * max(size - kappa, 0)``, with the smooth size of the row's conformal set."""

    loss: AbstractLoss
    sets: ConformalSets
    weight: Float[Array, ""]
    kappa: Float[Array, ""]
    temperature: Float[Array, ""]

    def __call__(self, reply: Reply) -> Float[Array, ""]:
        """Loss of a reply."""
        size = self.sets.smooth_size(reply.logits, self.temperature)
        return self.loss(reply) + self.weight * jnp.maximum(size - self.kappa, 0.0)
