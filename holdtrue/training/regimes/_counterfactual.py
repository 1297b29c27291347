"""Counterfactual training: recourse that is searched in training tells the model what it should look like."""

from typing import Any, ClassVar, Literal

import jax.numpy as jnp

from holdtrue.parameters import Count, NonNegative, Positive, Probability, Share, configured
from holdtrue.search import (
    AbstractLoss,
    AbstractSampler,
    CrossEntropy,
    DescentSampler,
    EnergyConstrained,
    LatentSampler,
)
from holdtrue.training._base import TrainingContext
from holdtrue.training._contrast import ContrastStep, Immature
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import OneOf, Range, Space

Search = Literal["eccco", "generic", "revise"]
Adversary = Literal["nascent", "pgd"]


@configured
class CounterfactualTraining(AbstractMinibatches):
    """Train on recourse searched in every epoch, so that recourse looks like the class it leads to.

    Minimises ``loss + divergence_weight * (E(x+) - E(x')) + adversarial_weight * loss(x_near, y) + ridge_weight *
    (E(x+)^2 + E(x')^2)`` (eq. 2), where ``E = -logit(target)``, `x'` is recourse that was found for a training
    row, `x+` a row of the target class, as `x'` in what the person could not change, and `x_near` the last point
    of the search within `radius` of the person. With `divergence_weight` 0 it is the paper's AR, with
    `adversarial_weight` 0 its CD, with all three 0 plain training. It promises recourse to nobody, and it costs
    accuracy on some data: measure both, with small search steps.

    Parameters
    ----------
    divergence_weight : float, default=0.5
        Weight of the contrastive divergence (lambda_div).
    adversarial_weight : float, default=0.25
        Weight of the loss at nascent recourse (lambda_adv).
    ridge_weight : float, default=0.1
        Weight of the squared energies (lambda_reg). Without it they grow without end.
    n_recourses : int, default=1000
        Searches per epoch (n_CE), from rows drawn without replacement; at least one per minibatch.
    search : {"eccco", "generic", "revise"}, default="eccco"
        What the search descends on: cross-entropy with a pull to low energy; cross-entropy; or cross-entropy among
        the codes of a variational autoencoder that learns the training rows first.
    maturity : float, default=0.5
        Probability of the target class from which recourse is mature (tau).
    n_steps : int, default=30
        Steps of a search at most (T).
    search_step_size : float, default=0.5
        Of the search, in encoded units per unit of slope. The paper has 0.1; on tables scaled to [0, 1] so few
        searches then matured (an eighth, on mortgage applications) that the divergence had little to say.
    energy_weight : float, default=5.0
        Pull to low energy, for "eccco".
    cost_weight : float, default=0.001
        Weight of the l1 distance in the search.
    radius : float, default=0.3
        Largest change of any column of nascent recourse (epsilon of eq. 5), in encoded units.
    adversary : {"nascent", "pgd"}, default="nascent"
        Where the adversarial loss is taken: at nascent recourse; or at the minibatch's own rows, moved by
        projected gradient within `radius` (7 steps), as in `AdversarialTraining`.
    pull_weight : float, default=0.0
        Weight of what the paper does not have: that between factual and recourse the logits lead to the target's
        rows. The slope of the mean logit is held against ``pull * sign(x+ - x)``, in units of `pull`, so that the
        energy comes to fall with the implausibility of eq. 6; in columns that nobody may change, every logit's
        slope against 0.
    pull : float, default=1.0
        Slope that is aimed at, in logits per encoded unit.
    immature : {"neighbour", "drop", "keep"}, default="neighbour"
        What becomes of a search that did not mature: it stands for its neighbour, so that it has no divergence and
        counts in the ridge; it counts in neither; or its last point counts as if it had.
    harden : bool, default=False
        Whether the search asks about points that the person could really be at (one level per category, whole
        numbers), or about relaxed ones, as the paper does.
    guard : bool, default=True
        Whether recourse that went farther than its neighbour, where some feature was held, counts as if it had not
        matured. Without it a model may unlearn the features that can change, until no recourse matures.
    burn_in : float, default=0.0
        Share of the epochs that are plain training.

    Notes
    -----
    Needs a differentiable model. What people may change, and the bounds of every number, are the schema's.
    ``clf.history_.notes`` has the share of mature searches, the mean size of their energies and the largest logit
    of every epoch; a share near 0 means that the divergence does nothing. Differs from the paper in: `guard`; the
    l1 cost enters by its proximal map; sample and class weights of the factual weigh its terms. Early stopping
    watches the cross-entropy.

    References
    ----------
    [1] *Counterfactual training: teaching models plausible and actionable explanations*, eq. 2-5, section III-D.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> regime = ht.CounterfactualTraining(n_recourses=100, n_epochs=3)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, regime=regime, random_state=0).fit(bank.X, bank.y)
    >>> clf.history_.notes["mature"].shape
    (3,)
    """

    search_space: ClassVar[Space] = {
        "divergence_weight": Range(0.01, 1.0, log=True),
        "adversarial_weight": Range(0.01, 1.0, log=True),
        "ridge_weight": Range(0.003, 1.0, log=True),
        "maturity": Range(0.5, 0.95),
        "n_steps": OneOf((10, 30, 50)),
        "n_recourses": OneOf((250, 1000, 4000)),
    }

    divergence_weight: NonNegative = 0.5
    adversarial_weight: NonNegative = 0.25
    ridge_weight: NonNegative = 0.1
    n_recourses: Count = 1000
    search: Search = "eccco"
    maturity: Probability = 0.5
    n_steps: Count = 30
    search_step_size: Positive = 0.5
    energy_weight: NonNegative = 5.0
    cost_weight: NonNegative = 0.001
    radius: Positive = 0.3
    adversary: Adversary = "nascent"
    pull_weight: NonNegative = 0.0
    pull: Positive = 1.0
    immature: Immature = "neighbour"
    harden: bool = False
    guard: bool = True
    burn_in: Share = 0.0

    def step(self, context: TrainingContext) -> ContrastStep:
        """Eq. 2, by Adam."""
        self.check_parameters()
        f32 = jnp.float32
        pulled = self.pull_weight > 0
        return ContrastStep(
            step_size=jnp.asarray(self.step_size, f32),
            weight_decay=jnp.asarray(self.weight_decay, f32),
            divergence_weight=jnp.asarray(self.divergence_weight, f32),
            adversarial_weight=jnp.asarray(self.adversarial_weight, f32),
            ridge_weight=jnp.asarray(self.ridge_weight, f32),
            sampler=self._sampler(),
            context=context,
            n_recourses=int(self.n_recourses),
            burn_in=round(self.burn_in * self.n_epochs),
            immature=self.immature,
            guard=bool(self.guard),
            pull_weight=jnp.asarray(self.pull_weight, f32) if pulled else None,
            pull=jnp.asarray(self.pull, f32) if pulled else None,
            attack_radius=jnp.asarray(self.radius, f32) if self.adversary == "pgd" else None,
        )

    def _sampler(self) -> AbstractSampler:
        parts: dict[str, Any] = {
            "radius": jnp.asarray(self.radius, jnp.float32),
            "step_size": jnp.asarray(self.search_step_size, jnp.float32),
            "cost_weight": jnp.asarray(self.cost_weight, jnp.float32),
            "wanted": float(self.maturity),
            "n_steps": int(self.n_steps),
            "harden": bool(self.harden),
        }
        if self.search == "revise":
            return LatentSampler(autoencoder=None, **parts)
        loss: AbstractLoss = CrossEntropy()
        if self.search == "eccco":
            loss = EnergyConstrained.over(self.n_steps, self.energy_weight)
        return DescentSampler(loss=loss, **parts)
