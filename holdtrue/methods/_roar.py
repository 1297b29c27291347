"""ROAR: recourse that survives a small change of the model's coefficients."""

from typing import Literal

import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.methods._local import Surrogate, neighbourhood, surrogate_statistics
from holdtrue.parameters import Count, NonNegative, Positive, configured
from holdtrue.search import GradientSolver, RobustSolver, SquaredScore


@configured
class ROAR(AbstractSolverMethod):
    """Recourse for the worst linear model near the present one.

    Minimises ``max_{|d| <= radius} loss((w + d) @ x' + b + d_0) + cost_weight * distance(x, x')`` with the
    logistic loss. The inner maximum is known: the margin falls by ``radius * (|x'|_1 + 1)`` in the l-infinity
    ball, by ``radius * sqrt(|x'|_2^2 + 1)`` in the l2 ball. Recourse ends deeper inside the accepted side and
    costs more than the nearest; what it guards against is drift of the coefficients, not a new kind of model.

    Parameters
    ----------
    radius : float, default=0.1
        Largest change of the coefficients (`delta_max`), in logits per encoded unit.
    ball : {"linf", "l2"}, default="linf"
        How that change is measured: each coefficient, or all together.
    intercept : bool, default=True
        Whether the intercept changes too.
    cost_weight : float, default=0.1
        Weight of the cost against the loss. Lowered only while no valid point is seen.
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance.
    surrogate : {"auto", "gradient", "lime"}, default="auto"
        Where the coefficients of a model that is not linear come from: its tangent at the point in question,
        or LIME at the person. ``auto`` is the gradient where there is one.
    n_steps : int, default=500
        Steps at most.
    step_size : float, default=0.05
        Of Adam, in encoded units.
    patience : int, default=100
        Steps without a valid point before `cost_weight` is halved; steps without a better one before the end.
    n_samples : int, default=1000
        Neighbours LIME asks the model about, per person.
    spread : float, default=0.1
        Standard deviation of the neighbours' numbers, in encoded units.
    random_state : int, optional
        Seed of LIME's neighbours; each person has their own.

    Notes
    -----
    Serves every model; LIME needs training rows. Differs from the paper in that the answer must be valid for the
    present model, and is the hardened point with the least robust objective rather than the last iterate; in
    that the tangent follows the search; and in the step size (0.001 without a limit of steps there).

    References
    ----------
    [1] Upadhyay, Joshi, Lakkaraju (2021), *Towards robust and reliable algorithmic recourse*, eq. 3-4.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=ht.ROAR(), random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    radius: NonNegative = 0.1
    ball: Literal["linf", "l2"] = "linf"
    intercept: bool = True
    cost_weight: NonNegative = 0.1
    norm: Norm = "l1"
    surrogate: Surrogate = "auto"
    n_steps: Count = 500
    step_size: Positive = 0.05
    patience: Count = 100
    n_samples: Count = 1000
    spread: Positive = 0.1
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Frequencies and ranges of the columns, where LIME is used."""
        return surrogate_statistics(self, x)

    def solver(self) -> RobustSolver:
        """Gradient search against the worst coefficients."""
        descent = GradientSolver(
            decision=self.predictor_.decision,
            loss=SquaredScore(jnp.asarray(0.0)),  # not used: the robust loss takes its place
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            step_size=jnp.asarray(self.step_size, jnp.float32),
            cost_weight=jnp.asarray(self.cost_weight, jnp.float32),
            decay=jnp.asarray(0.5, jnp.float32),
            patience=jnp.asarray(self.patience),
            norm=self.norm,
        )
        return RobustSolver(
            decision=descent.decision,
            cost_weights=descent.cost_weights,
            n_steps=descent.n_steps,
            norm=descent.norm,
            descent=descent,
            around=neighbourhood(self),
            radius=jnp.asarray(self.radius, jnp.float32),
            ball=self.ball,
            intercept=self.intercept,
            n_samples=self.n_samples,
        )
