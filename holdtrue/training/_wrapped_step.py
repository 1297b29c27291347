"""A step around a regime's own: what both kinds hand through to it."""

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.models import AbstractModel, AbstractStep, Data


class AbstractStepAround(AbstractStep):
    """Changes what a regime's step does with a minibatch (`update`), and nothing else of it."""

    step: eqx.AbstractVar[AbstractStep]

    def init(self, model: AbstractModel) -> PyTree:
        """State of the regime's own step."""
        return self.step.init(model)

    def validate(self, model: AbstractModel, data: Data) -> Float[Array, ""]:
        """Loss on held-out rows, as the regime has it."""
        return self.step.validate(model, data)

    def prepare(self, data: Data, key: PRNGKeyArray) -> AbstractStep:
        """The same about the regime's step when it is ready."""
        return eqx.tree_at(lambda s: s.step, self, self.step.prepare(data, key))

    @property
    def notes(self) -> tuple[str, ...]:
        """Names of the numbers that the regime tells of an epoch."""
        return self.step.notes

    def begin_epoch(
        self, model: AbstractModel, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[PyTree, dict[str, Float[Array, ""]]]:
        """What the regime makes once per epoch."""
        return self.step.begin_epoch(model, data, n_batches, key, epoch)
