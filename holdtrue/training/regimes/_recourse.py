"""Training for recourse: the loss, and the loss after everybody's best permitted action."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.errors import DataError
from holdtrue.models import AbstractGradientStep, AbstractModel, Data, weighted_mean
from holdtrue.parameters import Count, NonNegative, Radius, configured
from holdtrue.search import (
    AbstractAction,
    CandidateAction,
    Direction,
    Edits,
    GradientAction,
    LatticeAction,
    LinearisedAction,
)
from holdtrue.training._base import TrainingContext
from holdtrue.training._losses import cross_entropies
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import Range, Space

Action = Literal["linear", "gradient", "lattice", "edits"]


class RecourseStep(AbstractGradientStep):
    """Adam on cross-entropy plus the cross-entropy to the favourable class after the best action (eq. 1).

    The action is found by the model as it is used, without dropout, and held fixed while the loss is
    differentiated.
    """

    step_size: Float[Array, ""]
    weight_decay: Float[Array, ""]
    recourse_weight: Float[Array, ""]
    action: AbstractAction
    favourable: int = eqx.field(static=True)

    def loss(
        self, model: AbstractModel, batch: Data, key: PRNGKeyArray | None, epoch: Int[Array, ""]
    ) -> Float[Array, ""]:
        """Weighted mean of both losses of a minibatch."""
        wanted = jnp.full_like(batch.y, self.favourable)
        after = jax.lax.stop_gradient(self.act(model, batch.x, key))
        owed = cross_entropies(model, after, wanted, None if key is None else jax.random.fold_in(key, 1))
        supervised = weighted_mean(cross_entropies(model, batch.x, batch.y, key), batch.weight)
        return supervised + self.recourse_weight * weighted_mean(owed, batch.weight)

    def act(self, model: AbstractModel, x: Float[Array, "n d"], key: PRNGKeyArray | None) -> Float[Array, "n d"]:
        """Everybody's row after their best action."""

        def one(row: Float[Array, " d"], number: Int[Array, ""]) -> Float[Array, " d"]:
            own = None if key is None else jax.random.fold_in(key, number + 2)
            return self.action(lambda at: jax.nn.log_softmax(model.logits(at))[self.favourable], row, own)

        return jax.vmap(one)(x, jnp.arange(x.shape[0]))


@configured
class RecourseTraining(AbstractMinibatches):
    """Train a model that leaves people a way to a yes: adversarial training turned round (Ross et al., 2021).

    Minimises ``loss(g(x), y) + recourse_weight * min_{delta in Delta} loss(g(x + delta), favourable)``, where
    `Delta` is what the schema lets the person change, each measured number by at most `radius`. With
    `recourse_weight` 0 it is plain training. It does not promise recourse to anybody, nor that an action changes
    what the label stands for.

    Parameters
    ----------
    recourse_weight : float, default=0.8
        Weight of the second term (lambda of eq. 1).
    radius : float, default=0.75
        Largest change of a measured number, in encoded units; ``inf`` leaves the schema's bounds only. Levels
        (binary, ordinal, categorical) are not limited by it.
    action : {"linear", "gradient", "lattice", "edits"}, default="linear"
        How the inner minimum is found: the linear programme of eq. 2; signed gradient steps on the loss itself;
        the best of a lattice over the numbers that may change (one to three); the best of a list of `edits`.
    n_steps : int, default=10
        Steps of "gradient".
    n_starts : int, default=1
        Starts of "gradient": the factual, the corner of "linear", random points.
    n_points : int, default=5
        Values per number of "lattice".
    edits : sequence of mappings, optional
        For "edits": changes such as ``{"hours": 5, "housing=own": 1}``, amounts in raw units added to numbers,
        levels taken. The radius does not apply.
    direction : {"paper", "code"}, default="paper"
        For "linear": "code" goes down where eq. 2 goes up, as the paper's published code does, to reproduce its
        figures. Of no other use.

    Notes
    -----
    Needs a differentiable model. Differs from the published code in: the direction; the action is found without
    dropout; sample and class weights apply to both terms, where the code leaves the second unweighted; rows are
    shuffled; the point after the action is hardened, so that whole numbers stay whole. With more than two
    classes the loss is the cross-entropy to the favourable one. Early stopping watches the sum of both terms.

    References
    ----------
    [1] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, eq. 1-2.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> regime = ht.RecourseTraining(recourse_weight=0.5, n_epochs=5)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, regime=regime, random_state=0)
    >>> clf = clf.fit(bank.X[:300], bank.y[:300])
    >>> clf.regime_.recourse_weight
    0.5
    """

    search_space: ClassVar[Space] = {"recourse_weight": Range(0.0, 2.0), "radius": Range(0.1, 1.0)}

    recourse_weight: NonNegative = 0.8
    radius: Radius = 0.75  # delta_max of Section 4.1
    action: Action = "linear"
    n_steps: Count = 10
    n_starts: Count = 1
    n_points: Count = 5
    edits: Sequence[Mapping[str, float]] | None = None
    direction: Direction = "paper"

    def step(self, context: TrainingContext) -> RecourseStep:
        """Cross-entropy before and after the best action, by Adam."""
        self.check_parameters()
        return RecourseStep(
            jnp.asarray(self.step_size, jnp.float32),
            jnp.asarray(self.weight_decay, jnp.float32),
            jnp.asarray(self.recourse_weight, jnp.float32),
            self._action(context),
            context.favourable,
        )

    def _action(self, context: TrainingContext) -> AbstractAction:
        if self.direction == "code" and self.action != "linear":
            raise DataError(
                f"RecourseTraining: `direction` must be 'paper' unless action='linear'; got 'code' with "
                f"action={self.action!r}."
            )
        permits, radius = context.permits, jnp.asarray(self.radius, jnp.float32)
        if self.action == "linear":
            return LinearisedAction(permits, radius, self.direction)
        if self.action == "gradient":
            return GradientAction(permits, radius, int(self.n_steps), int(self.n_starts))
        if self.action == "lattice":
            return LatticeAction.of(permits, radius, int(self.n_points))
        if not self.edits:
            raise DataError("RecourseTraining: action='edits' needs `edits`; got none. Give a list of changes.")
        return CandidateAction(Edits.of(permits, self.edits))
