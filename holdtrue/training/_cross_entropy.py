"""What regimes share that minimise cross-entropy and nothing else."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from holdtrue.models import AbstractClosedForm, Data, History
from holdtrue.training._base import TrainingContext
from holdtrue.training._losses import CrossEntropyStep
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._space import STEP_SIZE, Range, Space


class AbstractCrossEntropy(AbstractMinibatches):
    """Cross-entropy by Adam, or solved at once where the model can be."""

    search_space: ClassVar[Space] = {"step_size": STEP_SIZE, "weight_decay": Range(1e-6, 0.1, log=True)}

    def step(self, context: TrainingContext) -> CrossEntropyStep:
        """Cross-entropy by Adam."""
        self.check_parameters()
        return CrossEntropyStep(
            jnp.asarray(self.step_size, jnp.float32), jnp.asarray(self.weight_decay, jnp.float32)
        )

    def solve(
        self, model: AbstractClosedForm, data: Data, key: PRNGKeyArray, context: TrainingContext
    ) -> tuple[AbstractClosedForm, History]:
        """Solve for the rows as they are."""
        return model.solve(data, key)
