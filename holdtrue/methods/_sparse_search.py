"""The cheapest recourse that changes one or two features."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from holdtrue.batch import Predictor, solve_by_promise
from holdtrue.encoding import norm_weights
from holdtrue.methods._leaves import of_the_refused, search_leaves, walks_of, with_leaves_of
from holdtrue.methods._listed import AbstractListedSearch
from holdtrue.models import AbstractTrees, TreesPanel
from holdtrue.parameters import Count, configured
from holdtrue.search import Lists, Problems, Solutions, SparseSolver

DEFAULT_CHANGES = 3
N_BOXES = 3000  # of one person, in a tree ensemble
PANEL_BOXES = 1000  # the same in a panel, whose boxes take about ten times as long


@configured
class SparseSearch(AbstractListedSearch):
    """Try every permitted value of one feature, then of every pair: people want one or two changes.

    Minimises ``distance(x, x')`` over rows that differ from the factual in at most `max_changes` features, each
    taking a value from a list: the schema's grid where it is short, else quantiles of the training rows, or, for
    tree ensembles, values just past each split. With `max_changes` of one or two the search is complete: the
    status OPTIMAL says that no cheaper row with so few changes was on the lists, INFEASIBLE that none was
    accepted. Otherwise it goes on with a beam, and says FOUND or NOT_FOUND. Needs only predictions, so it serves
    every model.

    Of any other model made elsewhere every row costs time, and sets of changes are asked in the order of what they
    promise: every single change first, then the sets that are expected to spare most by what their parts did alone
    and together, until none is expected to spare more than 0.4% of the cost. Where no three changes are enough,
    further ones are added one after the other, if `max_changes` is omitted. With one or two changes all sets that
    could be cheaper are asked in the end, so that OPTIMAL and INFEASIBLE stay proofs.

    Tree ensembles that have been read into arrays are searched otherwise: by branch and bound over the boxes of
    their leaves, over all thresholds and any number of changes (see `ExactSearch`, which this is with a budget).
    OPTIMAL and INFEASIBLE are then proofs; FOUND and NOT_FOUND say that the budget was spent before there was one.

    Parameters
    ----------
    max_changes : int, optional
        Features changed at most. When omitted, three; for tree ensembles as many as it takes, and for other
        models made elsewhere as many where three are not enough.
    n_values : int, default=24
        Values tried per number; all that matter are, in a tree ensemble.

    Notes
    -----
    Each changed number is moved back towards the factual in the end, so the cost may lie below that of the best
    listed value. Where a linear first layer exists (linear models, MLPs), it is updated for a change instead of
    computed again.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.SparseSearch(max_changes=2), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> int(plan.changed().sum(axis=1).max()) <= 2
    True
    """

    trims: ClassVar[bool] = True
    searches_first: ClassVar[bool] = True

    max_changes: Count | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """List the values of every number, but for trees, whose leaves tell them."""
        return {} if isinstance(self.predictor_.decision.model, AbstractTrees) else self._listed(x)

    def solver(self) -> SparseSolver:
        """Exhaustive search over the lists."""
        return self._through_lists(DEFAULT_CHANGES if self.max_changes is None else self.max_changes)

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Go through the lists, or, for a tree ensemble, through its leaves."""
        if self._by_promise:
            return of_the_refused(self, problems, lambda some: self._likeliest(some, deadline, on_rows), on_rows)
        if not isinstance(self.predictor_.decision.model, AbstractTrees):
            return super().search(problems, deadline, on_rows)
        panel = isinstance(self.predictor_.decision.model, TreesPanel)
        return search_leaves(self, problems, PANEL_BOXES if panel else N_BOXES, deadline, on_rows)

    @property
    def _by_promise(self) -> bool:
        """Whether every row costs time: a model made elsewhere, of which no part can be kept from row to row."""
        predictor = self.predictor_
        model = predictor.decision.model
        return predictor.foreign is not None and model.first is None and not isinstance(model, AbstractTrees)

    def _likeliest(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        most = DEFAULT_CHANGES if self.max_changes is None else self.max_changes
        weights = norm_weights(self.predictor_.encoder, self.norm)
        values, as_many = np.asarray(self.state_["values"]), self.max_changes is None
        lists = Lists(values, weights, self.norm, most, self.width, as_many)
        decision = self.predictor_.decision
        return solve_by_promise(
            decision, problems, lists, walks=walks_of(self), deadline=deadline, on_rows=on_rows
        )

    def answers(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """What `search` found, without needless changes: those by promise have none."""
        if self._by_promise:
            return self.search(problems, deadline, on_rows)
        return super().answers(problems, deadline, on_rows)

    def rebind(self, predictor: Predictor) -> Self:
        """Return this method, fitted, for another threshold; the same leaves are not looked up anew."""
        return with_leaves_of(super().rebind(predictor), self)
