"""Searches that prove what they find: nothing cheaper, or nothing at all."""

from holdtrue.search.exact._layered import cheapest_in_layers
from holdtrue.search.exact._trees import Ensemble, cheapest_in_trees

__all__ = ["Ensemble", "cheapest_in_layers", "cheapest_in_trees"]
