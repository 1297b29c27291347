"""Least change by projected gradient in growing balls."""

from typing import Annotated, ClassVar, Literal

import jax.numpy as jnp
import numpy as np

from holdtrue.encoding import Norm, norm_weights
from holdtrue.errors import DataError
from holdtrue.methods._base import AbstractSolverMethod
from holdtrue.parameters import Count, OneOf, Positive, configured
from holdtrue.search import POLISH_STEPS, BallSolver, CrossEntropy

BallNorm = Annotated[Norm, OneOf(("l2", "linf"))]
"""Norms whose balls are searched; `ElasticNet` is for ``l1``."""
BallStep = Literal["paper", "code"]
"""Length of a projected step."""


@configured
class MinPGD(AbstractSolverMethod):
    """A yes in the smallest of some balls about the person, by projected gradient (Min-epsilon PGD).

    Ascends ``log p(target | x')`` within ``|x'-x| <= radius * i / n_balls`` for i = 1, 2, ... until the decision
    turns, then locates the nearest point of the boundary. Fast where the yes is near: most of the work is done
    only for those who are far from it. It changes every feature a little, in linf all by the same amount; a yes
    outside the largest ball is not found.

    Parameters
    ----------
    radius : float, optional
        Of the largest ball, in units of cost. By default the median norm of the training rows (B.3).
    norm : {"l2", "linf"}, default="l2"
        Shape of the balls, and the cost.
    n_balls : int, default=10
        Balls.
    n_steps : int, default=50
        Steps in a ball, each of ``2 * its radius / n_steps``.
    nearest : bool, default=True
        Whether the first valid point is moved to where the boundary is nearest. Otherwise every ball is searched
        to its end and its last point counts, as in the paper: it lies deep in the ball, past the boundary.
    step : {"paper", "code"}, default="paper"
        Length of a step: the paper's, or that of its published code, which takes it as a share of the ball's
        radius, ``2 * radius ** 2 / n_steps``.
    random_state : int, optional
        Seed of the random starts.

    Notes
    -----
    Needs a differentiable model. Differs from the paper in that the first valid point is moved to where the
    boundary is nearest (not with ``nearest=False``), and that the model is asked about the hardened point: a
    change of category may end outside the ball in which the search found it. The paper does not say how many steps
    it takes.

    References
    ----------
    [1] *Consistent counterfactuals for deep models*, section 5.1 and B.3.
    [2] Madry, Makelov, Schmidt, Tsipras, Vladu (2018), *Towards deep learning models resistant to adversarial
        attacks*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), method=ht.MinPGD(radius=10.0), random_state=0
    ... )
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    radius: Positive | None = None
    norm: BallNorm = "l2"
    n_balls: Count = 10  # B.3
    n_steps: Count = 50
    nearest: bool = True
    step: BallStep = "paper"
    random_state: int | None = None

    def learn(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Learn the median norm of the rows, where no radius is given."""
        # In units of cost, as the balls are.
        weighted = x * norm_weights(self.predictor_.encoder, self.norm)
        return {"radius": learned_radius("MinPGD", self.radius, weighted, self.norm)}

    def solver(self) -> BallSolver:
        """Projected gradient in growing balls."""
        return BallSolver(
            decision=self.predictor_.decision,
            loss=CrossEntropy(),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_balls * self.n_steps + POLISH_STEPS),
            radius=jnp.asarray(self.state_["radius"], jnp.float32),
            n_balls=jnp.asarray(self.n_balls),
            ball_steps=jnp.asarray(self.n_steps),
            norm=self.norm,
            nearest=self.nearest,
            relative=self.step == "code",
        )


def learned_radius(where: str, radius: float | None, x: np.ndarray, norm: Norm) -> np.ndarray:
    """The radius given, or the median norm of training rows (B.3)."""
    if radius is not None:
        return np.asarray(radius, np.float32)
    if len(x) == 0:
        raise DataError(
            f"{where}: needs training rows to learn its radius; got X=None. Pass them, or set `radius`."
        )
    order = np.inf if norm == "linf" else 2
    return np.asarray(np.median(np.linalg.norm(x, ord=order, axis=1)), np.float32)
