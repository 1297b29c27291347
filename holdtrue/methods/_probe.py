"""PROBE: recourse that a person may miss by a little."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from scipy.stats import norm as normal

from holdtrue.methods._criterion import climbing, noise_of, proposing
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.parameters import Count, Positive, Probability, configured
from holdtrue.search import LinearInvalidation, ProposalSolver, SampledInvalidation, Shells, StableSolver


@configured
class PROBE(AbstractClimbingMethod):
    """Recourse that noise in its execution undoes with a chosen probability at most (Pawelczyk et al., 2023).

    The invalidation rate is the chance that ``x' + e`` is refused, for Gaussian noise e in the numbers that the
    person may change. On a model with a gradient it is ``1 - Phi(margin(x') / (sigma |grad margin(x')|))`` to
    first order, which is exact on a linear one: from the base's recourse the margin is raised until that is at
    most `rate`, and the cost brought down again as long as it stays so. For other models the rate is counted over
    `n_samples` draws, and shells about the base's recourse are searched. Good for people who do what they are
    asked roughly; it says nothing about another model.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is the start; ``SparseSearch()`` when omitted. The cost is counted in its norm.
    rate : float, default=0.1
        Invalidation rate at most (`r`).
    sigma : float, default=0.1
        Deviation of the noise, in encoded units.
    n_steps : int, default=600
        Steps of a climb at most; shells at most, for models without a gradient.
    n_samples : int, default=200
        Noisy executions asked about; for models without a gradient.
    n_candidates : int, default=100
        Points drawn in a shell; for models without a gradient.
    radius : float, default=0.1
        Width of a shell, in encoded units; for models without a gradient.
    random_state : int, optional
        Seed of the noise, which is the same for everyone, of the shells and of the base.

    Notes
    -----
    Needs training rows, and what the base needs. In the paper every column is noisy; here those that the person
    may change, without categories, which one takes or does not. The paper adds the excess of the rate to the loss
    and the cost and descends; here the rate is a condition, and the cheapest point found that keeps it is
    returned. Its bounds for trees are not used: the rate is counted.

    A person for whom no point keeps the rate gets the valid one that lacks least.

    References
    ----------
    [1] Pawelczyk, Datta, van den Heuvel, Kasneci, Lakkaraju (2023), *Probabilistically robust recourse: navigating
        the trade-offs between costs and robustness in algorithmic recourse*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.PROBE(rate=0.05), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs_rows: ClassVar[bool] = True

    rate: Probability = 0.1
    sigma: Positive = 0.1
    n_steps: Count = 600
    n_samples: Count = 200
    n_candidates: Count = 100
    radius: Positive = 0.1
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base."""
        return self._learn_base(x, y)

    def solver(self) -> StableSolver | ProposalSolver:
        """Ascent of the margin less what noise takes from it, or shells."""
        if "differentiable" in self.predictor_.capabilities:
            caution = self.sigma * normal.ppf(1 - self.rate)
            return climbing(self, LinearInvalidation(jnp.asarray(caution, jnp.float32)), self.n_steps)
        criterion = SampledInvalidation(noise_of(self), jnp.asarray(self.rate, jnp.float32))
        shells = Shells(jnp.asarray(self.radius, jnp.float32), int(self.n_candidates))
        return proposing(self, criterion, shells, self.n_steps)
