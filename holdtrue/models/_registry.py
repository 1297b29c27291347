"""Architectures by name. A third party adds its own with `register`, or by an entry point: see `Registry`."""

from holdtrue._registry import Registry
from holdtrue.models._additive import Additive
from holdtrue.models._base import AbstractArchitecture
from holdtrue.models._counternet import CounterNet
from holdtrue.models._ensemble import Ensemble
from holdtrue.models._linear import Linear
from holdtrue.models._mlp import MLP
from holdtrue.models._ntk import NTK
from holdtrue.models._piecewise import PiecewiseMLP

ARCHITECTURES: Registry[AbstractArchitecture] = Registry(
    "model",
    AbstractArchitecture,
    {
        "additive": Additive,
        "linear": Linear,
        "mlp": MLP,
        "piecewise_mlp": PiecewiseMLP,
        "ensemble": Ensemble,
        "ntk": NTK,
        "counternet": CounterNet,
    },
)


def register(name: str, cls: type[AbstractArchitecture]) -> None:
    """Make an architecture known by name, to the command line and to model files."""
    ARCHITECTURES[name] = cls


def architecture(name: str) -> type[AbstractArchitecture]:
    """Architecture class by its name."""
    return ARCHITECTURES.named(name)
