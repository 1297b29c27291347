"""Fine-tuning: a fitted model goes on learning, in all its layers or in the top one alone."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdfast.errors import CapabilityError
from holdfast.models import AbstractModel, AbstractStep, Data


class TopLayerStep(AbstractStep):
    """A regime's step that moves the top layer only.

    Whatever the regime does with a minibatch, everything but `AbstractModel.top` is put back afterwards: frozen to
    the last bit, also under weight decay and for regimes that are more than one gradient.
    """

    step: AbstractStep

    def init(self, model: AbstractModel) -> Any:
        """State of the regime's own step."""
        return self.step.init(model)

    def update(
        self, model: AbstractModel, state: Any, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[AbstractModel, Any, Float[Array, ""]]:
        """One update of the regime, of which only the top layer's part is kept."""
        updated, state, loss = self.step.update(model, state, batch, key, epoch)
        return eqx.tree_at(lambda m: m.top, model, updated.top), state, loss

    def validate(self, model: AbstractModel, data: Data) -> Float[Array, ""]:
        """Loss on held-out rows, as the regime has it."""
        return self.step.validate(model, data)

    def prepare(self, data: Data, key: PRNGKeyArray) -> "AbstractStep":
        """The same about the regime's step when it is ready."""
        return eqx.tree_at(lambda s: s.step, self, self.step.prepare(data, key))

    @property
    def notes(self) -> tuple[str, ...]:
        """Names of the numbers that the regime tells of an epoch."""
        return self.step.notes

    def begin_epoch(
        self, model: AbstractModel, data: Data, n_batches: int, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[Any, dict[str, Float[Array, ""]]]:
        """What the regime makes once per epoch."""
        return self.step.begin_epoch(model, data, n_batches, key, epoch)


def top_layer_step(step: AbstractStep, model: AbstractModel) -> TopLayerStep:
    """Freeze everything but the top layer; an error where the model has none."""
    if model.top is None:
        raise CapabilityError(
            f"retrain: {type(model).__name__} has no affine top layer to fine-tune. Use layers='all'."
        )
    return TopLayerStep(step)
