"""The cheapest recourse, with a proof."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import Norm
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._leaves import search_layers, search_leaves, with_leaves_of
from holdtrue.parameters import Count, Positive
from holdtrue.search import Problems, Solutions


class ExactSearch(AbstractMethod):
    """The cheapest recourse there is, or that there is none, with a proof: trees, linear models, ReLU networks.

    Minimises ``distance(x, x')`` over all rows that keep every limit of the schema and that the model accepts,
    alone or as a panel with guides. The model must be one whose parts can be read: a forest or boosted trees, a
    linear model, or a network of ReLU or leaky ReLU units, of holdtrue or of another library.

    The status is OPTIMAL or INFEASIBLE where the proof was carried to its end. FOUND and NOT_FOUND say that the
    time was over; `RecourseFrame.gap` then says by which share what was found may be dearer than the cheapest.

    Parameters
    ----------
    time_limit : float, default=10.0
        Seconds for one person, at most; under trees on average over the few who are searched for together.
    max_changes : int, optional
        Features changed at most; any number when omitted.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance.
    random_state : int, optional
        Unused: the search is deterministic, but for where the time is over.

    Notes
    -----
    Trees: what is open to a person is cut into boxes. A box's cheapest point bounds its cost from below, the best
    leaf that each tree has in it bounds its score from above; boxes that can hold nothing better are dropped, the
    others cut on. Proved up to a millionth of the cost, about rows that clear the threshold by two ten-thousandths
    in log-odds.

    Linear models: one mixed-integer programme for HiGHS, about the model's own weights. Squares (``l2``) are
    approached from below by tangents until they differ by a ten-millionth. Proved up to a millionth of the cost
    (and, where the schema has linear constraints, two hundred-thousandths of an encoded unit), about rows that clear
    the threshold by two ten-thousandths in log-odds; INFEASIBLE says that none reaches it at all.

    Networks: a good point first, then bounds of every unit among the rows that cost less, by linear relaxation. A
    unit that cannot change sides there is linear; the others are binaries of a programme for HiGHS. How many are
    left decides: a hidden layer of 16 or of 64 units is settled for nearly everybody, three layers of 128, 64 and 16
    are for about half of the people (see *Prove it* among the guides).

    What a number without a step is told as is rounded away from where the person is: by so much, at most a
    ten-thousandth of its range, something may be cheaper.

    Examples
    --------
    >>> import holdtrue as ht
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> bank = ht.datasets.load("loanapp")
    >>> X = bank.X.select_dtypes("number").fillna(0)
    >>> model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, bank.y)
    >>> plan = ht.recourse(model, X[model.predict(X) == 0][:5], reference=X, method=ht.ExactSearch())
    >>> sorted(plan.counts())
    ['OPTIMAL']
    """

    needs_one_of: ClassVar[frozenset[str]] = frozenset({"layers", "trees"})
    offers_options: ClassVar[bool] = True

    def __init__(
        self,
        *,
        time_limit: Positive = 10.0,
        max_changes: Count | None = None,
        norm: Norm = "l1",
        random_state: int | None = None,
    ) -> None:
        self.time_limit = time_limit
        self.max_changes = max_changes
        self.norm: Norm = norm
        self.random_state = random_state

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Branch and bound over the leaves of trees, or an integer programme over layers, for every person."""
        if "trees" not in self.predictor_.capabilities:
            return search_layers(self, problems, deadline, on_rows, float(self.time_limit))
        most = np.iinfo(np.int64).max // 2
        return search_leaves(self, problems, most, deadline, on_rows, float(self.time_limit))

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for another threshold; the same leaves are not looked up anew."""
        return with_leaves_of(super().rebind(predictor), self)
