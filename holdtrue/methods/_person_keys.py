"""Randomness that is a person's own."""

from functools import lru_cache

import jax
import numpy as np
from sklearn.utils import check_random_state


def person_keys(seed: int, x: np.ndarray) -> np.ndarray:
    """A key per person from the seed and the person's own row, so that order and company do not matter."""
    drawn = check_random_state(seed).randint(2**31 - 1)
    words = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (words[:, :, None] * _mixer(x.shape[1])[None]).sum(axis=1) >> np.uint64(32)
    return (mixed.astype(np.uint32) ^ _base_key(int(drawn))[None]).astype(np.uint32)


@lru_cache
def _mixer(width: int) -> np.ndarray:
    """Odd numbers, always the same, that a row's words are multiplied by."""
    return np.random.default_rng(20261115).integers(1, 2**63, (width, 2), np.uint64) | np.uint64(1)


@lru_cache
def _base_key(seed: int) -> np.ndarray:
    if jax.config.jax_default_prng_impl == "threefry2x32":  # type: ignore[attr-defined]
        return np.array([0, seed], np.uint32)  # what jax makes of so small a seed, without compiling for it
    return np.asarray(jax.random.key_data(jax.random.key(seed)), np.uint32)[-2:]
