"""Double precision for a while."""

from contextlib import AbstractContextManager
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.experimental
import numpy as np

M = TypeVar("M")


def double_precision() -> AbstractContextManager[Any]:
    """Context in which jax has 64-bit numbers. Before jax 0.8 it went by another name."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return getattr(jax.experimental, "enable_x64")()  # noqa: B009


def in_double(model: M) -> M:
    """The same model with its arrays in double precision; within `double_precision` only."""
    return jax.tree.map(
        lambda a: jax.device_put(np.asarray(a, np.float64)) if eqx.is_inexact_array(a) else a, model
    )
