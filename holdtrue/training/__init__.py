"""One training regime a file, each a step function for the one loop; recourse heads."""

from holdtrue.training._base import AbstractRegime, TrainingContext
from holdtrue.training._columns import movable_columns
from holdtrue.training._contrast import Contrasts, ContrastStep, reachable_part
from holdtrue.training._decay import CosineStep
from holdtrue.training._losses import CrossEntropyStep, cross_entropies
from holdtrue.training._registry import REGIMES, regime, register
from holdtrue.training._space import OneOf, Range, Space
from holdtrue.training._wrapped_step import AbstractStepAround
from holdtrue.training.heads._attacked import ATTACKERS, AbstractAttacked, attacker, register_attacker
from holdtrue.training.heads._attackers import AbstractAttacker
from holdtrue.training.heads._generator import GeneratorStep
from holdtrue.training.heads._guides import GuidePanel, Guides
from holdtrue.training.heads._panels import AbstractPanel, OwnPanel, Scene, harshest
from holdtrue.training.heads._regime import AbstractGeneratorRegime
from holdtrue.training.heads._settings import HeadSettings
from holdtrue.training.heads._shift import Inner, virtual_data_shift
from holdtrue.training.heads._tilts import Tilts
from holdtrue.training.heads._virtual_shift import RandomShift, ShiftPanel, VirtualShift
from holdtrue.training.regimes._additive import AdditiveTraining
from holdtrue.training.regimes._adversarial import AdversarialStep, AdversarialTraining
from holdtrue.training.regimes._cf_model import CFModel
from holdtrue.training.regimes._counterfactual import CounterfactualTraining
from holdtrue.training.regimes._counternet import CounterNetTraining
from holdtrue.training.regimes._early import EarlyStopping
from holdtrue.training.regimes._jem import JEM
from holdtrue.training.regimes._recourse import RecourseStep, RecourseTraining
from holdtrue.training.regimes._robust import Robust
from holdtrue.training.regimes._rocoursenet import RoCourseNet
from holdtrue.training.regimes._standard import StandardTraining
from holdtrue.training.regimes._trades import TRADES, TradesStep
from holdtrue.training.regimes._vaecf import VAECF

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
    "AbstractStepAround",
    "AdditiveTraining",
    "AdversarialStep",
    "AdversarialTraining",
    "CFModel",
    "ContrastStep",
    "Contrasts",
    "CosineStep",
    "CounterNetTraining",
    "CounterfactualTraining",
    "CrossEntropyStep",
    "EarlyStopping",
    "GeneratorStep",
    "GuidePanel",
    "Guides",
    "HeadSettings",
    "Inner",
    "OneOf",
    "OwnPanel",
    "RandomShift",
    "Range",
    "RecourseStep",
    "RecourseTraining",
    "RoCourseNet",
    "Robust",
    "Scene",
    "ShiftPanel",
    "Space",
    "StandardTraining",
    "Tilts",
    "TradesStep",
    "TrainingContext",
    "VirtualShift",
    "attacker",
    "cross_entropies",
    "harshest",
    "movable_columns",
    "reachable_part",
    "regime",
    "register",
    "register_attacker",
    "virtual_data_shift",
]
