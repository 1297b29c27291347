"""T-Rex: to where the model is sure, and hardly less so near by."""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from holdtrue.batch import Predictor
from holdtrue.errors import CapabilityError
from holdtrue.methods._criterion import climbing, proposing
from holdtrue.methods._kept_rows import kept_rows_at
from holdtrue.methods._steady import AbstractSteadyMethod
from holdtrue.parameters import Count, Probability, configured
from holdtrue.search import LocalStability, Neighbours, ProposalSolver, StableSolver

BLOCK = 8  # rows asked about in a step, each with its neighbours


@configured
class TRex(AbstractSteadyMethod):
    """Recourse that is stable under models which differ, but not much where people are (Hamman et al., 2023).

    Stability is ``mean over e of p(x' + e) - |p(x') - p(x' + e)|`` for Gaussian noise e, with the probability p
    of the wanted class: high where the model is sure and varies little near by. From the base's recourse it is
    climbed by its gradient until it reaches `min_stability` (T-Rex:I), or the cheapest training row that is
    stable enough is taken (T-Rex:NN).

    Parameters
    ----------
    variant : {"I", "NN"}, optional
        Climb, or take a row. By default a model with a gradient is climbed; for another a row is taken.
    n_steps : int, default=600
        Steps of a climb at most.
    n_candidates : int, default=256
        Cheapest stable rows that are asked about, at most.

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

    variant: Literal["I", "NN"] | None = None
    min_stability: Probability = 0.7
    n_steps: Count = 600
    n_candidates: Count = 256

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base; for rows, keep them with their stability."""
        if self.variant == "I" and "differentiable" not in self.predictor_.capabilities:
            raise CapabilityError("TRex: variant='I' needs a differentiable model. Use variant='NN'.")
        return ({} if self._climbs() else self._kept(x)) | self._learn_base(x, y)

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
            counts=jnp.asarray(self._conservative()),
            n_candidates=n_candidates,
            block=block,
        )
        return proposing(self, self._criterion(), neighbours, -(-n_candidates // block))

    def _climbs(self) -> bool:
        return (self.variant or ("I" if "differentiable" in self.predictor_.capabilities else "NN")) == "I"

    def stability(self, noise: Array, least: Array) -> LocalStability:
        """How sure the model is among neighbours, less how far that is from what it says of the point."""
        return LocalStability(noise, least)
