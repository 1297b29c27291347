"""The highest score that a person can reach: the recourse behind a guarantee."""

from collections.abc import Callable
from typing import Annotated, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from holdtrue.batch import solve
from holdtrue.encoding import Norm, broken_limits, decode_recourse, feasible_sets, norm_weights
from holdtrue.errors import CapabilityError
from holdtrue.methods._base import CHUNK, AbstractSolverMethod
from holdtrue.methods._frame import iter_rows
from holdtrue.parameters import Count, Interval, Radius, configured
from holdtrue.schema import Table, TableLike
from holdtrue.search import CLEARANCE, HighestSolver, Problems, Solutions

SLOTS = 64  # people at once: all take much the same number of steps, so that slots need not be refilled early


@configured
class HighestScore(AbstractSolverMethod):
    """The permitted change that raises the score most, whatever it costs.

    Maximises ``margin(x')`` over everything the person may change. Good for one question: up to which threshold
    would this person have recourse? Its answer, the person's *critical threshold* (`critical`), is what
    `holdtrue.certify` calibrates on. It is no advice to follow: the change asked for is as large as allowed.

    Parameters
    ----------
    radius : float, default=inf
        Largest change of a number, in encoded units (the paper's delta_max is 0.75 with standard scaling). By
        default only the schema limits it. Features with levels are not limited by it.
    n_points : int, default=9
        Values of a number asked at a time, evenly spread; where two numbers are all that may change, so many of
        each in a lattice over both at the start. Where it is one number, 65 values.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance that is reported as cost; the search does not heed it.
    n_steps : int, default=3
        Sweeps over the features at most, each looking at a quarter of the interval of the one before.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Serves any model; one with a slope is also asked about the way to the corner that its linearisation likes best
    (the step of the paper), and about steps along the slope. With one or two numbers to change the lattice makes
    the answer exact up to its spacing. Otherwise a higher point may exist that no single feature leads to: the
    critical threshold is then a lower bound, which leaves a guarantee that is made from it sound.

    References
    ----------
    [1] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, eq. 2 and Section 3.3.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), random_state=0).fit(bank.X, bank.y)
    >>> highest = ht.HighestScore().fit(clf).critical(bank.X[:50])
    >>> bool((highest >= clf.predict_proba(bank.X[:50])[:, 1] - 1e-4).all())
    True
    """

    offers_options: ClassVar[bool] = False

    radius: Radius = float("inf")
    n_points: Annotated[int, Interval(2, closed="left")] = 9
    norm: Norm = "l1"
    n_steps: Count = 3
    random_state: int | None = None

    def solver(self) -> HighestSolver:
        """Sweeps over whatever the schema lets anybody change."""
        encoder, decision = self.predictor_.encoder, self.predictor_.decision
        radius = np.full(encoder.n_columns, self.radius)
        for slot in encoder.layout.slots:
            if encoder.schema[slot.name].has_levels:
                radius[slot.start : slot.stop] = np.inf
        weights, radius = jnp.asarray(norm_weights(encoder, self.norm)), jnp.asarray(radius, jnp.float32)
        free = [slot for slot in encoder.layout.slots if encoder.schema[slot.name].direction != "fixed"]
        numbers = tuple(s.start for s in encoder.layout.numbers if s in free)
        groups = tuple((s.start, s.stop) for s in encoder.layout.groups if s in free)
        n_turns = max(1, len(numbers) + len(groups))
        return HighestSolver(
            decision=decision, cost_weights=weights, radius=radius,
            n_steps=jnp.asarray(self.n_steps * n_turns), norm=self.norm, numbers=numbers, groups=groups,
            n_points=self.n_points, has_slope="differentiable" in self.predictor_.capabilities,
        )  # fmt: skip

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Run the climb for every person."""
        return solve(self.solver(), problems, slots=SLOTS, deadline=deadline, on_rows=on_rows)

    def critical(self, X: TableLike, *, on_rows: Callable[[int], None] | None = None) -> np.ndarray:
        """Each person's critical threshold: the largest at which this method has a recourse for them.

        One search per person serves every threshold. What a search found is decoded, held against every limit and
        asked of the model again, as a recourse would be; a person's own probability, without any action, counts.
        The value is lower than the probability reached by a log-odds of 0.0002, so that a search at that very
        threshold clears it.

        Parameters
        ----------
        X : dataframe
            People as they are.
        on_rows : callable, optional
            Told how many more people are done.
        """
        self._check_fitted()
        self.check_parameters()
        predictor = self.predictor_
        if predictor.decision.n_classes != 2:
            raise CapabilityError(
                f"HighestScore: a critical threshold needs two classes; got {predictor.decision.n_classes}. With "
                "more, the largest logit decides and there is no threshold."
            )
        table = predictor.encoder.schema.check(X, where="critical")
        solver = self.solver()
        # Nobody is there already: the search goes on to the top, whatever the classifier's own threshold.
        top = jnp.nextafter(jnp.float32(1), jnp.float32(0))
        solver = eqx.tree_at(lambda s: s.decision.threshold, solver, top)
        parts = [self._critical(solver, table.take(rows), on_rows) for rows in iter_rows(table.n_rows, CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _critical(self, solver: HighestSolver, table: Table, on_rows: Callable[[int], None] | None) -> np.ndarray:
        predictor = self.predictor_
        encoder = predictor.encoder
        feasible = feasible_sets(encoder, table)
        x = feasible.x
        target = np.full(len(x), predictor.decision.favourable, np.int32)
        problems = Problems(x, target, feasible, self._keys(x), x)
        highest = solve(solver, problems, slots=SLOTS, on_rows=on_rows)
        action = decode_recourse(encoder, highest.x, table, None)
        recourse, consequences = self.outcome(table, action)
        kept = np.array([not b for b in broken_limits(encoder, table, recourse, None, consequences)], bool)
        before, after = (self._log_odds(t) for t in (table, recourse))
        best = np.maximum(before, np.where(kept, after, -np.inf)) - 2 * CLEARANCE
        return 1.0 / (1.0 + np.exp(-best))

    def _log_odds(self, table: Table) -> np.ndarray:
        good = self.predictor_.decision.favourable
        logits = self.predictor_.logits(table).astype(np.float64)
        return logits[:, good] - logits[:, 1 - good]
