"""RBR: robust Bayesian recourse."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._kept_rows import AbstractRowsMethod
from holdtrue.parameters import Count, NonNegative, OneOf, Positive, configured
from holdtrue.search import OddsSolver


@configured
class RBR(AbstractRowsMethod):
    """Recourse to where a yes is likelier than a no, even if the densities of both are somewhat wrong.

    Minimises ``log sum_i max N_i(x') - log sum_j min N_j(x')`` within the ball of ``d + slack`` about the person,
    where `d` is the distance to the boundary: `i` runs over refused and `j` over accepted points of a sample about
    it, and each ``N`` is a Gaussian of width `sigma` at its point that may be replaced by another within a
    2-Wasserstein distance of `refused_radius` or `accepted_radius`. Good for robust recourse on a model that gives
    nothing but predictions. Kernel densities say little in many dimensions; there the answer is a short way
    inward.

    Parameters
    ----------
    refused_radius : float, default=0.0
        How wrong the density of refused points may be (`eps_op`: they are taken to be as likely as possible).
    accepted_radius : float, default=0.0
        How wrong the density of accepted points may be (`eps_pe`: as unlikely as possible).
    sigma : float, default=1.0
        Width of the kernels, in encoded units.
    slack : float, default=0.2
        How much farther than the boundary the recourse may lie (`delta_plus`).
    norm : {"l1", "l2", "linf", "mad"}, default="l1"
        Distance, of the ball too.
    n_neighbours : int, default=200
        Rows of the wanted decision on the way to which the boundary is looked for. The authors' code has 10 as its
        default, and 1000 in its experiments.
    n_samples : int, default=200
        Points of the sample.
    spread : float, default=0.2
        Radius of the sample's ball, l2, in encoded units.
    n_steps : int, default=500
        Steps at most.
    step_size : float, default=0.03
        Of a gradient step; the authors' code has 1 over the root of 1000.
    random_state : int, optional
        Seed of the samples; each person has their own.

    Notes
    -----
    Serves every model; needs training rows. The inner maximum and minimum depend on a distance alone; they are
    found by narrowing grids for a range of distances, where the authors' code runs projected gradient steps for
    each point at each step. Differs from that code in that the boundary is found by bisection, not as the first of
    100 even steps; that points are labelled by what the model says once they are hardened, in columns the person
    may change; that the two points between which the decision turns belong to the sample; that the search goes on
    at the edge of the ball and does not end when it gets there; and that the answer is the valid hardened point
    with the least objective. A changed category or a rounded number may leave the ball.

    References
    ----------
    [1] Nguyen, Bui, Nguyen, Yue, Nguyen (2022), *Robust Bayesian recourse*.
    [2] *RoCourseNet*, section 4, where it is a baseline.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.RBR(n_samples=50, n_steps=100, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid[plan.found].all())
    True
    """

    refused_radius: NonNegative = 0.0
    accepted_radius: NonNegative = 0.0
    sigma: Positive = 1.0
    slack: NonNegative = 0.2
    norm: Annotated[Norm, OneOf(("l1", "l2", "linf", "mad"))] = "l1"
    n_neighbours: Count = 200
    n_samples: Count = 200
    spread: Positive = 0.2
    n_steps: Count = 500
    step_size: Positive = 0.03
    random_state: int | None = None

    def solver(self) -> OddsSolver:
        """Descent on the worst odds."""
        return OddsSolver(
            decision=self.predictor_.decision,
            rows=jnp.asarray(self.state_["rows"], jnp.float32),
            decided=jnp.asarray(self.state_["decided"]),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            step_size=jnp.asarray(self.step_size, jnp.float32),
            sigma=jnp.asarray(self.sigma, jnp.float32),
            refused_radius=radius_of(self.refused_radius),
            accepted_radius=radius_of(self.accepted_radius),
            spread=jnp.asarray(self.spread, jnp.float32),
            slack=jnp.asarray(self.slack, jnp.float32),
            norm=self.norm,
            n_neighbours=int(self.n_neighbours),
            n_samples=int(self.n_samples),
        )


def radius_of(radius: float) -> Array | None:
    """No radius where it is 0: a kernel that stays as it is needs no search for its extremes."""
    return jnp.asarray(radius, jnp.float32) if radius > 0 else None
