"""Fine-tuning: a fitted model goes on learning, in all its layers or in the top one alone."""

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from holdtrue.errors import CapabilityError
from holdtrue.models import AbstractModel, AbstractStep, Data
from holdtrue.training import AbstractStepAround


class TopLayerStep(AbstractStepAround):
    """A regime's step that moves the top layer only.

    Whatever the regime does with a minibatch, everything but `AbstractModel.top` is put back afterwards: frozen to
    the last bit, also under weight decay and for regimes that are more than one gradient.
    """

    step: AbstractStep

    def update(
        self, model: AbstractModel, state: PyTree, batch: Data, key: PRNGKeyArray, epoch: Int[Array, ""]
    ) -> tuple[AbstractModel, PyTree, Float[Array, ""]]:
        """One update of the regime, of which only the top layer's part is kept."""
        updated, state, loss = self.step.update(model, state, batch, key, epoch)
        return eqx.tree_at(lambda m: m.top, model, updated.top), state, loss


def top_layer_step(step: AbstractStep, model: AbstractModel) -> TopLayerStep:
    """Freeze everything but the top layer; an error where the model has none."""
    if model.top is None:
        raise CapabilityError(
            f"retrain: {type(model).__name__} has no affine top layer to fine-tune. Use layers='all'."
        )
    return TopLayerStep(step)
