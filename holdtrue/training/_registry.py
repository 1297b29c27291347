"""Regimes by name. A third party adds its own with `register`, or by an entry point: see `Registry`."""

from holdtrue._registry import Registry
from holdtrue.training._base import AbstractRegime
from holdtrue.training.regimes._additive import AdditiveTraining
from holdtrue.training.regimes._adversarial import AdversarialTraining
from holdtrue.training.regimes._cf_model import CFModel
from holdtrue.training.regimes._counterfactual import CounterfactualTraining
from holdtrue.training.regimes._counternet import CounterNetTraining
from holdtrue.training.regimes._early import EarlyStopping
from holdtrue.training.regimes._jem import JEM
from holdtrue.training.regimes._recourse import RecourseTraining
from holdtrue.training.regimes._robust import Robust
from holdtrue.training.regimes._rocoursenet import RoCourseNet
from holdtrue.training.regimes._standard import StandardTraining
from holdtrue.training.regimes._trades import TRADES
from holdtrue.training.regimes._vaecf import VAECF

REGIMES: Registry[AbstractRegime] = Registry(
    "regime",
    AbstractRegime,
    {
        "additive": AdditiveTraining,
        "standard": StandardTraining,
        "early_stopping": EarlyStopping,
        "adversarial": AdversarialTraining,
        "recourse": RecourseTraining,
        "counterfactual": CounterfactualTraining,
        "jem": JEM,
        "trades": TRADES,
        "counternet": CounterNetTraining,
        "rocoursenet": RoCourseNet,
        "cf_model": CFModel,
        "vaecf": VAECF,
        "robust": Robust,
    },
)


def register(name: str, cls: type[AbstractRegime]) -> None:
    """Make a regime known by name, to the command line and to model files."""
    REGIMES[name] = cls


def regime(name: str) -> type[AbstractRegime]:
    """Regime class by its name."""
    return REGIMES.named(name)
