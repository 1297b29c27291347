"""Regimes by name. A third party adds its own with `register`."""

from holdfast.errors import DataError
from holdfast.schema import did_you_mean
from holdfast.training._adversarial import AdversarialTraining
from holdfast.training._base import AbstractRegime
from holdfast.training._counterfactual import CounterfactualTraining
from holdfast.training._counternet import CounterNetTraining
from holdfast.training._jem import JEM
from holdfast.training._post_hoc import VAECF, CFModel
from holdfast.training._recourse import RecourseTraining
from holdfast.training._rocoursenet import Robust, RoCourseNet
from holdfast.training._standard import StandardTraining
from holdfast.training._trades import TRADES

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
