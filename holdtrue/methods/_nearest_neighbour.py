"""The nearest person who got a yes."""

import jax.numpy as jnp

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._kept_rows import AbstractRowsMethod
from holdtrue.parameters import Count, configured
from holdtrue.search import CandidateSolver


@configured
class NearestNeighbour(AbstractRowsMethod):
    """Become like the cheapest accepted person, in what one may change.

    Candidates are training rows that the model decides as wanted. Each is first made reachable (fixed features
    stay the person's own, directions and bounds hold), then they are asked of the model in order of cost; the
    first that is accepted is the cheapest there is among them. Needs only predictions, so it serves every model;
    it changes more features than a search would, since people differ in many.

    Parameters
    ----------
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance.
    n_candidates : int, default=256
        Cheapest candidates asked of the model, at most.
    random_state : int, optional
        Seed of the sample.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.NearestNeighbour(n_rows=500), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    norm: Norm = "l1"
    n_candidates: Count = 256
    random_state: int | None = None

    def solver(self) -> CandidateSolver:
        """Search over the kept rows."""
        rows = self.state_["rows"]
        n_candidates = min(self.n_candidates, len(rows))
        block = min(16, n_candidates)
        return CandidateSolver(
            decision=self.predictor_.decision,
            candidates=jnp.asarray(rows, jnp.float32),
            decided=jnp.asarray(self.state_["decided"]),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(-(-n_candidates // block)),
            norm=self.norm,
            n_candidates=n_candidates,
            block=block,
        )
