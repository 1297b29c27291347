"""The linearised step of recourse-adversarial training, as a method of recourse."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import Norm, level_columns, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, Radius, configured
from holdtrue.search import LinearProgramSolver


@configured
class LinearProgram(AbstractSolverMethod):
    """The change that a linearised model likes best, shrunk to the cheapest valid point on the way.

    Solves ``min_{delta in Delta} grad_x loss(g(x), 1) @ delta``, where `Delta` holds what the person may
    change, by at most `radius` in each number. One gradient and one linear programme per person, so it is fast;
    it is what recourse-adversarial training asks in its inner loop. Where the model bends much within `radius`
    the linear view misleads it: then a few re-linearisations (`n_steps`) help.

    Parameters
    ----------
    radius : float, default=0.75
        Largest change of a number, in encoded units; ``inf`` leaves the schema's bounds only. Levels
        (binary, ordinal, categorical) are not limited by it.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance that decides between valid points.
    n_steps : int, default=1
        Linearisations: the first at the factual, each further one at the best point so far.
    random_state : int, optional
        Unused: the search is deterministic.

    Notes
    -----
    Needs a differentiable model. The paper takes the optimum itself, a far corner of `Delta`. Here the hardened
    corner is only where the ways end: points on the straight line to it, and on the way that changes one feature
    after the other in the order of gain for cost, are asked of the model, and the cheapest valid one is returned.
    On a linear model of numbers alone, without constraints across them, that is the cheapest there is in l1, up
    to the resolution of the way. The sign is the paper's: the loss falls along the step. With more than two
    classes the margin (wanted logit minus the largest other) takes the place of the loss.

    References
    ----------
    [1] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, eq. 2-3 and Section 3.2.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.LinearProgram(), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    radius: Radius = 0.75  # delta_max of Section 4
    norm: Norm = "l1"
    n_steps: Count = 1
    random_state: int | None = None

    def solver(self) -> LinearProgramSolver:
        """Linear programmes over the person's polytope."""
        encoder = self.predictor_.encoder
        radius = np.where(level_columns(encoder.schema, encoder.layout), np.inf, self.radius)
        return LinearProgramSolver(
            decision=self.predictor_.decision,
            cost_weights=jnp.asarray(norm_weights(encoder, self.norm)),
            radius=jnp.asarray(radius, jnp.float32),
            n_steps=jnp.asarray(self.n_steps),
            norm=self.norm,
        )
