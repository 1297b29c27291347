"""Regimes by name. A third party adds its own with `register`."""

from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean
from holdtrue.training._base import AbstractRegime
from holdtrue.training.regimes._adversarial import AdversarialTraining
from holdtrue.training.regimes._cf_model import CFModel
from holdtrue.training.regimes._counterfactual import CounterfactualTraining
from holdtrue.training.regimes._counternet import CounterNetTraining
from holdtrue.training.regimes._jem import JEM
from holdtrue.training.regimes._recourse import RecourseTraining
from holdtrue.training.regimes._robust import Robust
from holdtrue.training.regimes._rocoursenet import RoCourseNet
from holdtrue.training.regimes._standard import StandardTraining
from holdtrue.training.regimes._trades import TRADES
from holdtrue.training.regimes._vaecf import VAECF

REGIMES: dict[str, type[AbstractRegime]] = {
    "standard": StandardTraining,
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
}


def register(name: str, cls: type[AbstractRegime]) -> None:
    """Make a regime known by name, to the command line and to model files."""
    REGIMES[name] = cls


def regime(name: str) -> type[AbstractRegime]:
    """Regime class by its name."""
    if name not in REGIMES:
        raise DataError(f"training: unknown regime; got {name!r}. {did_you_mean(name, list(REGIMES))}")
    return REGIMES[name]
