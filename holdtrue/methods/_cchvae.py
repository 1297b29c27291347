"""C-CHVAE: counterfactuals near the person on the manifold a conditional VAE has learned."""

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._latent_base import AbstractGenerativeMethod, fixed_columns
from holdtrue.models import VAE, Rows, build_vae
from holdtrue.parameters import Count, Positive, configured
from holdtrue.search import LatentSpace, ShellSolver


@configured
class CCHVAE(AbstractGenerativeMethod):
    """Nearest accepted row in shells around the person's code in a VAE (Pawelczyk et al., 2020).

    Seeks ``argmin ||zeta|| such that f(G(I(x) + zeta)) != f(x)`` (eq. 3) with the encoder I and the decoder G of a
    variational autoencoder that is told what the person cannot change. Recourse looks like the training rows,
    because it is decoded from a code; it costs more than the nearest point, and changes most features a little.
    Needs only predictions of the model, and training rows for the autoencoder.

    Parameters
    ----------
    n_candidates : int, default=300
        Codes drawn in each shell.
    radius : float, default=0.1
        Width of a shell, l1 in code units.
    n_steps : int, default=200
        Shells at most.
    norm : {"l1", "l2", "linf", "l0", "mad"}, default="l1"
        Distance that counts as cost and chooses within a shell.
    random_state : int, optional
        Seed of the autoencoder and of the draws.

    Notes
    -----
    The sizes of the search and the training (KL weight rising to 0.3, Adam, batches of 32) are CARLA's; the paper
    names none. CARLA trains for 5 epochs, too few on a small table, and goes on for 1000 shells: the default of
    200 reaches a radius of 20, where codes of two German Credit rows are 8 apart in the median and 16 at most.
    Numbers have a Gaussian likelihood in units of their spread and categories a cross-entropy, where CARLA puts a
    sigmoid and binary cross-entropy on everything. The radius is uniform within a shell; jax-relax's copy draws it
    from a normal.

    References
    ----------
    [1] Pawelczyk, Broelemann, Kasneci (2020), *Learning model-agnostic counterfactual explanations for tabular
        data*.
    [2] *On the trade-offs between adversarial robustness and actionable explanations*, eq. 3.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.CCHVAE(n_epochs=10, n_candidates=50, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid.all())
    True
    """

    n_candidates: Count = 300
    radius: Positive = 0.1
    n_steps: Count = 200
    norm: Norm = "l1"
    random_state: int | None = None

    def build(self, rows: Rows, key: PRNGKeyArray) -> VAE:
        """VAE that is told what nobody may change."""
        return build_vae(rows, self.widths, self.n_latent, fixed_columns(self.predictor_.encoder), key)

    def solver(self) -> ShellSolver:
        """Shells among the codes."""
        return ShellSolver(
            decision=self.predictor_.decision,
            space=LatentSpace(self.generator(), ball="l1"),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            radius=jnp.asarray(self.radius, jnp.float32),
            norm=self.norm,
            n_candidates=int(self.n_candidates),
            grow=True,  # eq. 3: the smallest change of code
            contract=False,
            sparsify=False,
        )
