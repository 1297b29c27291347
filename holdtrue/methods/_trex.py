"""T-Rex: to where the model is sure, and hardly less so near by."""

from typing import ClassVar, Literal

import jax.numpy as jnp
import numpy as np

from holdtrue.batch import Predictor
from holdtrue.errors import CapabilityError
from holdtrue.methods._base import AbstractMethod
from holdtrue.methods._criterion import climbing, noise_of, proposing, stability_of
from holdtrue.methods._kept_rows import kept_rows, kept_rows_at
from holdtrue.methods._robx import conservative
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.parameters import Count, Positive, Probability
from holdtrue.search import LocalStability, Neighbours, ProposalSolver, StableSolver

BLOCK = 8  # rows asked about in a step, each with its neighbours


class TRex(AbstractClimbingMethod):
    """Recourse that is stable under models which differ, but not much where people are (Hamman et al., 2023).

    Stability is ``mean over e of p(x' + e) - |p(x') - p(x' + e)|`` for Gaussian noise e, with the probability p
    of the wanted class: high where the model is sure and varies little near by. From the base's recourse it is
    climbed by its gradient until it reaches `min_stability` (T-Rex:I), or the cheapest training row that is
    stable enough is taken (T-Rex:NN).

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method whose recourse is the start; ``SparseSearch()`` when omitted. The cost is counted in its norm.
    variant : {"I", "NN"}, optional
        Climb, or take a row. By default a model with a gradient is climbed; for another a row is taken.
    min_stability : float, default=0.7
        Stability that is asked for (`tau`); the paper chooses it for each data set.
    sigma : float, default=0.1
        Deviation of the noise, in encoded units.
    n_samples : int, default=100
        Noisy neighbours of a point (`k`).
    n_steps : int, default=600
        Steps of a climb at most.
    n_candidates : int, default=256
        Cheapest stable rows that are asked about, at most.
    n_rows : int, default=2000
        Training rows kept, of the favourable decision and of the others; a random sample where there are more.
    random_state : int, optional
        Seed of the noise, which is the same for everyone, and of the base.

    Notes
    -----
    Needs training rows, and what the base needs. The climb goes up in an l2 ball about the person that grows as
    in `StableSearch`, and what it finds is brought back towards the person as far as it stays stable; the paper
    takes plain steps up and keeps the first stable point. A row is made reachable first (fixed features stay the
    person's own) and its stability is asked again as the person would have it; the base's recourse is taken where
    it is cheaper and stable enough.

    A person for whom no point is stable enough keeps the valid one that lacks least.

    References
    ----------
    [1] Hamman, Noorani, Mishra, Magazzeni, Dutta (2023), *Robust counterfactual explanations for neural networks
        with probabilistic guarantees*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.TRex(n_samples=50)
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
        variant: Literal["I", "NN"] | None = None,
        min_stability: Probability = 0.7,
        sigma: Positive = 0.1,
        n_samples: Count = 100,
        n_steps: Count = 600,
        n_candidates: Count = 256,
        n_rows: Count = 2000,
        random_state: int | None = None,
    ) -> None:
        self.base = base
        self.variant = variant
        self.min_stability = min_stability
        self.sigma = sigma
        self.n_samples = n_samples
        self.n_steps = n_steps
        self.n_candidates = n_candidates
        self.n_rows = n_rows
        self.random_state = random_state

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base; for rows, keep them with their stability."""
        if self.variant == "I" and "differentiable" not in self.predictor_.capabilities:
            raise CapabilityError("TRex: variant='I' needs a differentiable model. Use variant='NN'.")
        own: dict[str, np.ndarray] = {}
        if not self._climbs():
            own = kept_rows(self, x)
            own["stability"] = stability_of(self._criterion(), self.predictor_.decision, own["rows"])
        return own | self._learn_base(x, y)

    def state_at(self, predictor: Predictor) -> dict[str, np.ndarray]:
        """The rows as they are decided at the other threshold; their stability knows of none."""
        state = super().state_at(predictor)
        return state if self._climbs() else kept_rows_at(predictor, state)

    def solver(self) -> StableSolver | ProposalSolver:
        """Ascent of the stability, or the stable rows in order of cost."""
        if self._climbs():
            return climbing(self, self._criterion(), self.n_steps)
        rows = self.state_["rows"]
        n_candidates = min(int(self.n_candidates), len(rows))
        block = min(BLOCK, n_candidates)
        neighbours = Neighbours(
            rows=jnp.asarray(rows, jnp.float32),
            counts=jnp.asarray(conservative(self.state_, self.min_stability)),
            n_candidates=n_candidates,
            block=block,
        )
        return proposing(self, self._criterion(), neighbours, -(-n_candidates // block))

    def _climbs(self) -> bool:
        return (self.variant or ("I" if "differentiable" in self.predictor_.capabilities else "NN")) == "I"

    def _criterion(self) -> LocalStability:
        return LocalStability(noise_of(self), jnp.asarray(self.min_stability, jnp.float32))
