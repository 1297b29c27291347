"""One training regime a file, each a step function for the one loop; retraining."""

from holdfast.training._adversarial import AdversarialStep, AdversarialTraining, movable_columns
from holdfast.training._attacked import ATTACKERS, AbstractAttacked, attacker, register_attacker
from holdfast.training._attackers import AbstractAttacker
from holdfast.training._base import AbstractRegime, Setting
from holdfast.training._contrast import Contrasts, ContrastStep, reachable_part
from holdfast.training._counterfactual import CounterfactualTraining
from holdfast.training._counternet import AbstractGeneratorRegime, CounterNetTraining
from holdfast.training._decay import CosineStep
from holdfast.training._finetune import TopLayerStep
from holdfast.training._generator import GeneratorStep
from holdfast.training._guides import GuidePanel, Guides
from holdfast.training._jem import JEM
from holdfast.training._panels import AbstractPanel, OwnPanel, Scene, harshest
from holdfast.training._post_hoc import VAECF, CFModel
from holdfast.training._recourse import RecourseStep, RecourseTraining
from holdfast.training._refit import refit, seeded
from holdfast.training._registry import REGIMES, regime, register
from holdfast.training._retrain import Layers, Retrained, TrainingData, Vary, retrain, start_keys, training_rows
from holdfast.training._rocoursenet import Robust, RoCourseNet
from holdfast.training._shift import Inner, virtual_data_shift
from holdfast.training._space import OneOf, Range, Space
from holdfast.training._standard import CrossEntropyStep, StandardTraining, cross_entropies
from holdfast.training._tilts import Tilts
from holdfast.training._trades import TRADES, TradesStep
from holdfast.training._virtual_shift import RandomShift, ShiftPanel, VirtualShift

__all__ = [
    "ATTACKERS",
    "JEM",
    "REGIMES",
    "TRADES",
    "VAECF",
    "AbstractAttacked",
    "AbstractAttacker",
    "AbstractGeneratorRegime",
    "AbstractPanel",
    "AbstractRegime",
    "AdversarialStep",
    "AdversarialTraining",
    "CFModel",
    "ContrastStep",
    "Contrasts",
    "CosineStep",
    "CounterNetTraining",
    "CounterfactualTraining",
    "CrossEntropyStep",
    "GeneratorStep",
    "GuidePanel",
    "Guides",
    "Inner",
    "Layers",
    "OneOf",
    "OwnPanel",
    "RandomShift",
    "Range",
    "RecourseStep",
    "RecourseTraining",
    "Retrained",
    "RoCourseNet",
    "Robust",
    "Scene",
    "Setting",
    "ShiftPanel",
    "Space",
    "StandardTraining",
    "Tilts",
    "TopLayerStep",
    "TradesStep",
    "TrainingData",
    "Vary",
    "VirtualShift",
    "attacker",
    "cross_entropies",
    "harshest",
    "movable_columns",
    "reachable_part",
    "refit",
    "regime",
    "register",
    "register_attacker",
    "retrain",
    "seeded",
    "start_keys",
    "training_rows",
    "virtual_data_shift",
]
