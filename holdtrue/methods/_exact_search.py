"""The cheapest recourse, with a proof."""

import copy
from collections.abc import Callable
from dataclasses import field, replace
from typing import ClassVar, Self

import numpy as np

from holdtrue._types import JsonObject
from holdtrue.batch import Predictor
from holdtrue.encoding import Norm
from holdtrue.errors import CapabilityError
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._frame import RecourseFrame, concat
from holdtrue.methods._leaves import search_layers, search_leaves, with_leaves_of
from holdtrue.parameters import Count, Positive, configured
from holdtrue.schema import RestrictionsLike, TableLike, normalise_restrictions
from holdtrue.search import Problems, Solutions, Status


@configured
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
        Seconds for one person, at most.
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
    (and, where the schema has linear constraints, two hundred-thousandths of an encoded unit), about rows that
    clear the threshold by two ten-thousandths in log-odds; INFEASIBLE says that none reaches it at all.

    Networks: a good point first, then bounds of every unit among the rows that cost less, by linear relaxation. A
    unit that cannot change sides there is linear; the others are binaries of a programme for HiGHS. How many are
    left decides: a hidden layer of 16 or of 64 units is settled for nearly everybody, three layers of 128, 64 and
    16 for a quarter to nearly all of the people, by the table (see *Prove it* among the guides).

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
    trims: ClassVar[bool] = True

    _proofs: dict[int, list[JsonObject]] | None = field(default=None, init=False)  # where `proofs` puts them

    time_limit: Positive = 10.0
    max_changes: Count | None = None
    norm: Norm = "l1"
    random_state: int | None = None

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Branch and bound over the leaves of trees, or an integer programme over layers, for every person."""
        if "trees" not in self.predictor_.capabilities:
            return search_layers(self, problems, deadline, on_rows, float(self.time_limit))
        most = np.iinfo(np.int64).max // 2
        return search_leaves(self, problems, most, deadline, on_rows, float(self.time_limit), self._proofs)

    def proofs(
        self, X: TableLike, *, restrictions: RestrictionsLike = None
    ) -> tuple[RecourseFrame, list[JsonObject | None]]:
        """Recourse for every row, and how it was proved, under a tree ensemble.

        A proof has the person's status, cost, what every recourse costs at least, and how all that is open to
        them was cut into boxes: a list of boxes, the whole first, each with the feature and the edge (in encoded
        units) or level that it was cut at and the places of its two parts; empty for a box that was not cut on. In
        every such box the cheapest point costs no less than the recourse, or no limit is kept, or the best leaves
        of the trees that lie in it, at less than the cost of the recourse, are not enough. None for whom the model
        accepts.

        Parameters
        ----------
        X : dataframe
        restrictions : mapping or sequence, optional
            As in `recourse`.
        """
        self._check_fitted()
        if "trees" not in self.predictor_.capabilities:
            raise CapabilityError(
                "ExactSearch: proofs that can be written down need a trees model; got "
                f"{type(self.predictor_.decision.model).__name__}. The proof of any other model is HiGHS's own."
            )
        run = copy.copy(self)  # not this object: it may be asked by several threads
        run._proofs = {}
        frames, out = [], []
        table = self.predictor_.encoder.schema.check(X, where="recourse")
        own = normalise_restrictions(restrictions, self.predictor_.encoder.schema, table.n_rows)
        for row in range(table.n_rows):
            run._proofs.clear()
            frame = run.recourse(table.take(np.array([row])), restrictions=own.take(np.array([row])))
            frames.append(replace(frame, person=frame.person + row))
            boxes, bound = run._proofs.get(0), frame.bound
            if boxes is None or bound is None or frame.status[0] == int(Status.ALREADY_FAVOURABLE):
                out.append(None)
                continue
            cost, least = (float(part) if np.isfinite(part) else None for part in (frame.cost[0], bound[0]))
            status = Status(int(frame.status[0])).name
            out.append({"status": status, "cost": cost, "bound": least, "norm": self.norm, "boxes": boxes})
        return concat(frames, table), out

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for another threshold; the same leaves are not looked up anew."""
        return with_leaves_of(super().rebind(predictor), self)
