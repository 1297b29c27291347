"""Stable neighbour of another method's recourse."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import norm_weights
from holdtrue.methods._min_pgd import learned_radius
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.parameters import Count, Positive, configured
from holdtrue.search import NeighbourSolver


@configured
class SNS(AbstractClimbingMethod):
    """Stable neighbour search: move another method's recourse to where retraining is less likely to undo it.

    Maximises ``sum_i p(target | (i / n_points) x')`` over the l2 ball of `radius` about the base's recourse
    (Definition 5): the area under the probability on the way from the zero of the encoded space. Good for recourse
    that must outlive the model that gave it; it costs more than the base's, by up to the radius.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is improved; ``Wachter()`` when omitted. The cost is counted in its norm.
    radius : float, optional
        Of the ball, in encoded units. By default 0.8 times the median l2 norm of the training rows.
    n_steps : int, default=200
        Steps, each of ``2 * radius / n_steps``.
    n_points : int, default=10
        Points of the sum.
    random_state : int, optional
        Seed of the base method's randomness; the ascent has none.

    Notes
    -----
    Needs a differentiable model, and what the base needs. The model is asked about the hardened point: a changed
    category or a rounded number may leave the ball, a continuous change does not. The valid point with the largest
    sum is returned, where the paper's code returns the last valid one; the base's recourse, where none is better.

    References
    ----------
    [1] Black, Wang, Datta, Fredrikson (2022), *Consistent counterfactuals for deep models*, Definition 5 and B.3.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.SNS(radius=0.5), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> refused = bank.X[clf.predict(bank.X) == 0][:5]
    >>> sure, near = clf.recourse(refused), clf.recourse(refused, method=ht.Wachter())
    >>> bool((sure.after > near.after).all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    radius: Positive | None = None
    n_steps: Count = 200  # B.3
    n_points: Count = 10  # section 5.1
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base and learn the radius."""
        radius = learned_radius("SNS", self.radius, x, "l2")
        own = {"radius": radius if self.radius is not None else np.asarray(0.8 * radius)}  # B.3
        return own | self._learn_base(x, y)

    def solver(self) -> NeighbourSolver:
        """Ascent in a ball about ``problem.start``."""
        radius = jnp.asarray(self.state_["radius"], jnp.float32)
        return NeighbourSolver(
            decision=self.predictor_.decision,
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            radius=radius,
            step_size=2 * radius / self.n_steps,
            norm=self.norm,
            n_points=self.n_points,
        )
