"""Map a kernel over rows: chunk, pad, vmap, every core; and chunks over processes."""

from holdtrue.batch._classifier import (
    FittedClassifier,
    RetrainableClassifier,
    RetrainedModels,
    StoredClassifier,
    predictor_of,
)
from holdtrue.batch._distances import distances
from holdtrue.batch._executor import AbstractExecutor, EmbeddedExecutor
from holdtrue.batch._map import map_rows, padded_size
from holdtrue.batch._predictor import Guarantee, Predictor, proba_of
from holdtrue.batch._promise import solve_by_promise
from holdtrue.batch._ray import RayExecutor
from holdtrue.batch._sent import from_bytes, to_bytes
from holdtrue.batch._solve import slots_for, solve, usual_slots
from holdtrue.batch._trim import trimmed
from holdtrue.batch._wrap import bind, wrap

__all__ = [
    "AbstractExecutor",
    "EmbeddedExecutor",
    "FittedClassifier",
    "Guarantee",
    "Predictor",
    "RayExecutor",
    "RetrainableClassifier",
    "RetrainedModels",
    "StoredClassifier",
    "bind",
    "distances",
    "from_bytes",
    "map_rows",
    "padded_size",
    "predictor_of",
    "proba_of",
    "slots_for",
    "solve",
    "solve_by_promise",
    "to_bytes",
    "trimmed",
    "usual_slots",
    "wrap",
]
