"""One recourse method a file, and the registry."""

from holdfast.methods._base import AbstractMethod, AbstractSolverMethod
from holdfast.methods._frame import RecourseFrame, Sentences
from holdfast.methods._nearest_neighbour import NearestNeighbour
from holdfast.methods._registry import METHODS, fitting, method, name_of, register
from holdfast.methods._wachter import Wachter

__all__ = [
    "METHODS",
    "AbstractMethod",
    "AbstractSolverMethod",
    "NearestNeighbour",
    "RecourseFrame",
    "Sentences",
    "Wachter",
    "fitting",
    "method",
    "name_of",
    "register",
]
