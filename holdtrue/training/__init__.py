"""One training regime a file, each a step function for the one loop; retraining."""

from holdtrue.training._adversarial import AdversarialStep, AdversarialTraining, movable_columns
from holdtrue.training._attacked import ATTACKERS, AbstractAttacked, attacker, register_attacker
from holdtrue.training._attackers import AbstractAttacker
from holdtrue.training._base import AbstractRegime, Setting
from holdtrue.training._contrast import Contrasts, ContrastStep, reachable_part
from holdtrue.training._counterfactual import CounterfactualTraining
from holdtrue.training._counternet import AbstractGeneratorRegime, CounterNetTraining
from holdtrue.training._decay import CosineStep
from holdtrue.training._finetune import TopLayerStep
from holdtrue.training._generator import GeneratorStep
from holdtrue.training._guides import GuidePanel, Guides
from holdtrue.training._jem import JEM
from holdtrue.training._panels import AbstractPanel, OwnPanel, Scene, harshest
from holdtrue.training._post_hoc import VAECF, CFModel
from holdtrue.training._recourse import RecourseStep, RecourseTraining
from holdtrue.training._refit import refit, seeded
from holdtrue.training._registry import REGIMES, regime, register
from holdtrue.training._retrain import Layers, Retrained, TrainingData, Vary, retrain, start_keys, training_rows
from holdtrue.training._rocoursenet import Robust, RoCourseNet
from holdtrue.training._shift import Inner, virtual_data_shift
from holdtrue.training._space import OneOf, Range, Space
from holdtrue.training._standard import CrossEntropyStep, StandardTraining, cross_entropies
from holdtrue.training._tilts import Tilts
from holdtrue.training._trades import TRADES, TradesStep
from holdtrue.training._virtual_shift import RandomShift, ShiftPanel, VirtualShift

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
