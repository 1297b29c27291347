"""Problem, Solution, Status; the solvers; the only search loops."""

from holdfast.search._balls import BallSolver
from holdfast.search._best_action import (
    AbstractAction,
    CandidateAction,
    Direction,
    Edits,
    GradientAction,
    LatticeAction,
    LinearisedAction,
)
from holdfast.search._candidates import CandidateSolver
from holdfast.search._dive import DiveSolver
from holdfast.search._elastic import ElasticSolver
from holdfast.search._flipset import Menu, Support, cheapest, highest, menu, options, support
from holdfast.search._generator import GeneratorSolver
from holdfast.search._gradient import GradientSolver
from holdfast.search._highest import HighestSolver
from holdfast.search._latent import LatentGradientSolver, LatentSpace
from holdfast.search._linear_program import LinearProgramSolver
from holdfast.search._linear_step import best_corner, minimise_linear, within
from holdfast.search._losses import (
    AbstractLoss,
    CrossEntropy,
    EnergyConstrained,
    Hinge,
    SetSizePenalised,
    SquaredScore,
)
from holdfast.search._neighbour import NeighbourSolver
from holdfast.search._norm_ball import NormBall
from holdfast.search._odds import OddsSolver
from holdfast.search._options import add_option, by_feature, repetition
from holdfast.search._path import AbstractSampler, DescentSampler, LangevinSampler, LatentSampler, Path
from holdfast.search._percentile import ACTION_COSTS, ActionCost, Percentiles, ranks
from holdfast.search._polish import POLISH_STEPS, Polish
from holdfast.search._problem import Problem, Solution, Status, is_found
from holdfast.search._prototype import Prototype, PrototypePull
from holdfast.search._robust import RobustSolver, worst_drop
from holdfast.search._shells import ShellSolver, fewest_changes
from holdfast.search._solver import CLEARANCE, AbstractSolver, State, iterate
from holdfast.search._space import AbstractSpace, RowSpace
from holdfast.search._sparse import SparseSolver, value_grid
from holdfast.search._stable import StableSolver

__all__ = [
    "ACTION_COSTS",
    "CLEARANCE",
    "POLISH_STEPS",
    "AbstractAction",
    "AbstractLoss",
    "AbstractSampler",
    "AbstractSolver",
    "AbstractSpace",
    "ActionCost",
    "BallSolver",
    "CandidateAction",
    "CandidateSolver",
    "CrossEntropy",
    "DescentSampler",
    "Direction",
    "DiveSolver",
    "Edits",
    "ElasticSolver",
    "EnergyConstrained",
    "GeneratorSolver",
    "GradientAction",
    "GradientSolver",
    "HighestSolver",
    "Hinge",
    "LangevinSampler",
    "LatentGradientSolver",
    "LatentSampler",
    "LatentSpace",
    "LatticeAction",
    "LinearProgramSolver",
    "LinearisedAction",
    "Menu",
    "NeighbourSolver",
    "NormBall",
    "OddsSolver",
    "Path",
    "Percentiles",
    "Polish",
    "Problem",
    "Prototype",
    "PrototypePull",
    "RobustSolver",
    "RowSpace",
    "SetSizePenalised",
    "ShellSolver",
    "Solution",
    "SparseSolver",
    "SquaredScore",
    "StableSolver",
    "State",
    "Status",
    "Support",
    "add_option",
    "best_corner",
    "by_feature",
    "cheapest",
    "fewest_changes",
    "highest",
    "is_found",
    "iterate",
    "menu",
    "minimise_linear",
    "options",
    "ranks",
    "repetition",
    "support",
    "value_grid",
    "within",
    "worst_drop",
]
