"""Named datasets with their schema, label and licence; simulators; splits. No jax here."""

from holdtrue.datasets import (  # noqa: F401 - importing them fills the registry
    _credit,
    _embedded,
    _german,
    _health,
    _justice,
    _loans,
    _other,
    _people,
    _synthetic,
)
from holdtrue.datasets._dataset import Dataset
from holdtrue.datasets._files import data_dirs
from holdtrue.datasets._registry import add, describe, load, names

__all__ = ["Dataset", "add", "data_dirs", "describe", "load", "names"]
