"""Architectures by name."""

from holdtrue.errors import DataError
from holdtrue.models._base import AbstractArchitecture
from holdtrue.models._counternet import CounterNet
from holdtrue.models._ensemble import Ensemble
from holdtrue.models._linear import Linear
from holdtrue.models._mlp import MLP
from holdtrue.models._ntk import NTK
from holdtrue.schema import did_you_mean

ARCHITECTURES: dict[str, type[AbstractArchitecture]] = {
    "linear": Linear,
    "mlp": MLP,
    "ensemble": Ensemble,
    "ntk": NTK,
    "counternet": CounterNet,
}


def architecture(name: str) -> type[AbstractArchitecture]:
    """Architecture class by its name."""
    if name not in ARCHITECTURES:
        raise DataError(f"models: unknown model; got {name!r}. {did_you_mean(name, list(ARCHITECTURES))}")
    return ARCHITECTURES[name]
