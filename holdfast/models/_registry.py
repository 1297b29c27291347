"""Architectures by name."""

from holdfast.errors import DataError
from holdfast.models._base import AbstractArchitecture
from holdfast.models._counternet import CounterNet
from holdfast.models._ensemble import Ensemble
from holdfast.models._linear import Linear
from holdfast.models._mlp import MLP
from holdfast.models._ntk import NTK
from holdfast.schema import did_you_mean

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
