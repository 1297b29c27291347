"""What a recourse must have besides the model's yes to be expected to last.

Each criterion looks at one hardened point. A search climbs until one is met (`StableSolver`), or asks about
proposals until one of them meets it (`ProposalSolver`): which search and which criterion go together is for a
method to say.
"""

from abc import abstractmethod
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from holdtrue.models import AbstractMembers, Decision, PanelModel
from holdtrue.search._norm_ball import TINY
from holdtrue.search._problem import Problem


class Verdict(NamedTuple):
    """What is known of a point.

    Attributes
    ----------
    margin : the model's own margin; below 0 the point is refused.
    rising : what to climb as long as the criterion is not met.
    spare : by how much the criterion is met, the model's own yes included; below 0 it is not.
    """

    margin: Float[Array, ""]
    rising: Float[Array, ""]
    spare: Float[Array, ""]


class AbstractCriterion(eqx.Module):
    """A test that a point passes or not, and by how much."""

    @property
    @abstractmethod
    def n_asked(self) -> int:
        """Rows that one test asks models about."""

    @property
    def on_host(self) -> bool:
        """Whether it asks models, other than the one that decides, that call back to Python."""
        return False

    @abstractmethod
    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """Test one hardened point."""


# ---- further models ---------------------------------------------------------------------------------------


class AbstractPolled(AbstractCriterion):
    """A criterion that asks further models."""

    guides: eqx.AbstractVar[tuple[AbstractMembers, ...]]

    @property
    def n_asked(self) -> int:
        """The model and its guides."""
        return 1 + sum(part.n_members for part in self.guides)

    @property
    def on_host(self) -> bool:
        """Whether a guide calls back to Python."""
        return any(part.on_host for part in self.guides)

    def margins(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Float[Array, " m"]:
        """Margin of the model, then of every guide, at one point."""
        guides = [
            jax.vmap(lambda logits: decision.margin_of(logits, problem.target))(part.member_logits(x))
            for part in self.guides
        ]
        return jnp.concatenate([decision.margin(x, problem.target)[None], *guides])


class Agreement(AbstractPolled):
    """The model and every guide accept, and their mean margin lies `caution` standard deviations above 0."""

    guides: tuple[AbstractMembers, ...]
    caution: Float[Array, ""]

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """The least margin, or the mean less `caution` deviations where that is less; the mean is climbed."""
        margins = self.margins(decision, problem, x)
        mean = jnp.mean(margins)
        deviation = jnp.sqrt(jnp.sum((margins - mean) ** 2) / (margins.shape[0] - 1) + TINY)
        return Verdict(margins[0], mean, jnp.minimum(jnp.min(margins), mean - self.caution * deviation))


class Least(AbstractCriterion):
    """Where the decision is a panel's: the panel accepts; the mean margin of its members is climbed."""

    n_members: int = eqx.field(static=True)

    @property
    def n_asked(self) -> int:
        """The model and its guides."""
        return self.n_members

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """What the member on whom it hangs has to spare."""
        panel = decision.model
        assert isinstance(panel, PanelModel)  # the method has seen to it
        members = panel.member_logits(x)
        each = jax.vmap(lambda logits: decision.margin_of(logits, problem.target))(members)
        spare = decision.margin_of(panel.logits_of(members), problem.target)
        return Verdict(each[0], jnp.mean(each), spare)


class Quorum(AbstractPolled):
    """The model accepts, and of its guides all but the `spared` least sure."""

    guides: tuple[AbstractMembers, ...]
    spared: int = eqx.field(static=True)

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """The margin of the guide on whom it hangs, or the model's own where that is less."""
        margins = self.margins(decision, problem, x)
        spare = jnp.minimum(margins[0], jnp.sort(margins[1:])[self.spared])
        return Verdict(margins[0], spare, spare)


# ---- neighbours -------------------------------------------------------------------------------------------


class AbstractNoisy(AbstractCriterion):
    """A criterion that asks about noisy neighbours of the point.

    The same `noise` is added to every point: the criterion is then a function of the point, which can be climbed,
    and what it says of a training row holds for whoever becomes that row.
    """

    noise: eqx.AbstractVar[Float[Array, "n d"]]

    @property
    def n_asked(self) -> int:
        """The neighbours and the point itself."""
        return 1 + self.noise.shape[0]

    def probabilities(
        self, decision: Decision, target: Array, x: Float[Array, " d"]
    ) -> tuple[Float[Array, ""], Float[Array, " n"], Float[Array, ""]]:
        """Probability of the target at the point and at every neighbour, and the point's margin."""
        logits = jax.vmap(decision.model.logits)(jnp.concatenate([x[None], x + self.noise]))
        shares = jax.nn.softmax(logits, axis=-1)[:, target]
        return shares[0], shares[1:], decision.margin_of(logits[0], target)


class AbstractStability(AbstractNoisy):
    """A stability of the target's probability about a point that must reach `least`."""

    least: eqx.AbstractVar[Float[Array, ""]]

    @abstractmethod
    def stability(self, own: Float[Array, ""], near: Float[Array, " n"]) -> Float[Array, ""]:
        """Stability from the probability at the point and at its neighbours."""

    def of(self, decision: Decision, target: Array, x: Float[Array, " d"]) -> Float[Array, ""]:
        """Stability of any row."""
        own, near, _ = self.probabilities(decision, target, x)
        return self.stability(own, near)

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """What the stability has beyond `least`."""
        own, near, margin = self.probabilities(decision, problem.target, x)
        beyond = self.stability(own, near) - self.least
        return Verdict(margin, beyond, jnp.minimum(margin, beyond))


class CounterfactualStability(AbstractStability):
    """Mean of the neighbours' probabilities less their standard deviation (Dutta et al., 2022)."""

    noise: Float[Array, "n d"]
    least: Float[Array, ""]

    def stability(self, own: Float[Array, ""], near: Float[Array, " n"]) -> Float[Array, ""]:
        """Mean less deviation."""
        mean = jnp.mean(near)
        return mean - jnp.sqrt(jnp.mean((near - mean) ** 2) + TINY)


class LocalStability(AbstractStability):
    """Mean of the neighbours' probabilities less how far each is from the point's own (Hamman et al., 2023)."""

    noise: Float[Array, "n d"]
    least: Float[Array, ""]

    def stability(self, own: Float[Array, ""], near: Float[Array, " n"]) -> Float[Array, ""]:
        """Mean of ``p_i - |p - p_i|``."""
        return jnp.mean(near - jnp.abs(own - near))


# ---- execution --------------------------------------------------------------------------------------------


def executed(problem: Problem) -> Float[Array, " d"]:
    """Columns in which a person's own change may come out a little off: numbers that they may change."""
    is_number = jnp.arange(problem.x.shape[0]) < len(problem.feasible.layout.numbers)
    return (problem.feasible.movable & is_number).astype(jnp.float32)


class LinearInvalidation(AbstractCriterion):
    """A point that noise in its numbers undoes with a probability of at most r, to first order.

    The chance is ``1 - Phi(margin / (sigma |gradient|))`` (Pawelczyk et al., 2023). It is at most r where
    the margin is at least `caution`, sigma times the normal quantile of 1 - r, times the norm of the gradient.
    """

    caution: Float[Array, ""]

    @property
    def n_asked(self) -> int:
        """The point, forwards and backwards."""
        return 2

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """The margin, less what noise may take from it."""
        margin, slope = jax.value_and_grad(lambda at: decision.margin(at, problem.target))(x)
        steepness = jnp.sqrt(jnp.sum((executed(problem) * slope) ** 2) + TINY)
        spare = jnp.minimum(margin, margin - self.caution * steepness)
        return Verdict(margin, spare, spare)


class SampledInvalidation(AbstractNoisy):
    """A point that at most a share of noisy executions undo, by asking the model about each of them."""

    noise: Float[Array, "n d"]
    rate: Float[Array, ""]

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """What the share of executions that stay accepted has beyond 1 - `rate`."""
        rows = jnp.concatenate([x[None], x + executed(problem) * self.noise])
        margins = jax.vmap(lambda row: decision.margin(row, problem.target))(rows)
        # Half a draw, so that a share which equals the rate passes whatever its rounding.
        beyond = jnp.mean(margins[1:] >= 0) - (1 - self.rate) + 0.5 / self.noise.shape[0]
        return Verdict(margins[0], beyond, jnp.minimum(margins[0], beyond))


# ---- weights ----------------------------------------------------------------------------------------------


class Ellipsoid(AbstractCriterion):
    """Every top layer in an ellipsoid about the model's own accepts.

    The ellipsoid is ``{W : vec(W - W0)' H vec(W - W0) <= radius^2}``, biases included, and `factor` is a root of
    the inverse of H: the margin over another class falls by at most ``radius |factor g|``, where g is that
    margin's gradient in W. Only for models that have a top layer.
    """

    factor: Float[Array, "q q"]
    radius: Float[Array, ""]

    @property
    def n_asked(self) -> int:
        """The point alone."""
        return 1

    def __call__(self, decision: Decision, problem: Problem, x: Float[Array, " d"]) -> Verdict:
        """The margin under the worst of these layers, which is known in closed form."""
        model, target = decision.model.alone, problem.target
        top = model.top
        assert top is not None  # the method has seen to it
        inner = jnp.append(model.hidden(x), 1.0)
        logits = jnp.append(top[0], top[1][:, None], axis=1) @ inner
        margin = decision.margin_of(logits, target)
        others = jnp.arange(logits.shape[0])
        against = (others == target) - jnp.eye(logits.shape[0])  # row j: the target's logit less the j-th
        falls = jax.vmap(lambda way: self.factor @ jnp.outer(way, inner).reshape(-1))(against)
        worst = against @ logits - self.radius * jnp.sqrt(jnp.sum(falls**2, axis=1) + TINY)
        # What a threshold other than one half adds to the gap of two logits.
        threshold = margin - jnp.min(jnp.where(others == target, jnp.inf, against @ logits))
        spare = jnp.min(jnp.where(others == target, jnp.inf, worst)) + threshold
        return Verdict(margin, spare, spare)
