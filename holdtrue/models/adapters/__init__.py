"""Models made elsewhere, behind the one interface."""

from holdtrue.models.adapters._adapt import adapt
from holdtrue.models.adapters._black_box import (
    BlackBox,
    BlackBoxModel,
    cause_of,
    names_of,
    rounded_threshold,
    unread_by,
)
from holdtrue.models.adapters._boxes import Boxes, boxes_of
from holdtrue.models.adapters._composed import ComposedModel
from holdtrue.models.adapters._given import FunctionClassifier, HardVotes, LightGBMBooster, as_classifier
from holdtrue.models.adapters._layers import Bent, LayersModel, Steps
from holdtrue.models.adapters._onnx import OnnxClassifier, from_onnx, is_onnx
from holdtrue.models.adapters._read import own_threshold
from holdtrue.models.adapters._recipes import as_it_was_fitted, check_recipe, has_words, recipe_of, words_of_codes
from holdtrue.models.adapters._remote import Remote
from holdtrue.models.adapters._stored import (
    can_train_again,
    from_path,
    from_stored,
    given,
    is_raw,
    read_transformer,
    to_stored,
)
from holdtrue.models.adapters._torch import TorchClassifier, TorchModel, from_torch
from holdtrue.models.adapters._tree_panel import TreesMembers, TreesPanel, alike, merged
from holdtrue.models.adapters._trees import AbstractTrees, Exact, Flat, Head, Slots, TreesModel, rounded, sums_at

__all__ = [
    "AbstractTrees",
    "Bent",
    "BlackBox",
    "BlackBoxModel",
    "Boxes",
    "ComposedModel",
    "Exact",
    "Flat",
    "FunctionClassifier",
    "HardVotes",
    "Head",
    "LayersModel",
    "LightGBMBooster",
    "OnnxClassifier",
    "Remote",
    "Slots",
    "Steps",
    "TorchClassifier",
    "TorchModel",
    "TreesMembers",
    "TreesModel",
    "TreesPanel",
    "adapt",
    "alike",
    "as_classifier",
    "as_it_was_fitted",
    "boxes_of",
    "can_train_again",
    "cause_of",
    "check_recipe",
    "from_onnx",
    "from_path",
    "from_stored",
    "from_torch",
    "given",
    "has_words",
    "is_onnx",
    "is_raw",
    "merged",
    "names_of",
    "own_threshold",
    "read_transformer",
    "recipe_of",
    "rounded",
    "rounded_threshold",
    "sums_at",
    "to_stored",
    "unread_by",
    "words_of_codes",
]
