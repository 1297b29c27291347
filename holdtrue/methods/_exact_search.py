"""The cheapest recourse under a tree ensemble, with a proof."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from holdtrue.batch import Predictor
from holdtrue.encoding import Norm
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._leaves import search_leaves, with_leaves_of
from holdtrue.parameters import Count, Positive
from holdtrue.search import Problems, Solutions


class ExactSearch(AbstractMethod):
    """Branch and bound over the leaves of a tree ensemble: nothing cheaper exists, or nothing at all.

    Minimises ``distance(x, x')`` over all rows that keep every limit of the schema and that the model accepts, for
    forests and boosted trees of every library that is read into arrays, alone or as a panel with guides. What is
    open to a person is cut into boxes. A box's cheapest point bounds its cost from below, the best leaf that each
    tree has in it bounds its score from above; boxes that can hold nothing better are dropped, the others cut on.

    The status is OPTIMAL or INFEASIBLE where that was carried to its end: proofs about the model as it was read,
    up to a millionth of the cost and two ten-thousandths in log-odds. FOUND and NOT_FOUND say that the time was
    over; `RecourseFrame.gap` then says by which share what was found may be dearer than the cheapest.

    Parameters
    ----------
    time_limit : float, default=10.0
        Seconds for one person, at most, on average over the few who are searched for together.
    max_changes : int, optional
        Features changed at most; any number when omitted.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance.
    random_state : int, optional
        Unused: the search is deterministic, but for where the time is over.

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

    needs: ClassVar[frozenset[str]] = frozenset({"trees"})
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
        """Branch and bound for every person."""
        most = np.iinfo(np.int64).max // 2
        return search_leaves(self, problems, most, deadline, on_rows, float(self.time_limit))

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for another threshold; the same leaves are not looked up anew."""
        return with_leaves_of(super().rebind(predictor), self)
