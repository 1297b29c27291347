"""Joint energy models: the classifier is also taken for a density of the rows."""

from typing import ClassVar

import jax.numpy as jnp

from holdtrue.parameters import Count, NonNegative, Share, configured
from holdtrue.search import LangevinSampler
from holdtrue.training._base import TrainingContext
from holdtrue.training._contrast import ContrastStep
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import OneOf, Range, Space


@configured
class JEM(AbstractMinibatches):
    """Cross-entropy, and the rows made likelier than what the model itself would draw (Grathwohl et al., 2020).

    Minimises ``loss + density_weight * (E(x) - E(x_model))`` with ``E = -logsumexp(logits)``, where `x_model` is
    drawn by Langevin steps from a random point within the schema's bounds. A baseline for
    `CounterfactualTraining`, with which it shares all but where the points come from; it knows nothing of
    recourse.

    Parameters
    ----------
    density_weight : float, default=1.0
        Weight of the difference of energies; 0 is plain training.
    ridge_weight : float, default=0.1
        Weight of the squared energies, which keeps them from growing without end.
    n_samples : int, default=1000
        Points drawn per epoch; at least one per minibatch.
    n_steps : int, default=20
        Langevin steps.
    walk_size : float, default=1.0
        Length of such a step per unit of slope.
    noise : float, default=0.01
        Standard deviation of what is added at each.
    burn_in : float, default=0.0
        Share of the epochs that are plain training.

    Notes
    -----
    Needs a differentiable model. Differs from the paper in: points are drawn once per epoch and start anew (no
    replay buffer); the ridge; categories are relaxed. Early stopping watches the cross-entropy.

    References
    ----------
    [1] Grathwohl, Wang, Jacobsen, Duvenaud, Norouzi, Swersky (2020), *Your classifier is secretly an energy based
        model and you should treat it like one*.

    Examples
    --------
    >>> JEM(n_samples=100).n_samples
    100
    """

    search_space: ClassVar[Space] = {
        "density_weight": Range(0.01, 1.0, log=True),
        "ridge_weight": Range(0.003, 1.0, log=True),
        "n_steps": OneOf((10, 20, 50)),
    }

    density_weight: NonNegative = 1.0
    ridge_weight: NonNegative = 0.1
    n_samples: Count = 1000
    n_steps: Count = 20
    walk_size: NonNegative = 1.0
    noise: NonNegative = 0.01
    burn_in: Share = 0.0

    def step(self, context: TrainingContext) -> ContrastStep:
        """Cross-entropy and the difference of energies, by Adam."""
        self.check_parameters()
        f32 = jnp.float32
        sampler = LangevinSampler(
            lower=context.permits.lower,
            upper=context.permits.upper,
            step_size=jnp.asarray(self.walk_size, f32),
            noise=jnp.asarray(self.noise, f32),
            n_steps=int(self.n_steps),
            marginal=True,
        )
        return ContrastStep(
            step_size=jnp.asarray(self.step_size, f32),
            weight_decay=jnp.asarray(self.weight_decay, f32),
            divergence_weight=jnp.asarray(self.density_weight, f32),
            adversarial_weight=jnp.asarray(0.0, f32),
            ridge_weight=jnp.asarray(self.ridge_weight, f32),
            sampler=sampler,
            context=context,
            n_recourses=int(self.n_samples),
            burn_in=round(self.burn_in * self.n_epochs),
            marginal=True,
        )
