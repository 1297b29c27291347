"""Faithful counterfactuals: gradient search with an energy constraint."""

import jax.numpy as jnp
import numpy as np

from holdtrue.errors import DataError
from holdtrue.methods._plain_descent import AbstractPlainDescent
from holdtrue.models import ConformalSets
from holdtrue.parameters import NonNegative, Positive, Probability, configured
from holdtrue.search import AbstractLoss, EnergyConstrained, GradientSolver, SetSizePenalised


@configured
class ECCCo(AbstractPlainDescent):
    """Recourse that looks to the model like the wanted class, by descent on cross-entropy, cost and energy.

    Descends ``-log p(target | x') + cost_weight * distance(x, x') + energy_weight * phi_t * (E + 0.001 E^2)`` with
    ``E = -logit(target | x')`` and a weight ``phi_t = a (b + t)^-0.9`` that fades; if wanted, also on
    ``conformal_weight * max(size - kappa, 0)`` with the smooth size of the row's conformal set. Good for recourse
    that is faithful to what the model has learned of the wanted class; plausible to people only where the model
    has learned that well, as after counterfactual training. It goes farther than the boundary asks.

    Parameters
    ----------
    energy_weight : float, default=5.0
        Weight of the energy.
    conformal_weight : float, default=0.0
        Weight of the size of the set of classes that the model cannot rule out at `x'`. The
        counterfactual-training paper leaves it out.
    kappa : float, default=1.0
        Size up to which a set costs nothing.
    temperature : float, default=0.1
        How soft the edge of the set is, in units of probability.
    coverage : float, default=0.95
        Share of rows whose own class must be in their set.

    Notes
    -----
    Needs a differentiable model; with a `conformal_weight` also rows and labels in `fit`, to calibrate the sets.
    Their coverage holds for new rows like those: give rows the model has not learned from, since on rows it has
    learned from it is surer than on new ones. A classifier fitted with this method gives its training rows. A set
    is small wherever the model is sure, also of the wrong class: a large weight holds those who are surely refused
    where they are.
    Differs from the papers in that the model is asked about the hardened point and the l1 cost enters by its
    proximal map; ``b`` is at least 1, since with the paper's rounding the energy would vanish in searches of 12
    steps or fewer.

    References
    ----------
    [1] *Counterfactual training*, section IV-A.
    [2] Altmeyer, Farmanbar, van Deursen, Liem (2024), *Faithful model explanations through energy-constrained
        conformal counterfactuals*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.ECCCo(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    energy_weight: NonNegative = 5.0
    conformal_weight: NonNegative = 0.0
    kappa: NonNegative = 1.0
    temperature: Positive = 0.1
    coverage: Probability = 0.95

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Calibrate the sets, where they count."""
        if self.conformal_weight == 0:
            return {}
        if len(x) == 0 or y is None:
            raise DataError(
                "ECCCo: a `conformal_weight` needs rows and labels to calibrate on; got none. Pass X and y to fit."
            )
        classes = self.predictor_.classes
        labels = np.argmax(np.asarray(y)[:, None] == classes[None, :], axis=1)
        if not (classes[labels] == np.asarray(y)).all():
            raise DataError(f"ECCCo: `y` must hold the model's classes {classes.tolist()!r}; got another label.")
        return {"set_threshold": ConformalSets.calibrate(self.predictor_.logits_of(x), labels, self.coverage)}

    def solver(self) -> GradientSolver:
        """Plain descent on cross-entropy, energy and set size."""
        loss: AbstractLoss = EnergyConstrained.over(self.n_steps, self.energy_weight)
        if self.conformal_weight > 0:
            parts = (self.conformal_weight, self.kappa, self.temperature)
            sets = ConformalSets(jnp.asarray(self.state_["set_threshold"]))
            loss = SetSizePenalised(loss, sets, *(jnp.asarray(value, jnp.float32) for value in parts))
        return self.descent(loss)
