"""The generic gradient search: cross-entropy plus l1, by plain descent."""

from holdtrue.methods._plain_descent import AbstractPlainDescent
from holdtrue.parameters import configured
from holdtrue.search import CrossEntropy, GradientSolver


@configured
class Generic(AbstractPlainDescent):
    """Cross-entropy to the wanted class plus weighted cost, by plain gradient descent from the person.

    Descends ``-log p(target | x') + cost_weight * distance(x, x')`` and stops as soon as the decision has turned
    and the wanted class is as probable as asked. Few steps, one answer, no second thoughts: the search of
    counterfactual training, where thousands are made per epoch. On a steep model its steps overshoot; for the
    cheapest recourse use `Wachter` or `ElasticNet`.

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

    def solver(self) -> GradientSolver:
        """Plain descent on cross-entropy."""
        return self.descent(CrossEntropy())
