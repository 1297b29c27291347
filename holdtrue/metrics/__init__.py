"""Measures of recourse: pure functions of arrays."""

from holdtrue.metrics import tradeoffs
from holdtrue.metrics._attacks import (
    ATTACK_NORMS,
    AttackNorm,
    collapse_radius,
    draw_in_ball,
    fgsm,
    into_ball,
    is_linear,
    linear_rise,
    pgd,
    robust_accuracy,
    steepest,
    withstands,
)
from holdtrue.metrics._attribution import integrated_gradients, sensitivity_share, undecided_baseline
from holdtrue.metrics._brittleness import deepfool, kept_under_noise
from holdtrue.metrics._carlini import carlini_wagner
from holdtrue.metrics._cost import change_rates, costs, sparsity
from holdtrue.metrics._disparity import Disparity, recourse_disparity
from holdtrue.metrics._guarantee import (
    Bound,
    Correction,
    Guarantee,
    allowed_failures,
    best_f1_threshold,
    group_failure,
    group_thresholds,
    guaranteed_threshold,
    miss_bound,
    people_needed,
)
from holdtrue.metrics._implausibility import implausibility, median_distance, mmd, model_samples
from holdtrue.metrics._influence import (
    InfluenceBound,
    RadialSlope,
    distributional_influence,
    influence_bound,
    radial_slope,
)
from holdtrue.metrics._plausibility import neighbour_distance, told_apart
from holdtrue.metrics._reliability import EDGES, Bin, Reliability, binned, reliability
from holdtrue.metrics._shift import Drift, drift_test, shift_weights, thinned
from holdtrue.metrics._survival import (
    Invalidation,
    MeanSurvival,
    clopper_pearson,
    invalidation_rate,
    mean_survival,
    models_needed,
    survival,
)
from holdtrue.metrics._transfer import transfer_accuracy
from holdtrue.metrics._validity import Shares, share_with_recourse, validity

__all__ = [
    "ATTACK_NORMS",
    "EDGES",
    "AttackNorm",
    "Bin",
    "Bound",
    "Correction",
    "Disparity",
    "Drift",
    "Guarantee",
    "InfluenceBound",
    "Invalidation",
    "MeanSurvival",
    "RadialSlope",
    "Reliability",
    "Shares",
    "allowed_failures",
    "best_f1_threshold",
    "binned",
    "carlini_wagner",
    "change_rates",
    "clopper_pearson",
    "collapse_radius",
    "costs",
    "deepfool",
    "distributional_influence",
    "draw_in_ball",
    "drift_test",
    "fgsm",
    "group_failure",
    "group_thresholds",
    "guaranteed_threshold",
    "implausibility",
    "influence_bound",
    "integrated_gradients",
    "into_ball",
    "invalidation_rate",
    "is_linear",
    "kept_under_noise",
    "linear_rise",
    "mean_survival",
    "median_distance",
    "miss_bound",
    "mmd",
    "model_samples",
    "models_needed",
    "neighbour_distance",
    "people_needed",
    "pgd",
    "radial_slope",
    "recourse_disparity",
    "reliability",
    "robust_accuracy",
    "sensitivity_share",
    "share_with_recourse",
    "shift_weights",
    "sparsity",
    "steepest",
    "survival",
    "thinned",
    "told_apart",
    "tradeoffs",
    "transfer_accuracy",
    "undecided_baseline",
    "validity",
    "withstands",
]
