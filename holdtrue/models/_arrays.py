"""A model as named arrays and back: what model files and fitted methods keep of one."""

from collections.abc import Mapping
from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PyTree

from holdtrue.errors import DataError

M = TypeVar("M")


def to_arrays(model: PyTree, prefix: str) -> dict[str, np.ndarray]:
    """Arrays of a model, numbered behind a prefix."""
    leaves = jax.tree.leaves(eqx.filter(model, eqx.is_array))
    return {f"{prefix}{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def with_arrays(model: M, arrays: Mapping[str, np.ndarray], prefix: str, *, stacked: bool = False) -> M:
    """Return a model of the same build with the arrays of `to_arrays`; `stacked`: of many such models at once.

    An axis of length 0 in the build takes any length: it is filled when the model is fitted.
    """
    own, static = eqx.partition(model, eqx.is_array)
    leaves, tree = jax.tree.flatten(own)
    stored = [arrays[f"{prefix}{i}"] for i in range(len(leaves))]
    shapes = [s.shape[1:] if stacked else s.shape for s in stored]
    if not all(_fits(shape, leaf.shape) for shape, leaf in zip(shapes, leaves, strict=True)):
        raise DataError(
            "load: the stored weights do not fit the model's build. The file is damaged, or fit again."
        )
    filled = [jax.device_put(np.asarray(s, leaf.dtype)) for s, leaf in zip(stored, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(tree, filled), static)


def _fits(shape: tuple[int, ...], built: tuple[int, ...]) -> bool:
    return len(shape) == len(built) and all(b in (0, s) for s, b in zip(shape, built, strict=True))
