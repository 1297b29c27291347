"""Models made elsewhere, behind the one interface."""

from holdfast.models.adapters._adapt import adapt
from holdfast.models.adapters._black_box import BlackBox, BlackBoxModel
from holdfast.models.adapters._boxes import Boxes, Cells, boxes_of
from holdfast.models.adapters._layers import LayersModel
from holdfast.models.adapters._onnx import OnnxClassifier, from_onnx, is_onnx
from holdfast.models.adapters._torch import TorchClassifier, TorchModel, from_torch
from holdfast.models.adapters._trees import TreesModel

__all__ = [
    "BlackBox",
    "BlackBoxModel",
    "Boxes",
    "Cells",
    "LayersModel",
    "OnnxClassifier",
    "TorchClassifier",
    "TorchModel",
    "TreesModel",
    "adapt",
    "boxes_of",
    "from_onnx",
    "from_torch",
    "is_onnx",
]
