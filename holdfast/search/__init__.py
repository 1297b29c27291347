"""Problem, Solution, Status; the solvers; the only search loops."""

from holdfast.search._candidates import CandidateSolver
from holdfast.search._gradient import AbstractLoss, GradientSolver, SquaredScore
from holdfast.search._problem import Problem, Solution, Status, is_found
from holdfast.search._solver import CLEARANCE, AbstractSolver, State, iterate

__all__ = [
    "CLEARANCE",
    "AbstractLoss",
    "AbstractSolver",
    "CandidateSolver",
    "GradientSolver",
    "Problem",
    "Solution",
    "SquaredScore",
    "State",
    "Status",
    "is_found",
    "iterate",
]
