"""Growing spheres: sampling around the person, farther and farther out."""

import jax.numpy as jnp

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, Positive, configured
from holdtrue.search import RowSpace, ShellSolver


@configured
class GrowingSpheres(AbstractSolverMethod):
    """Nearest accepted point of those sampled, with every needless change taken back (Laugel et al., 2017).

    Seeks ``argmin ||x' - x||_2 + gamma ||x' - x||_0`` over accepted x' (eq. 4): first the distance, by drawing
    `n_candidates` points in each of a series of shells around the person up to the first that holds an accepted
    one; then the number of changed features, by setting them back while the decision stays. Needs only
    predictions, so it serves every model. It loses its edge where many numbers must move together: few random
    directions point the right way.

    Parameters
    ----------
    n_candidates : int, default=1000
        Points drawn in each shell, and asked of the model at once.
    radius : float, default=0.2
        Radius of the first ball and width of each shell, in encoded units.
    n_steps : int, default=1000
        Shells at most. The search ends earlier where a shell lies beyond all a person may change.
    norm : {"l2", "l1", "linf", "l0", "mad"}, default="l2"
        Distance that counts as cost and chooses among the accepted points of a shell. Shells are l2.
    sparsify : bool, default=True
        Whether to set back needless changes. What remains is minimal: no single change can be left out.
    random_state : int, optional
        Seed of the draws.

    Notes
    -----
    As in Laugel et al., a first ball that already holds an accepted point is halved until it holds none, and the
    shells start there. Radii are uniform within a shell. Categories and features of two values are changed on
    purpose, with a probability that grows with the radius (see `holdtrue.search.RowSpace`), since a small step of
    a one-hot column rounds back; CARLA redraws binary features at random whatever the radius, and leaves out the
    second phase. Defaults are CARLA's; the paper names none.

    References
    ----------
    [1] Laugel, Lesot, Marsala, Renard, Detyniecki (2017), *Inverse classification for comparison-based
        interpretability in machine learning*.
    [2] *On the trade-offs between adversarial robustness and actionable explanations*, eq. 4.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.GrowingSpheres(n_candidates=200, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    n_candidates: Count = 1000
    radius: Positive = 0.2
    n_steps: Count = 1000
    norm: Norm = "l2"  # eq. 4
    sparsify: bool = True
    random_state: int | None = None

    def solver(self) -> ShellSolver:
        """Shells among the rows."""
        return ShellSolver(
            decision=self.predictor_.decision,
            space=RowSpace(),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            radius=jnp.asarray(self.radius, jnp.float32),
            norm=self.norm,
            n_candidates=int(self.n_candidates),
            grow=True,
            contract=True,
            sparsify=bool(self.sparsify),
        )
