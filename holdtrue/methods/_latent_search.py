"""Random search among the codes of an autoencoder."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._latent_base import AbstractGenerativeMethod
from holdtrue.models import Autoencoder, Rows, build_autoencoder
from holdtrue.parameters import Count, Positive, configured
from holdtrue.search import LatentSpace, ShellSolver


@configured
class LatentSearch(AbstractGenerativeMethod):
    """Nearest accepted row among codes drawn near the person's own (Pawelczyk et al., 2020, as a baseline of SNS).

    Draws `n_candidates` codes with ``||z' - z||_2 < radius``, decodes them, and keeps the accepted row nearest to
    the person; if there is none it draws again, up to `n_steps` times. The ball does not grow, so somebody whose
    recourse lies outside it gets none: a plain baseline for plausible recourse. Needs only predictions of the
    model, and training rows for the autoencoder.

    Parameters
    ----------
    n_candidates : int, default=1280
        Codes drawn in a round (appendix B.3).
    radius : float, default=1.0
        Of the ball of codes, l2 (appendix B.3), in typical lengths of a code.
    raw_radius : bool, default=False
        Whether `radius` counts in raw units of the code instead, as in the paper.
    n_steps : int, default=10
        Rounds at most; the authors' code allows 100, the paper speaks of one.
    norm : {"l2", "l1", "linf", "l0", "mad"}, default="l2"
        Distance that counts as cost and chooses among the accepted rows.
    random_state : int, optional
        Seed of the autoencoder and of the draws; the paper uses 2021.

    Notes
    -----
    The paper's layers 1024-128-32-128-1024 are ``widths=(1024, 128), n_latent=32``: a hundred times the work per
    candidate, and many more weights than a small table has values. Each direction is brought to unit length by
    itself; the authors' code divides by the norm of all directions together, so that its ball is smaller by about
    the root of `n_candidates`. Nothing fixes the scale of an autoencoder's codes, so `radius` counts in root mean
    square distances of the training rows' codes from their mean; `raw_radius` takes the paper at its word, and
    serves half of the people of the small test world where the default serves all. A
    reconstruction that is accepted has no precedence over a nearer row.

    References
    ----------
    [1] *Consistent counterfactuals for deep models*, appendix B.3.
    [2] Pawelczyk, Broelemann, Kasneci (2020), *Learning model-agnostic counterfactual explanations for tabular
        data*.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.LatentSearch(n_epochs=10, n_candidates=200, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid[plan.found].all())
    True
    """

    n_candidates: Count = 1280
    radius: Positive = 1.0
    raw_radius: bool = False
    n_steps: Count = 10
    norm: Norm = "l2"
    random_state: int | None = None

    def build(self, rows: Rows, key: PRNGKeyArray) -> Autoencoder:
        """Plain autoencoder."""
        return build_autoencoder(rows, self.widths, self.n_latent, (), key)

    def solver(self) -> ShellSolver:
        """One ball of codes, drawn from again and again."""
        unit = 1.0 if self.raw_radius else float(self.state_["code_length"])
        return ShellSolver(
            decision=self.predictor_.decision,
            space=LatentSpace(self.generator(), ball="l2"),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            radius=jnp.asarray(self.radius * unit, jnp.float32),
            norm=self.norm,
            n_candidates=int(self.n_candidates),
            grow=False,
            contract=False,
            sparsify=False,
        )
