"""Another method's search, for the person as they are plus a little noise."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import numpy as np

from holdtrue.batch import distances
from holdtrue.encoding import Feasible
from holdtrue.methods._with_base import AbstractBasedMethod
from holdtrue.parameters import NonNegative, configured
from holdtrue.search import Problems, Solutions, is_found


@configured
class VanillaRandom(AbstractBasedMethod):
    """Recourse of a person whose numbers are a little off (VanillaCF-Random).

    Draws each number anew, uniformly within `radius`, and lets the base find the nearest recourse of that person
    instead. A baseline for robust recourse that shows how little noise helps: it moves the recourse along the
    boundary as much as away from it. Use `SNS`, `ROAR` or `RBR` for recourse that is to last.

    Parameters
    ----------
    base : AbstractMethod or str, optional
        The method that searches; ``Wachter()`` when omitted. The cost is counted in its norm.
    radius : float, default=0.1
        Largest change of a number, in encoded units.
    random_state : int, optional
        Seed of the noise and of the base; each person has their own.

    Notes
    -----
    Needs a differentiable model, and what the base needs. The paper says no more than that a small perturbation is
    added to the input; the radius is that of its attacker. Noise stays in what the person may change, and
    categories have none. Where the noise alone would turn the decision there is none either, since the base would
    have nothing to search for. The cost is counted from the person as they are.

    References
    ----------
    [1] *RoCourseNet*, appendix B.2 and Table 8.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.VanillaRandom(random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    radius: NonNegative = 0.1
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base."""
        return self._learn_base(x, y)

    def search(
        self, problems: Problems, deadline: float | None, on_rows: Callable[[int], None] | None
    ) -> Solutions:
        """Let the base answer for people who are a little off."""
        factual, target = problems.x, problems.target
        noisy = self.perturbed(problems)
        settled = (self._decided(factual) == target) | (self._decided(noisy) == target)
        noisy = np.where(settled[:, None], factual, noisy)
        moved = eqx.tree_at(lambda p: (p.x, p.start), problems, (noisy, noisy))
        answer = self._fitted_base().answers(moved, deadline, on_rows)
        found = is_found(answer.status)
        x = np.where(found[:, None], answer.x, factual)
        cost = distances(self.predictor_.encoder, factual, x, self.norm)
        return Solutions(x, answer.status, np.where(found, cost, answer.cost), answer.n_steps)

    def perturbed(self, problems: Problems) -> np.ndarray:
        """People with noise in the numbers they may change; a person's noise depends on their own key alone."""
        noise = np.zeros(problems.x.shape, np.float32)
        n = len(problems.feasible.layout.numbers)
        for row, key in zip(noise, problems.key, strict=True):
            row[:n] = np.random.default_rng(key).uniform(-self.radius, self.radius, n)
        return np.asarray(problems.feasible.each(Feasible.clip, problems.x + noise), np.float32)

    def _decided(self, x: np.ndarray) -> np.ndarray:
        return self.predictor_.decide_of(self.predictor_.logits_of(x))
