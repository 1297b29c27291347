"""A variational generator of recourse for a predictor that is trained first and left as it is."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import NonNegative
from holdtrue.training._base import TrainingContext
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._settings import HeadSettings


class VAECF(AbstractGeneratorRegime):
    """A variational autoencoder that writes recourse for a finished model (Mahajan et al., 2019).

    The predictor is trained first. The generator codes the row and the wanted class, decodes a drawn code, and
    learns on validity, distance and the code's divergence from its prior. Recourse comes near the rows that
    were seen, and costs more than that of `CFModel`.

    Parameters
    ----------
    code_weight : float, default=0.01
        Weight of the divergence of codes from their prior.
    head : HeadSettings, optional
        As in `CFModel`; the cost is what makes the decoder give the row back.
    min_updates, n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CFModel`.

    Notes
    -----
    Needs a model with a generator; ``CounterNet(head="vae", generator=(20, 16))`` when none is given. Differs
    from the published code in: layers; one drawn code per row and update; categories by a softmax in place of a
    penalty.

    References
    ----------
    [1] Mahajan, Tan, Sharma (2019), *Preserving causal constraints in counterfactual explanations for machine
        learning classifiers*.

    Examples
    --------
    >>> VAECF(n_epochs=5).code_weight
    0.01
    """

    post_hoc: ClassVar[bool] = True

    def __init__(
        self,
        *,
        code_weight: NonNegative = 0.01,
        head: HeadSettings | None = None,
        min_updates: int = 2000,
        n_epochs: int = 50,
        batch_size: int = 128,
        step_size: float = 0.003,
        weight_decay: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        validation_fraction: float = 0.1,
        patience: int | None = None,
    ) -> None:
        self.code_weight = code_weight
        self.head = head
        self.min_updates = min_updates
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.step_size = step_size
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.patience = patience

    def default_model(self) -> CounterNet:
        """Return a CounterNet with a variational generator."""
        return CounterNet(head="vae", generator=(20, 16), dropout=0.0)

    def step(self, context: TrainingContext) -> GeneratorStep:
        """Predictor first, then the autoencoder."""
        return self.unattacked(context, charge_weight=self.code_weight)
