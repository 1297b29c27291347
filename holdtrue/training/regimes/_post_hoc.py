"""Generators of recourse for a predictor that is trained first and left as it is."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdtrue.models import CounterNet
from holdtrue.parameters import NonNegative
from holdtrue.training.heads._generator import Cost, Loss, Wanted
from holdtrue.training.regimes._counternet import AbstractGeneratorRegime, CounterNetTraining


class CFModel(CounterNetTraining):
    """A network that writes recourse for a finished model: validity and cost, nothing else.

    The predictor is trained first, for `n_epochs`; the generator then learns for as many, on the loss of
    `CounterNetTraining`, from the row alone. A baseline for training both together, and with `Robust` the
    general form of RoCourseNet (eq. 5).

    Parameters
    ----------
    prediction_weight, validity_weight, cost_weight, loss, cost, margin, wanted, balance, harden, guard,
    average, hide, rare, proposals, strange_weight, min_updates
        As in `CounterNetTraining`; `min_updates` counts for each of the two.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
        As in `CounterNetTraining`. Early stopping watches the sum of all losses, in both stages.

    Notes
    -----
    Needs a model with a generator; ``CounterNet(head="row")`` when none is given.

    References
    ----------
    [1] Guo, Jia, Chen, Squicciarini, Yadav (2023), *RoCourseNet: robust training of a prediction aware recourse
        model*, section 5.

    Examples
    --------
    >>> CFModel(n_epochs=5).post_hoc
    True
    """

    post_hoc: ClassVar[bool] = True

    def default_model(self) -> CounterNet:
        """Return a CounterNet whose generator sees the row alone."""
        return CounterNet(head="row")


class VAECF(AbstractGeneratorRegime):
    """A variational autoencoder that writes recourse for a finished model (Mahajan et al., 2019).

    The predictor is trained first. The generator codes the row and the wanted class, decodes a drawn code, and
    learns on validity, distance and the code's divergence from its prior. Recourse comes near the rows that
    were seen, and costs more than that of `CFModel`.

    Parameters
    ----------
    code_weight : float, default=0.01
        Weight of the divergence of codes from their prior.
    prediction_weight, validity_weight, cost_weight, loss, cost, margin, wanted, balance, harden, guard,
    average, hide, rare, proposals, strange_weight, min_updates
        As in `CFModel`; the cost is what makes the decoder give the row back.
    n_epochs, batch_size, step_size, weight_decay, class_weight, validation_fraction, patience
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
        prediction_weight: float = 1.0,
        validity_weight: float = 1.0,
        cost_weight: float = 0.1,
        loss: Loss = "cross_entropy",
        cost: Cost = "l1",
        margin: float = 1.0,
        wanted: Wanted = "other",
        balance: bool = True,
        harden: bool = True,
        guard: float = 0.3,
        average: float = 0.0,
        hide: float = 0.0,
        rare: float = 0.0,
        proposals: int = 0,
        strange_weight: float = 0.0,
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
        self.prediction_weight = prediction_weight
        self.validity_weight = validity_weight
        self.cost_weight = cost_weight
        self.loss: Loss = loss
        self.cost: Cost = cost
        self.margin = margin
        self.wanted: Wanted = wanted
        self.balance = balance
        self.harden = harden
        self.guard = guard
        self.average = average
        self.hide = hide
        self.rare = rare
        self.proposals = proposals
        self.strange_weight = strange_weight
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
