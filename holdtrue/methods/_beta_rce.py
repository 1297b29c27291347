"""BetaRCE: until a credible share of retrained models accept."""

from typing import ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from scipy.stats import beta

from holdtrue.batch import RetrainableClassifier, RetrainedModels
from holdtrue.errors import DataError
from holdtrue.methods._criterion import proposing
from holdtrue.methods._guided import AbstractGuidedMethod
from holdtrue.parameters import Count, Positive, Probability, configured
from holdtrue.search import ProposalSolver, Quorum, Shells

PRIOR = 0.5  # Jeffreys: Beta(0.5, 0.5)


@configured
class BetaRCE(AbstractGuidedMethod):
    """Move another method's recourse to where retrained models credibly accept it (Stępka et al., 2025).

    Of k guides, models from the space of changes to be survived, some accept a point: the chance that one more
    does has a Beta posterior, and its lower `confidence` bound must reach `aim`. Points are drawn in shells about
    the base's recourse, farther and farther out, up to the first shell with a point for which it does. Serves
    every model. The price is `n_guides` further trainings, once.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is improved; ``SparseSearch()`` when omitted. The cost is counted in its norm.
    n_guides : int, default=32
        Retrained models (`k`).
    aim : float, default=0.8
        Chance that a further model accepts (`delta`).
    confidence : float, default=0.9
        Posterior probability that the chance is at least that (`alpha`).
    vary : {"bootstrap", "seed"}, default="bootstrap"
        What the guides vary where the method trains them itself; see `holdtrue.retrain`.
    n_candidates : int, default=200
        Points drawn in a shell.
    radius : float, default=0.1
        Width of a shell, in encoded units.
    n_steps : int, default=100
        Shells at most.
    random_state : int, optional
        Seed of the guides, of the shells and of the base.

    Notes
    -----
    Needs training rows for its base, and guides: a `RecourseClassifier` fitted in this process trains them itself;
    for any other model give ``fit(model, X, guides=...)`` what `holdtrue.retrain` returned. Models that guided a
    search say nothing about how long its result holds: use `holdtrue.shelf_life`, which asks others.

    The bound grows with the number of guides that accept, so it is a number of them: `n_needed`. The bound is
    one-sided; the authors' code takes the lower end of a two-sided interval, which asks for more at the same
    `confidence`. Of the points of a shell that pass, the cheapest for the person is taken, where theirs takes the
    one nearest to the base's recourse.

    A person for whom no point passes keeps the valid one that lacks least, by the margin of the guide on whom it
    hangs.

    References
    ----------
    [1] Stępka, Lango, Stefanowski (2025), *Counterfactual explanations with probabilistic guarantees on their
        robustness to model change*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.BetaRCE(n_guides=12, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs_rows: ClassVar[bool] = True
    instead: ClassVar[str] = "RobX"

    n_guides: Count = 32
    aim: Probability = 0.8
    confidence: Probability = 0.9
    vary: Literal["bootstrap", "seed"] = "bootstrap"
    n_candidates: Count = 200
    radius: Positive = 0.1
    n_steps: Count = 100
    random_state: int | None = None

    def _retrained(self, model: RetrainableClassifier, seed: int) -> RetrainedModels:
        self.n_needed(self.n_guides)  # before any is trained
        return model.retrain(self.n_guides, random_state=seed, vary=self.vary)

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base, and keep the guides' weights."""
        return self._learn_guides() | self._learn_base(x, y)

    def solver(self) -> ProposalSolver:
        """Shells about ``problem.start``."""
        guides = self._members()
        n_guides = sum(part.n_members for part in guides)
        shells = Shells(jnp.asarray(self.radius, jnp.float32), int(self.n_candidates))
        return proposing(self, Quorum(guides, n_guides - self.n_needed(n_guides)), shells, self.n_steps)

    def n_needed(self, n_guides: int) -> int:
        """How many of the guides must accept for the posterior's lower bound to reach the aim."""
        accepted = np.arange(1, n_guides + 1)
        bound = beta.ppf(1 - self.confidence, PRIOR + accepted, PRIOR + n_guides - accepted)
        enough = accepted[bound >= self.aim]
        if len(enough) == 0:
            raise DataError(
                f"BetaRCE: {n_guides} guides cannot show `aim` with this `confidence`; got {self.aim!r} and "
                f"{self.confidence!r}. They show {bound[-1]:.3f} when all accept. Raise `n_guides`, or lower "
                "one of the two."
            )
        return int(enough[0])
