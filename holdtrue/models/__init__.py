"""One interface, `logits(x)`; the architectures; the decision; the one fitting loop."""

from holdtrue._cache import use_cache
from holdtrue.models._additive import Additive, solve_additive
from holdtrue.models._arrays import to_arrays, with_arrays
from holdtrue.models._autoencoder import (
    AbstractAutoencoder,
    Autoencoder,
    ReconstructionStep,
    Rows,
    build_autoencoder,
    fit_autoencoder,
)
from holdtrue.models._base import AbstractArchitecture, AbstractModel, fresh
from holdtrue.models._closed_form import AbstractClosedForm
from holdtrue.models._conformal import ConformalSets
from holdtrue.models._counternet import AbstractGenerator, CounterNet, CounterNetModel, Head, recourse_of
from holdtrue.models._decision import MORE_THAN_HALF, Decision, batch_decide, batch_logits
from holdtrue.models._ensemble import Ensemble, EnsembleModel, by_shape, model_digest, shape_of, stack
from holdtrue.models._fit import (
    CORES,
    AbstractGradientStep,
    AbstractStep,
    Data,
    History,
    Strategy,
    adam,
    averaged,
    fit,
    fit_inside,
    fit_many,
    n_cores,
    weighted_mean,
)
from holdtrue.models._kernel import Kernel, log_density
from holdtrue.models._linear import Linear, LinearModel
from holdtrue.models._maps import n_maps, spare_maps
from holdtrue.models._mlp import MLP, MLPModel
from holdtrue.models._ntk import NTK, NTKModel, Nystroem, kernel_ridge, ntk, ntk_matrix, nystroem
from holdtrue.models._panel import AbstractMembers, OnPieces, PanelModel, SideBySide, Stacked, sharing
from holdtrue.models._piecewise import PiecewiseMLP, PiecewiseModel
from holdtrue.models._precision import double_precision, in_double
from holdtrue.models._registry import ARCHITECTURES, architecture, register
from holdtrue.models._surrogate import Neighbourhood, lime, linearise, local_model, solve_positive
from holdtrue.models._vae import VAE, build_vae, gaussian_kl
from holdtrue.models.adapters import (
    AbstractTrees,
    BlackBox,
    BlackBoxModel,
    Boxes,
    ComposedModel,
    Exact,
    Flat,
    Remote,
    Slots,
    TreesMembers,
    TreesModel,
    TreesPanel,
    boxes_of,
    rounded,
    sums_at,
)

use_cache()  # before the first program is compiled; whoever imports what is compiled imports models

__all__ = [
    "ARCHITECTURES",
    "CORES",
    "MLP",
    "MORE_THAN_HALF",
    "NTK",
    "VAE",
    "AbstractArchitecture",
    "AbstractAutoencoder",
    "AbstractClosedForm",
    "AbstractGenerator",
    "AbstractGradientStep",
    "AbstractMembers",
    "AbstractModel",
    "AbstractStep",
    "AbstractTrees",
    "Additive",
    "Autoencoder",
    "BlackBox",
    "BlackBoxModel",
    "Boxes",
    "ComposedModel",
    "ConformalSets",
    "CounterNet",
    "CounterNetModel",
    "Data",
    "Decision",
    "Ensemble",
    "EnsembleModel",
    "Exact",
    "Flat",
    "Head",
    "History",
    "Kernel",
    "Linear",
    "LinearModel",
    "MLPModel",
    "NTKModel",
    "Neighbourhood",
    "Nystroem",
    "OnPieces",
    "PanelModel",
    "PiecewiseMLP",
    "PiecewiseModel",
    "ReconstructionStep",
    "Remote",
    "Rows",
    "SideBySide",
    "Slots",
    "Stacked",
    "Strategy",
    "TreesMembers",
    "TreesModel",
    "TreesPanel",
    "adam",
    "architecture",
    "averaged",
    "batch_decide",
    "batch_logits",
    "boxes_of",
    "build_autoencoder",
    "build_vae",
    "by_shape",
    "double_precision",
    "fit",
    "fit_autoencoder",
    "fit_inside",
    "fit_many",
    "fresh",
    "gaussian_kl",
    "in_double",
    "kernel_ridge",
    "lime",
    "linearise",
    "local_model",
    "log_density",
    "model_digest",
    "n_cores",
    "n_maps",
    "ntk",
    "ntk_matrix",
    "nystroem",
    "recourse_of",
    "register",
    "rounded",
    "shape_of",
    "sharing",
    "solve_additive",
    "solve_positive",
    "spare_maps",
    "stack",
    "sums_at",
    "to_arrays",
    "weighted_mean",
    "with_arrays",
]
