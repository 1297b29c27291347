"""The cheapest action whose consequences, by a causal model, bring the wanted decision."""

from collections.abc import Callable

import equinox as eqx
import numpy as np

from holdtrue.causal import SCM, Effects, find, fit_equations
from holdtrue.methods._listed import AbstractListedSearch
from holdtrue.parameters import Count, configured
from holdtrue.schema import Table
from holdtrue.search import Problems, Solutions, SparseSolver


@configured
class CausalRecourse(AbstractListedSearch):
    """The cheapest action such that, once its consequences have followed, the decision is the wanted one.

    Minimises ``distance(x, a)`` over actions ``a`` on at most `max_changes` features, subject to the decision on
    the counterfactual of a structural causal model: the person's own noise is read off their row (abduction), the
    features acted on take their new values, and every other feature follows by its equation (prediction). The
    cost counts the action and not what follows from it. Values are listed and searched as in `SparseSearch`, of
    which this is the case without a causal model; needs only predictions, so it serves every model.

    Parameters
    ----------
    scm : SCM or str, optional
        The causal model, the name of a built-in one (``german_credit``, ``german_credit_simulated``), or the path
        of a YAML or JSON file. Equations that it leaves open are fitted on the training rows. None: features do
        not depend on one another.
    max_changes : int, default=3
        Features acted on at most; three and more only where two do not suffice.

    Notes
    -----
    The schema's directions, transitions and restrictions say what a person may do: a ``fixed`` feature is never
    acted on, and may yet change as a consequence. A node that the causal model calls immutable must not change at
    all, so none of its ancestors is acted on; nor is one whose descendant is missing in this person's row. A
    consequence keeps the bounds and the grid of its feature, and the row as a whole the linear constraints and
    implications. Setting a feature to the value it has, which would hold it still against its causes at no cost,
    is not offered. OPTIMAL and INFEASIBLE are said, as by `SparseSearch`, of at most two actions and of the values
    listed. Karimi et al. solve the same problem with a general optimiser; where the sets of actions are few and
    the values listed, enumeration is exact and asks nothing of the model but answers.

    References
    ----------
    [1] Karimi, Schölkopf, Valera (2020), Algorithmic Recourse: from Counterfactual Explanations to Interventions.
    [2] Ross, Lakkaraju, Bastani (2021), Learning Models for Actionable Recourse, Section 4.2.

    Examples
    --------
    >>> import holdtrue as ht
    >>> from holdtrue.causal import SCM, Equation, Node, Term
    >>> bank = ht.datasets.load("loanapp")
    >>> less = Equation(terms=[Term(of="loanprc", coefficient=10.0)])
    >>> scm = SCM([Node(name="loanprc"), Node(name="obrat", parents=["loanprc"], equation=less)])
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.CausalRecourse(scm=scm), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid[plan.found].all())
    True
    """

    scm: SCM | str | None = None
    max_changes: Count = 3

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """List the values of every number; read the causal model and fit what it leaves open."""
        state = self._listed(x)
        if self.scm is not None:
            encoder = self.predictor_.encoder
            raw = x.astype(np.float64) * encoder.scale + encoder.offset
            columns = dict(zip(encoder.layout.column_names(encoder.schema), raw.T, strict=True))
            scm = fit_equations(find(self.scm), encoder.schema, columns)
            # As text in an array: a model file then holds the equations themselves and not where they stood.
            state["scm"] = np.frombuffer(scm.to_json().encode(), np.uint8)
        return state

    @property
    def scm_(self) -> SCM | None:
        """The causal model with its equations, as fitted or as read from a model file."""
        stored = self.state_.get("scm")
        return None if stored is None else SCM.from_json(np.asarray(stored, np.uint8).tobytes().decode())

    def solver(self) -> SparseSolver:
        """Exhaustive search over actions."""
        return self._through_lists(self.max_changes, self._effects())

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Close what may not be acted on, then run the solver for every person."""
        effects = self._effects()
        if effects is not None:
            may = effects.may_act(self.predictor_.encoder, problems.x)
            movable = problems.feasible.movable & may
            problems = eqx.tree_at(lambda p: p.feasible.movable, problems, movable)
        return super().search(problems, deadline, on_rows)

    def outcome(self, factual: Table, action: Table) -> tuple[Table, np.ndarray | None]:
        """Everyone's action with its consequences, computed again from the decoded values."""
        effects = self._effects()
        return (action, None) if effects is None else effects.after_table(self.predictor_.encoder, factual, action)

    @property
    def foresees(self) -> bool:
        """With a causal model."""
        return self.scm_ is not None

    def _effects(self) -> Effects | None:
        scm = self.scm_
        return None if scm is None else Effects.of(scm, self.predictor_.encoder)
