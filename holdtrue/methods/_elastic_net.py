"""Least change in l1 or l2, by elastic-net search."""

from typing import Annotated, ClassVar, Protocol

import jax.numpy as jnp

from holdtrue.batch import Predictor
from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, NonNegative, OneOf, Positive, configured
from holdtrue.search import POLISH_STEPS, ElasticSolver, Hinge, PrototypePull

DEFAULTS: dict[str, tuple[float, float, float]] = {
    # norm: l1_weight (beta of B.3), l2_weight, step_size (Table 2)
    "l1": (1.0, 0.0, 0.05),
    "mad": (1.0, 0.0, 0.05),
    "l2": (0.0, 1.0, 0.01),
}
ElasticNorm = Annotated[Norm, OneOf(("l1", "l2", "mad"))]
"""Norms that have a proximal map here; `MinPGD` is for ``linf``."""


@configured
class ElasticNet(AbstractSolverMethod):
    """Least change in l1 or l2 that turns the decision (Min-l1 and Min-l2), by accelerated proximal steps.

    Minimises ``c max(confidence - margin(x'), 0) + l1_weight |x'-x|_1 + l2_weight |x'-x|_2^2`` for the smallest
    `c` that turns the decision, which a bisection finds; at the end the boundary is located near the best point.
    Good for the cheapest change on a differentiable model: on a linear one it is
    the exact minimum. Such a change lies on the boundary, so retraining undoes it easily: see `SNS`.

    Parameters
    ----------
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance to be small. ``mad`` is l1 over the median absolute deviation.
    l1_weight, l2_weight : float, optional
        Weights of the two costs; 1 and 0 for l1 and ``mad``, 0 and 1 for l2.
    confidence : float, default=0.5
        Margin in logits up to which the loss pulls.
    first_weight : float, default=0.001
        The first `c`.
    n_rounds : int, default=9
        Values of `c` tried.
    n_steps : int, default=100
        Steps in a round.
    step_size : float, optional
        Of the first step of a round; it falls with the root of the steps left. 0.05 for l1 and ``mad``, 0.01 for
        l2.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Needs a differentiable model. Differs from the paper's library code in that the loss is taken on the margin in
    logits, not on probabilities; a step shrinks by ``step * l1_weight``, the proximal map, not by `l1_weight`
    itself; coordinates are clipped to what the person may do, not to [0, 1]; Min-l1 leaves the squared l2 cost out
    (set ``l2_weight=1`` for the elastic net proper, which spreads large changes over more features); and the
    model is asked about the hardened point.

    References
    ----------
    [1] *Consistent counterfactuals for deep models*, section 5.1, B.3 and Table 2.
    [2] Chen, Sharma, Zhang, Yi, Hsieh (2018), *EAD: elastic-net attacks to deep neural networks*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.ElasticNet(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    norm: ElasticNorm = "l1"
    l1_weight: NonNegative | None = None
    l2_weight: NonNegative | None = None
    confidence: NonNegative = 0.5  # B.3
    first_weight: Positive = 1e-3
    n_rounds: Count = 9
    n_steps: Count = 100
    step_size: Positive | None = None
    random_state: int | None = None

    def solver(self) -> ElasticSolver:
        """Rounds of FISTA, then a bisection."""
        chosen = (self.l1_weight, self.l2_weight, self.step_size)
        weights = (b if a is None else a for a, b in zip(chosen, DEFAULTS[self.norm], strict=True))
        return elastic_search(self, *weights)


class Elastic(Protocol):
    """A fitted method with the parameters of a search by elastic net."""

    predictor_: Predictor
    norm: Norm
    confidence: float
    first_weight: float
    n_rounds: int
    n_steps: int


def elastic_search(
    method: Elastic, l1_weight: float, l2_weight: float, step_size: float, *, pull: PrototypePull | None = None
) -> ElasticSolver:
    """Rounds of FISTA, as a fitted method sets them."""
    return ElasticSolver(
        decision=method.predictor_.decision,
        loss=Hinge(jnp.asarray(method.confidence, jnp.float32)),
        cost_weights=jnp.asarray(norm_weights(method.predictor_.encoder, method.norm)),
        n_steps=jnp.asarray(method.n_rounds * method.n_steps + POLISH_STEPS),
        step_size=jnp.asarray(step_size, jnp.float32),
        l1_weight=jnp.asarray(l1_weight, jnp.float32),
        l2_weight=jnp.asarray(l2_weight, jnp.float32),
        first_weight=jnp.asarray(method.first_weight, jnp.float32),
        round_steps=jnp.asarray(method.n_steps),
        n_rounds=jnp.asarray(method.n_rounds),
        norm=method.norm,
        pull=pull,
    )
