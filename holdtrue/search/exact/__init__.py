"""Searches that prove what they find: nothing cheaper, or nothing at all; and the walk through trees."""

from holdtrue.search.exact._layered import cheapest_in_layers
from holdtrue.search.exact._trees import Ensemble, cheapest_in_trees
from holdtrue.search.exact._walked import Walks

__all__ = ["Ensemble", "Walks", "cheapest_in_layers", "cheapest_in_trees"]
