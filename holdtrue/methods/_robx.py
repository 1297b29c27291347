"""RobX: towards training rows about which the model is steadily sure."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from holdtrue.batch import Predictor
from holdtrue.methods._criterion import proposing
from holdtrue.methods._kept_rows import kept_rows_at
from holdtrue.methods._steady import AbstractSteadyMethod
from holdtrue.parameters import Count, configured
from holdtrue.search import CounterfactualStability, Lines, ProposalSolver


@configured
class RobX(AbstractSteadyMethod):
    """Move another method's recourse towards steady training rows until it is steady itself (Dutta et al., 2022).

    Counterfactual stability is ``mean p(x' + e) - std p(x' + e)`` over Gaussian noise e, with the probability p of
    the wanted class. *Conservative* rows are training rows of the wanted decision whose stability is at least
    `min_stability`; from the base's recourse, the nearest of them are approached step by step, and the first point
    that is stable enough is the answer. Made for tree ensembles, where a retraining changes weights beyond
    recognition; serves every model.

    Parameters
    ----------
    min_stability : float, default=0.5
        Stability that is asked for (`tau`). The paper chooses it for each data set; ``state_["stability"]`` has
        that of the training rows.
    n_candidates : int, default=256
        Nearest conservative rows, as the person could become like them, that are asked about, at most.
    n_neighbours : int, default=5
        How many of them are approached: the nearest that are stable enough.
    n_steps : int, default=20
        Steps to each of them.

    Notes
    -----
    Needs training rows, and what the base needs. A row is what the person could make of it: fixed features stay
    the person's own, and whether it is stable enough is asked again. Every point on the way is hardened before it
    is asked about: a category turns half way. Of the points that are stable enough after equally many steps the
    cheapest for the person is taken.

    A person for whom no point on the way is stable enough keeps the valid one that lacks least, the base's own
    among them.

    References
    ----------
    [1] Dutta, Long, Mishra, Tilli, Magazzeni (2022), *Robust counterfactual explanations for tree-based
        ensembles*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.RobX(n_samples=50)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    n_candidates: Count = 256
    n_neighbours: Count = 5
    n_steps: Count = 20

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Keep rows with their stability, and fit the base."""
        return self._kept(x) | self._learn_base(x, y)

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """The rows as they are decided at the other threshold; their stability knows of none."""
        return kept_rows_at(predictor, super().state_at(predictor))

    def solver(self) -> ProposalSolver:
        """Ways to the conservative rows nearest to ``problem.start``."""
        rows = self.state_["rows"]
        n_neighbours = min(int(self.n_neighbours), len(rows))
        lines = Lines(
            rows=jnp.asarray(rows, jnp.float32),
            counts=jnp.asarray(self._conservative()),
            n_candidates=max(n_neighbours, min(int(self.n_candidates), len(rows))),
            n_neighbours=n_neighbours,
            n_shares=int(self.n_steps),
        )
        return proposing(self, self._criterion(), lines, self.n_steps)

    def stability(self, noise: Array, least: Array) -> CounterfactualStability:
        """How sure the model is among neighbours, less how much that varies."""
        return CounterfactualStability(noise, least)
