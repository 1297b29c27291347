"""Map a compiled function over rows: chunks of a few fixed sizes, so that nothing compiles again."""

from collections.abc import Callable

import numpy as np

SIZES = (256, 4096)
"""Rows are padded to one of these; longer inputs go in chunks of the largest."""


def padded_size(n: int) -> int:
    """Smallest fixed size that holds `n` rows, or the largest there is."""
    return next((size for size in SIZES if n <= size), SIZES[-1])


def map_rows(function: Callable[..., object], *arrays: np.ndarray) -> np.ndarray:
    """Apply a function of arrays of rows, chunk by chunk; memory stays flat in the number of rows."""
    n = len(arrays[0])
    size = padded_size(n)
    parts = []
    for start in range(0, max(n, 1), size):
        chunk = [a[start : start + size] for a in arrays]
        real = len(chunk[0])
        padded = [
            np.concatenate([c, np.repeat(c[:1], size - real, axis=0)]) if real else _blank(c, size) for c in chunk
        ]
        parts.append(np.asarray(function(*padded))[:real])
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _blank(like: np.ndarray, size: int) -> np.ndarray:
    return np.zeros((size, *like.shape[1:]), like.dtype)
