"""What methods share that descend plainly: a loss, a fixed share of the cost, and the first point good enough."""

from typing import ClassVar

import jax.numpy as jnp

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, NonNegative, Positive, Probability, Seed, configured
from holdtrue.search import AbstractLoss, GradientSolver


@configured
class AbstractPlainDescent(AbstractSolverMethod):
    """Gradient descent on a loss and a fixed share of the cost, up to the first point that is good enough.

    Parameters
    ----------
    cost_weight : float, default=0.001
        Weight of the cost.
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance.
    target_probability : float, optional
        Probability of the wanted class at which to stop. By default as soon as the decision turns.
    n_steps : int, default=50
        Steps at most.
    step_size : float, default=0.1
        Step, in encoded units per unit of slope.
    random_state : int, optional
        Unused: the search is deterministic.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    cost_weight: NonNegative = 0.001
    norm: Norm = "l1"
    target_probability: Probability | None = None
    n_steps: Count = 50
    step_size: Positive = 0.1
    random_state: Seed = None

    def descent(self, loss: AbstractLoss) -> GradientSolver:
        """The search with a method's own loss."""
        return GradientSolver.plain(
            self.predictor_.decision, loss, jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=self.n_steps, step_size=self.step_size, cost_weight=self.cost_weight, norm=self.norm,
            wanted=self.target_probability,
        )  # fmt: skip
