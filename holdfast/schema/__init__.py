"""What the columns are and how each may change. No jax here."""

from holdfast.schema._checks import did_you_mean, plain
from holdfast.schema._columns import sorted_levels
from holdfast.schema._constraints import Implication, LinearConstraint
from holdfast.schema._feature import DIRECTIONS, KINDS, MISSING_LEVEL, Feature, Level
from holdfast.schema._override import Override, normalise_overrides
from holdfast.schema._schema import Schema
from holdfast.schema._table import Table, as_table

__all__ = [
    "DIRECTIONS",
    "KINDS",
    "MISSING_LEVEL",
    "Feature",
    "Implication",
    "Level",
    "LinearConstraint",
    "Override",
    "Schema",
    "Table",
    "as_table",
    "did_you_mean",
    "normalise_overrides",
    "plain",
    "sorted_levels",
]
