"""What all regimes with a recourse head share."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import Count, Positive, Whole, configured
from holdtrue.training._base import TrainingContext
from holdtrue.training._minibatches import AbstractMinibatches
from holdtrue.training._parts import MakePart
from holdtrue.training._space import STEP_SIZE, Space
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._settings import HeadSettings, as_head


@configured
class AbstractGeneratorRegime(AbstractMinibatches):
    """A regime that trains a generator of recourse beside, or after, a predictor.

    All are one step (`GeneratorStep`) with the numbers of `HeadSettings`, in which recourse is judged by the model
    as it is; `AbstractAttacked` has it judged by others.

    Parameters
    ----------
    head : HeadSettings, optional
        Losses, their weights, and for whom recourse is learned; the defaults of `HeadSettings` when left out.
    min_updates : int, default=2000
        Updates at least: small tables get more epochs than `n_epochs`.
    weight_decay : float, default=0.0
        Of the predictor; decoupled, as in AdamW.
    patience : int, optional
        Stop after so many epochs without a better sum of all losses on held-out rows, and keep the best model.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"generator"})
    parts: ClassVar[Mapping[str, MakePart]] = {"head": as_head}
    search_space: ClassVar[Space] = {
        **{f"head__{name}": what for name, what in HeadSettings.search_space.items()},
        "step_size": STEP_SIZE,
    }
    post_hoc: ClassVar[bool] = False
    """Whether the predictor is trained first, for as many epochs, and then left as it is."""

    head: HeadSettings | None = None
    min_updates: Whole = 2000
    n_epochs: Count = 50
    batch_size: Count = 128
    step_size: Positive = 0.003

    @abstractmethod
    def default_model(self) -> CounterNet:
        """Return the network that a classifier takes when none is configured."""

    @abstractmethod
    def step(self, context: TrainingContext) -> GeneratorStep:
        """Return what is done with one minibatch of the task."""

    @property
    def head_settings(self) -> HeadSettings:
        """Settings of the head, also where none were given."""
        return as_head(self.head, type(self).__name__)

    def epochs(self, n_rows: int | None) -> int:
        """Passes over the rows: at least so many as make `min_updates`, and twice that with two stages."""
        self.check_parameters()
        n_epochs = self.n_epochs
        if n_rows is not None:
            per_epoch = -(-n_rows // min(self.batch_size, n_rows))
            n_epochs = max(n_epochs, -(-self.min_updates // per_epoch))
        return 2 * n_epochs if self.post_hoc else n_epochs

    def unattacked(self, context: TrainingContext, *, charge_weight: float = 0.0) -> GeneratorStep:
        """The step in which the model as it is judges recourse: all that regimes without an attacker do."""
        n_epochs = self.epochs(context.n_rows)
        return self.head_settings.step(
            context,
            step_size=self.step_size,
            weight_decay=self.weight_decay,
            n_epochs=n_epochs,
            n_first=n_epochs // 2 if self.post_hoc else None,
            charge_weight=charge_weight,
        )
