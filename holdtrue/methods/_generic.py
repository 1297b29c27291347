"""The generic gradient search: cross-entropy plus l1, by plain descent."""

from typing import Any, ClassVar

import jax.numpy as jnp

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractMethod, AbstractSolverMethod
from holdtrue.parameters import Count, NonNegative, Positive, Probability
from holdtrue.search import AbstractLoss, CrossEntropy, GradientSolver


class Generic(AbstractSolverMethod):
    """Cross-entropy to the wanted class plus weighted cost, by plain gradient descent from the person.

    Descends ``-log p(target | x') + cost_weight * distance(x, x')`` and stops as soon as the decision has turned
    and the wanted class is as probable as asked. Few steps, one answer, no second thoughts: the search of
    counterfactual training, where thousands are made per epoch. On a steep model its steps overshoot; for the
    cheapest recourse use `Wachter` or `ElasticNet`.

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

    Notes
    -----
    Needs a differentiable model. Where `target_probability` is not reached, the valid point that came nearest to
    it is returned. Differs from the paper in that the model is asked about the hardened point at every step, and
    the l1 cost enters by its proximal map. The step is the one the paper's code ends up using.

    References
    ----------
    [1] *Counterfactual training*, section IV-A.
    [2] Wachter, Mittelstadt, Russell (2017), *Counterfactual explanations without opening the black box*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.Generic(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    def __init__(
        self,
        *,
        cost_weight: NonNegative = 0.001,
        norm: Norm = "l1",
        target_probability: Probability | None = None,
        n_steps: Count = 50,
        step_size: Positive = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.cost_weight = cost_weight
        self.norm: Norm = norm
        self.target_probability = target_probability
        self.n_steps = n_steps
        self.step_size = step_size
        self.random_state = random_state

    def solver(self) -> GradientSolver:
        """Plain descent on cross-entropy."""
        return plain_descent(self, CrossEntropy())


def plain_descent(method: AbstractMethod, loss: AbstractLoss) -> GradientSolver:
    """Gradient descent on a loss and a fixed share of the cost, up to the first point that is good enough."""
    own: Any = method
    predictor = own.predictor_
    wanted = own.target_probability
    return GradientSolver.plain(
        predictor.decision, loss, jnp.asarray(norm_weights(predictor.encoder, own.norm)),
        n_steps=own.n_steps, step_size=own.step_size, cost_weight=own.cost_weight, norm=own.norm, wanted=wanted,
    )  # fmt: skip
