"""Table to float array and back; the feasible set of one person; the one distance."""

from holdtrue.encoding._distance import NORMS, Norm, distance, norm_weights
from holdtrue.encoding._encoder import SCALINGS, Encoder, Scaling, to_grid
from holdtrue.encoding._feasible import AnyArray, Feasible, FeasibleSets
from holdtrue.encoding._layout import Layout, Slot, level_columns
from holdtrue.encoding._limits import broken_limits, decode_recourse, differs, feasible_sets
from holdtrue.encoding._permits import Permits
from holdtrue.encoding._polytope import nearest_in_polytope
from holdtrue.encoding._tails import Tails
from holdtrue.encoding._told import told, told_decimals
from holdtrue.encoding._words import about, join, number, shortened

__all__ = [
    "NORMS",
    "SCALINGS",
    "AnyArray",
    "Encoder",
    "Feasible",
    "FeasibleSets",
    "Layout",
    "Norm",
    "Permits",
    "Scaling",
    "Slot",
    "Tails",
    "about",
    "broken_limits",
    "decode_recourse",
    "differs",
    "distance",
    "feasible_sets",
    "join",
    "level_columns",
    "nearest_in_polytope",
    "norm_weights",
    "number",
    "shortened",
    "to_grid",
    "told",
    "told_decimals",
]
