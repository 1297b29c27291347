"""Faithful counterfactuals: gradient search with an energy constraint."""

from typing import ClassVar

import jax.numpy as jnp

from holdfast.encoding import Norm
from holdfast.methods._base import AbstractSolverMethod
from holdfast.methods._generic import plain_descent
from holdfast.search import EnergyConstrained, GradientSolver

RIDGE = 0.001  # of the squared energy


class ECCCo(AbstractSolverMethod):
    """Recourse that looks to the model like the wanted class, by descent on cross-entropy, cost and energy.

    Descends ``-log p(target | x') + cost_weight * distance(x, x') + energy_weight * phi_t * (E + 0.001 E^2)`` with
    ``E = -logit(target | x')`` and a weight ``phi_t = a (b + t)^-0.9`` that fades. Good for recourse that is
    faithful to what the model has learned of the wanted class; plausible to people only where the model has
    learned that well, as after counterfactual training. It goes farther than the boundary asks.

    Parameters
    ----------
    energy_weight : float, default=5.0
        Weight of the energy.
    cost_weight : float, default=0.001
        Weight of the cost.
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance.
    target_probability : float, optional
        Probability of the wanted class at which to stop. By default as soon as the decision turns.
    n_steps : int, default=50
        Steps at most.
    step_size : float, default=0.1
        Step, in encoded units per unit of slope.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Needs a differentiable model. As in the counterfactual-training paper there is no conformal term. Differs in
    that the model is asked about the hardened point and the l1 cost enters by its proximal map; ``b`` is at least
    1, since with the paper's rounding the energy would vanish in searches of 12 steps or fewer.

    References
    ----------
    [1] *Counterfactual training*, section IV-A.
    [2] Altmeyer, Farmanbar, van Deursen, Liem (2024), *Faithful model explanations through energy-constrained
        conformal counterfactuals*.

    Examples
    --------
    >>> import holdfast as hf
    >>> bank = hf.datasets.load("loanapp")
    >>> clf = hf.RecourseClassifier(schema=bank.schema, model=hf.Linear(), method=hf.ECCCo())
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    def __init__(
        self,
        *,
        energy_weight: float = 5.0,
        cost_weight: float = 0.001,
        norm: Norm = "l1",
        target_probability: float | None = None,
        n_steps: int = 50,
        step_size: float = 0.1,
        random_state: int | None = None,
    ) -> None:
        self.energy_weight = energy_weight
        self.cost_weight = cost_weight
        self.norm: Norm = norm
        self.target_probability = target_probability
        self.n_steps = n_steps
        self.step_size = step_size
        self.random_state = random_state

    def solver(self) -> GradientSolver:
        """Plain descent on cross-entropy and energy."""
        b = max(round(self.n_steps / 25), 1)
        weight, a, b, ridge = (jnp.asarray(value, jnp.float32) for value in (self.energy_weight, b / 10, b, RIDGE))
        return plain_descent(self, EnergyConstrained(weight, a, b, ridge))
