"""RobX: towards training rows about which the model is steadily sure."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._criterion import noise_of, proposing, stability_of
from holdtrue.methods._kept_rows import kept_rows, kept_rows_at
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.parameters import Count, Positive, Probability
from holdtrue.search import CounterfactualStability, Lines, ProposalSolver


class RobX(AbstractClimbingMethod):
    """Move another method's recourse towards steady training rows until it is steady itself (Dutta et al., 2022).

    Counterfactual stability is ``mean p(x' + e) - std p(x' + e)`` over Gaussian noise e, with the probability p of
    the wanted class. *Conservative* rows are training rows of the wanted decision whose stability is at least
    `min_stability`; from the base's recourse, the nearest of them are approached step by step, and the first point
    that is stable enough is the answer. Made for tree ensembles, where a retraining changes weights beyond
    recognition; serves every model.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is improved; ``SparseSearch()`` when omitted. The cost is counted in its norm.
    min_stability : float, default=0.5
        Stability that is asked for (`tau`). The paper chooses it for each data set; ``state_["stability"]`` has
        that of the training rows.
    sigma : float, default=0.1
        Deviation of the noise, in encoded units.
    n_samples : int, default=100
        Noisy neighbours of a point (`K`).
    n_candidates : int, default=256
        Nearest conservative rows, as the person could become like them, that are asked about, at most.
    n_neighbours : int, default=5
        How many of them are approached: the nearest that are stable enough.
    n_steps : int, default=20
        Steps to each of them.
    n_rows : int, default=2000
        Training rows kept, of the favourable decision and of the others; a random sample where there are more.
    random_state : int, optional
        Seed of the noise, which is the same for everyone, and of the base.

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

    needs_rows: ClassVar[bool] = True

    def __init__(
        self,
        *,
        base: AbstractMethod | str | None = None,
        min_stability: Probability = 0.5,
        sigma: Positive = 0.1,
        n_samples: Count = 100,
        n_candidates: Count = 256,
        n_neighbours: Count = 5,
        n_steps: Count = 20,
        n_rows: Count = 2000,
        random_state: int | None = None,
    ) -> None:
        self.base = base
        self.min_stability = min_stability
        self.sigma = sigma
        self.n_samples = n_samples
        self.n_candidates = n_candidates
        self.n_neighbours = n_neighbours
        self.n_steps = n_steps
        self.n_rows = n_rows
        self.random_state = random_state

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Keep rows with their stability, and fit the base."""
        own = kept_rows(self, x)
        own["stability"] = stability_of(self._criterion(), self.predictor_.decision, own["rows"])
        return own | self._learn_base(x, y)

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """The rows as they are decided at the other threshold; their stability knows of none."""
        return kept_rows_at(predictor, super().state_at(predictor))

    def solver(self) -> ProposalSolver:
        """Ways to the conservative rows nearest to ``problem.start``."""
        rows = self.state_["rows"]
        n_neighbours = min(int(self.n_neighbours), len(rows))
        lines = Lines(
            rows=jnp.asarray(rows, jnp.float32),
            counts=jnp.asarray(conservative(self.state_, self.min_stability)),
            n_candidates=max(n_neighbours, min(int(self.n_candidates), len(rows))),
            n_neighbours=n_neighbours,
            n_shares=int(self.n_steps),
        )
        return proposing(self, self._criterion(), lines, self.n_steps)

    def _criterion(self) -> CounterfactualStability:
        return CounterfactualStability(noise_of(self), jnp.asarray(self.min_stability, jnp.float32))


def conservative(state: dict[str, np.ndarray], min_stability: float) -> np.ndarray:
    """Boolean (rows, classes): whether a kept row is decided as the class, and stable enough in it."""
    stability = state["stability"]
    return (stability >= min_stability) & (state["decided"][:, None] == np.arange(stability.shape[1]))
