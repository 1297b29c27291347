"""Training that is a solution: the default classifier's curves."""

from collections.abc import Mapping
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from holdtrue.models import (
    AbstractArchitecture,
    AbstractModel,
    Additive,
    Data,
    History,
    PiecewiseModel,
    solve_additive,
)
from holdtrue.parameters import Positive
from holdtrue.training._base import AbstractRegime, TrainingContext
from holdtrue.training._losses import CrossEntropyStep
from holdtrue.training._space import Range, Space


class AdditiveTraining(AbstractRegime):
    """Minimise cross-entropy plus a penalty on every bend: what a classifier takes by default, with `Additive`.

    The problem is convex and is solved by Newton's method, so that no seed, order or number of epochs matters: a
    training differs from another by its rows alone. Fine-tuning goes on from the solution with Adam.

    Parameters
    ----------
    penalty : float, default=1.0
        Times the penalty on squared weights; larger is smoother. It counts in rows, so that longer tables outweigh
        it by themselves.
    class_weight : None, "balanced" or mapping, default=None
        Weight per class label.
    validation_fraction : float, default=0.15
        Share of rows held out where the model is compared with plain ones (`RecourseClassifier.beside_`); the
        model itself learns from all.

    Examples
    --------
    >>> AdditiveTraining().default_model()
    Additive()
    """

    needs: ClassVar[frozenset[str]] = frozenset({"additive"})
    uses_seed: ClassVar[bool] = False
    search_space: ClassVar[Space] = {"penalty": Range(0.1, 10.0, log=True)}

    # Of fine-tuning: the solution itself has none of them.
    n_epochs = 1
    batch_size = 32
    patience = None
    step_size = 0.001

    def __init__(
        self,
        *,
        penalty: Positive = 1.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.15,
    ) -> None:
        self.penalty = penalty
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction

    def default_model(self) -> AbstractArchitecture:
        """One curve per column."""
        return Additive()

    def step(self, context: TrainingContext) -> CrossEntropyStep:
        """Cross-entropy by Adam, for fine-tuning."""
        self.check_parameters()
        return CrossEntropyStep(jnp.asarray(self.step_size, jnp.float32), jnp.asarray(0.0, jnp.float32))

    def solves(self, model: AbstractModel) -> bool:
        """Always: what is not additive is refused."""
        return True

    def solve(
        self, model: AbstractModel, data: Data, key: PRNGKeyArray, context: TrainingContext
    ) -> tuple[AbstractModel, History]:
        """Solve for the rows as they are."""
        assert isinstance(model, PiecewiseModel)  # by `needs`
        return solve_additive(model, data, self.penalty)
