"""Map a kernel over rows: chunk, pad, vmap, every core."""

from holdfast.batch._distances import distances
from holdfast.batch._map import map_rows, padded_size
from holdfast.batch._predictor import Predictor, proba_of
from holdfast.batch._solve import slots_for, solve

__all__ = ["Predictor", "distances", "map_rows", "padded_size", "proba_of", "slots_for", "solve"]
