"""Map a kernel over rows: chunk, pad, vmap, every core; and chunks over processes."""

from holdfast.batch._distances import distances
from holdfast.batch._executor import AbstractExecutor, EmbeddedExecutor
from holdfast.batch._map import map_rows, padded_size
from holdfast.batch._predictor import Predictor, proba_of
from holdfast.batch._ray import RayExecutor
from holdfast.batch._sent import from_bytes, to_bytes
from holdfast.batch._solve import slots_for, solve

__all__ = [
    "AbstractExecutor",
    "EmbeddedExecutor",
    "Predictor",
    "RayExecutor",
    "distances",
    "from_bytes",
    "map_rows",
    "padded_size",
    "proba_of",
    "slots_for",
    "solve",
    "to_bytes",
]
