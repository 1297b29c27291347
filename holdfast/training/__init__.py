"""One training regime a file, each a step function for the one loop."""

from holdfast.training._base import AbstractRegime
from holdfast.training._standard import CrossEntropyStep, StandardTraining

__all__ = ["AbstractRegime", "CrossEntropyStep", "StandardTraining"]
