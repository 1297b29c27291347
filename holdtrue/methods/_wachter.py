"""Wachter's counterfactuals, in the score formulation (SCFE)."""

from dataclasses import replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import Norm, norm_weights
from holdtrue.errors import DataError
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, NonNegative, Positive, PositiveShare, Probability, configured
from holdtrue.search import GradientSolver, SquaredScore, Trimmer


@configured
class Wachter(AbstractSolverMethod):
    """Nearest point across the boundary, by gradient descent on squared score gap plus cost.

    Minimises ``min(margin(x') - aim, 0)^2 + cost_weight * distance(x, x')``, where the margin is the log-odds
    of the wanted decision over its threshold and `aim` lies a little beyond what is required. Good for a first
    answer on any differentiable model; it spreads the change over many features unless the norm is l1.

    Parameters
    ----------
    cost_weight : float, default=0.1
        Weight of the cost against the validity loss at the start. It is lowered until a valid point is seen,
        and then follows the boundary (see `holdtrue.search.GradientSolver`).
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance; ``mad`` is l1 over the median absolute deviation, as Wachter et al. propose.
    target_probability : float, optional
        Probability of the wanted class that the recourse must reach. By default the decision is enough.
    n_steps : int, default=500
        Steps at most.
    step_size : float, default=0.05
        Of Adam, in encoded units.
    patience : int, default=100
        Steps without a valid point before `cost_weight` is multiplied by `decay`; steps without a cheaper
        one before the search ends.
    decay : float, default=0.5
        See `patience`.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Needs a differentiable model. Differs from the paper in that the model is asked about the hardened point
    (one category each, whole numbers whole) at every step, and the cheapest valid one is returned, without the
    changes that it does not need: those without which the answer stays the same.

    References
    ----------
    [1] Wachter, Mittelstadt, Russell (2017), *Counterfactual explanations without opening the black box*.
    [2] *On the trade-offs between adversarial robustness and actionable explanations*, eq. 2.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.Wachter(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    trims: ClassVar[bool] = True

    cost_weight: NonNegative = 0.1
    norm: Norm = "l1"
    target_probability: Probability | None = None
    n_steps: Count = 500
    step_size: Positive = 0.05
    patience: Count = 100
    decay: PositiveShare = 0.5
    random_state: int | None = None

    def solver(self) -> GradientSolver:
        """Gradient search on the squared score gap."""
        required = self._required()
        return GradientSolver(
            decision=self.predictor_.decision,
            loss=SquaredScore(jnp.asarray(BEYOND, jnp.float32)),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            step_size=jnp.asarray(self.step_size, jnp.float32),
            cost_weight=jnp.asarray(self.cost_weight, jnp.float32),
            decay=jnp.asarray(self.decay, jnp.float32),
            patience=jnp.asarray(self.patience),
            norm=self.norm,
            required=None if required is None else jnp.asarray(required, jnp.float32),
        )

    def trimmer(self) -> Trimmer:
        """With the probability that must be reached."""
        required = self._required()
        return replace(
            super().trimmer(), required=None if required is None else jnp.asarray(required, jnp.float32)
        )

    def _required(self) -> float | None:
        """Log-odds that `target_probability` asks for."""
        p = self.target_probability
        if p is None:
            return None
        threshold = float(self.predictor_.decision.threshold)
        if self.predictor_.decision.n_classes == 2 and p <= threshold:
            raise DataError(f"Wachter: `target_probability` must exceed the threshold {threshold:g}; got {p!r}.")
        return float(np.log(p / (1 - p)))


BEYOND = 0.5
"""Log-odds past the required margin that the loss aims at: far enough to cross, near enough to stay cheap."""
