"""One training regime a file, each a step function for the one loop; retraining."""

from holdfast.training._adversarial import AdversarialStep, AdversarialTraining, movable_columns
from holdfast.training._base import AbstractRegime, Setting
from holdfast.training._contrast import Contrasts, ContrastStep, reachable_part
from holdfast.training._counterfactual import CounterfactualTraining
from holdfast.training._decay import CosineStep
from holdfast.training._finetune import TopLayerStep
from holdfast.training._jem import JEM
from holdfast.training._recourse import RecourseStep, RecourseTraining
from holdfast.training._refit import refit, seeded
from holdfast.training._registry import REGIMES, regime, register
from holdfast.training._retrain import Layers, Retrained, TrainingData, Vary, retrain, start_keys, training_rows
from holdfast.training._standard import CrossEntropyStep, StandardTraining
from holdfast.training._trades import TRADES, TradesStep

__all__ = [
    "JEM",
    "REGIMES",
    "TRADES",
    "AbstractRegime",
    "AdversarialStep",
    "AdversarialTraining",
    "ContrastStep",
    "Contrasts",
    "CosineStep",
    "CounterfactualTraining",
    "CrossEntropyStep",
    "Layers",
    "RecourseStep",
    "RecourseTraining",
    "Retrained",
    "Setting",
    "StandardTraining",
    "TopLayerStep",
    "TradesStep",
    "TrainingData",
    "Vary",
    "movable_columns",
    "reachable_part",
    "refit",
    "regime",
    "register",
    "retrain",
    "seeded",
    "start_keys",
    "training_rows",
]
