"""Measures of recourse: pure functions of arrays."""

from holdfast.metrics._cost import change_rates, costs, sparsity
from holdfast.metrics._influence import (
    InfluenceBound,
    RadialSlope,
    distributional_influence,
    influence_bound,
    radial_slope,
)
from holdfast.metrics._plausibility import neighbour_distance
from holdfast.metrics._reliability import EDGES, Bin, Reliability, binned, reliability
from holdfast.metrics._survival import Invalidation, clopper_pearson, invalidation_rate, models_needed, survival
from holdfast.metrics._validity import Shares, share_with_recourse, validity

__all__ = [
    "EDGES",
    "Bin",
    "InfluenceBound",
    "Invalidation",
    "RadialSlope",
    "Reliability",
    "Shares",
    "binned",
    "change_rates",
    "clopper_pearson",
    "costs",
    "distributional_influence",
    "influence_bound",
    "invalidation_rate",
    "models_needed",
    "neighbour_distance",
    "radial_slope",
    "reliability",
    "share_with_recourse",
    "sparsity",
    "survival",
    "validity",
]
