"""Recourse that models trained again accept too."""

from typing import Annotated, ClassVar

import jax.numpy as jnp
import numpy as np
from scipy.stats import t

from holdtrue.batch import RetrainableClassifier, RetrainedModels
from holdtrue.encoding import norm_weights
from holdtrue.methods._guided import AbstractGuidedMethod
from holdtrue.parameters import Count, Interval, configured
from holdtrue.search import POLISH_STEPS, Agreement, StableSolver


@configured
class StableSearch(AbstractGuidedMethod):
    """The nearest recourse that the model and several retrainings of it all accept.

    From another method's recourse, climbs the mean margin of the model and its guides in an l2 ball about the
    person, and lets that ball grow until all of them say yes and are sure enough. A guide is the same model
    trained again with another seed. Good for recourse that must outlive the model that gave it: at equal cost it
    breaks less often than that of `SNS`. The price is `n_guides` further trainings, once.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is the start; ``Wachter()`` when omitted. The cost is counted in its norm.
    n_guides : int, default=20
        Retrained models that guide the search.
    aim : float, default=0.99
        Probability with which a further model is to accept, were margins normal: the mean margin of the model and
        its guides must exceed 0 by as many deviations as a one-sided prediction bound asks for. Besides, each of
        them must accept.
    keep_cost : bool, default=False
        Stay within the base's l2 distance and be as sure as can be there, instead of going as far as is needed.
    ball_steps : int, default=20
        Steps before the ball grows.
    growth : float, default=1.1
        Factor by which it grows.
    n_steps : int, default=600
        Steps at most.
    random_state : int, optional
        Seed of the guides and of the base's randomness.

    Notes
    -----
    Needs a differentiable model, what the base needs, and guides: a `RecourseClassifier` fitted in this process
    trains them itself; for any other model give ``fit(model, X, guides=...)`` what `holdtrue.retrain` returned.
    Models that guided a search say nothing about how long its result holds, since it was made to please them: use
    `holdtrue.shelf_life`, which asks others.

    A person for whom the guides cannot be brought to agree keeps the point that lacks least; the model itself
    accepts it.

    References
    ----------
    [1] Black, Wang, Datta, Fredrikson (2022), *Consistent counterfactuals for deep models*, for the aim.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.StableSearch(n_guides=3, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    instead: ClassVar[str] = "SNS"

    n_guides: Count = 20
    aim: Annotated[float, Interval(0.5, 1, "left")] = 0.99
    keep_cost: bool = False
    ball_steps: Count = 20
    growth: Annotated[float, Interval(1)] = 1.1
    n_steps: Count = 600
    random_state: int | None = None

    def _retrained(self, model: RetrainableClassifier, seed: int) -> RetrainedModels:
        return model.retrain(self.n_guides, random_state=seed)

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base, and keep the guides' weights."""
        return self._learn_guides() | self._learn_base(x, y)

    def solver(self) -> StableSolver:
        """Ascent with the guides in a ball about the factual."""
        guides = self._members()
        n_models = 1 + sum(part.n_members for part in guides)
        return StableSolver(
            decision=self.predictor_.decision,
            criterion=Agreement(guides, jnp.asarray(self._caution(n_models), jnp.float32)),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps + (0 if self.keep_cost else POLISH_STEPS)),
            ball_steps=jnp.asarray(self.ball_steps),
            growth=jnp.asarray(self.growth, jnp.float32),
            norm=self.norm,
            keep_cost=bool(self.keep_cost),
        )

    def _caution(self, m: int) -> float:
        """Deviations from the mean of m normal draws to what one more exceeds with probability `aim`."""
        return float(t.ppf(self.aim, m - 1) * np.sqrt(1 + 1 / m))
