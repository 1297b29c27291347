"""One interface, `logits(x)`; the architectures; the decision; the one fitting loop."""

from holdfast.models._base import AbstractArchitecture, AbstractModel
from holdfast.models._decision import Decision, batch_decide, batch_logits
from holdfast.models._ensemble import Ensemble, EnsembleModel, stack
from holdfast.models._fit import (
    AbstractGradientStep,
    AbstractStep,
    Data,
    History,
    Strategy,
    fit,
    fit_many,
    n_cores,
    weighted_mean,
)
from holdfast.models._linear import Linear, LinearModel
from holdfast.models._mlp import MLP, MLPModel
from holdfast.models._registry import ARCHITECTURES, architecture
from holdfast.models._surrogate import Neighbourhood, lime, linearise, local_model
from holdfast.models.adapters import BlackBox, BlackBoxModel

__all__ = [
    "ARCHITECTURES",
    "MLP",
    "AbstractArchitecture",
    "AbstractGradientStep",
    "AbstractModel",
    "AbstractStep",
    "BlackBox",
    "BlackBoxModel",
    "Data",
    "Decision",
    "Ensemble",
    "EnsembleModel",
    "History",
    "Linear",
    "LinearModel",
    "MLPModel",
    "Neighbourhood",
    "Strategy",
    "architecture",
    "batch_decide",
    "batch_logits",
    "fit",
    "fit_many",
    "lime",
    "linearise",
    "local_model",
    "n_cores",
    "stack",
    "weighted_mean",
]
