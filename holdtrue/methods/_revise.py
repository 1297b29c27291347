"""REVISE: gradient descent among the codes of a VAE."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from holdtrue.encoding import Norm, norm_weights
from holdtrue.methods._latent_base import AbstractGenerativeMethod
from holdtrue.models import VAE, Rows, build_vae
from holdtrue.parameters import Count, NonNegative, Positive, PositiveShare, configured
from holdtrue.search import LatentGradientSolver


@configured
class REVISE(AbstractGenerativeMethod):
    """Cheapest accepted row on a path of codes that descends on loss plus cost (Joshi et al., 2019).

    Minimises ``log(1 + exp(-margin(G(z)))) + cost_weight * ||G(z) - x||_1`` over codes z of a variational
    autoencoder with the decoder G, from the person's own code. Recourse looks like the training rows, as far as
    the autoencoder has learned them; it costs more than the nearest point. Follows the slope, so it needs fewer
    questions than sampling among codes.

    Parameters
    ----------
    cost_weight : float, default=0.5
        Weight of the cost against the validity loss at the start; lowered while nothing valid is seen.
    norm : {"l1", "l2", "mad"}, default="l1"
        Distance.
    n_steps : int, default=1000
        Steps at most.
    step_size : float, default=0.1
        Of Adam, in code units.
    patience : int, default=100
        Steps without a valid row before `cost_weight` is multiplied by `decay`; steps without a cheaper one
        before the search ends.
    decay : float, default=0.5
        See `patience`.
    random_state : int, optional
        Seed of the autoencoder; the search is deterministic.

    Notes
    -----
    Needs a differentiable model, and training rows for the autoencoder. The loss, the cost weight, Adam's step and
    the training of the autoencoder are CARLA's, except that the autoencoder takes 50 epochs instead of 5 and gives
    numbers and categories each their own likelihood. CARLA keeps the cost weight, and the valid row of the lowest
    loss; here the cheapest valid row is kept, and the weight falls where it would leave a person without recourse.

    References
    ----------
    [1] Joshi, Koyejo, Vijitbenjaronk, Kim, Ghosh (2019), *Towards realistic individual recourse and actionable
        explanations in black-box decision making systems*.
    [2] *Counterfactual training: teaching models plausible and actionable explanations*, section IV.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> method = ht.REVISE(n_epochs=10, random_state=0)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), method=method, random_state=0)
    >>> clf = clf.fit(bank.X, bank.y)
    >>> plan = clf.recourse(bank.X[clf.predict(bank.X) == 0][:5])
    >>> bool(plan.valid[plan.found].all())
    True
    """

    needs: ClassVar[frozenset[str]] = frozenset({"differentiable"})

    cost_weight: NonNegative = 0.5
    norm: Norm = "l1"
    n_steps: Count = 1000
    step_size: Positive = 0.1
    patience: Count = 100
    decay: PositiveShare = 0.5
    random_state: int | None = None

    def build(self, rows: Rows, key: PRNGKeyArray) -> VAE:
        """VAE of whole rows."""
        return build_vae(rows, self.widths, self.n_latent, (), key)

    def solver(self) -> LatentGradientSolver:
        """Gradient search among the codes."""
        return LatentGradientSolver(
            decision=self.predictor_.decision,
            model=self.generator(),
            cost_weights=jnp.asarray(norm_weights(self.predictor_.encoder, self.norm)),
            n_steps=jnp.asarray(self.n_steps),
            step_size=jnp.asarray(self.step_size, jnp.float32),
            cost_weight=jnp.asarray(self.cost_weight, jnp.float32),
            decay=jnp.asarray(self.decay, jnp.float32),
            patience=jnp.asarray(self.patience),
            norm=self.norm,
        )
