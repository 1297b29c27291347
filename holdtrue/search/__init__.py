"""Problem, Solution, Status; the solvers; the only search loops."""

from holdtrue.search._balls import BallSolver
from holdtrue.search._best_action import (
    AbstractAction,
    CandidateAction,
    Direction,
    Edits,
    GradientAction,
    LatticeAction,
    LinearisedAction,
)
from holdtrue.search._candidates import CandidateSolver
from holdtrue.search._criteria import (
    AbstractCriterion,
    AbstractStability,
    Agreement,
    CounterfactualStability,
    Ellipsoid,
    Least,
    LinearInvalidation,
    LocalStability,
    Quorum,
    SampledInvalidation,
    Verdict,
)
from holdtrue.search._elastic import ElasticSolver
from holdtrue.search._flipset import cheapest, highest, options, proposal, support
from holdtrue.search._generator import GeneratorSolver
from holdtrue.search._gradient import GradientSolver
from holdtrue.search._highest import HighestSolver
from holdtrue.search._latent import LatentGradientSolver, LatentSpace
from holdtrue.search._linear_program import LinearProgramSolver
from holdtrue.search._linear_step import best_corner, minimise_linear, within
from holdtrue.search._losses import (
    AbstractLoss,
    CrossEntropy,
    EnergyConstrained,
    Hinge,
    SetSizePenalised,
    SquaredScore,
)
from holdtrue.search._menu import Menu, Support, menu
from holdtrue.search._neighbour import NeighbourSolver
from holdtrue.search._norm_ball import NormBall
from holdtrue.search._options import add_option, by_feature, repetition
from holdtrue.search._path import AbstractSampler, DescentSampler, LangevinSampler, LatentSampler, Path
from holdtrue.search._percentile import ACTION_COSTS, ActionCost, Percentiles, ranks
from holdtrue.search._polish import POLISH_STEPS, Polish
from holdtrue.search._problem import Problem, Problems, Solution, Solutions, Status, is_found
from holdtrue.search._promise import Lists, cheapest_by_promise
from holdtrue.search._proposals import AbstractProposals, Lines, Neighbours, ProposalSolver, Shells
from holdtrue.search._prototype import Prototype, PrototypePull
from holdtrue.search._robust import RobustSolver, worst_drop
from holdtrue.search._robust_bayesian import OddsSolver
from holdtrue.search._shells import ShellSolver, fewest_changes
from holdtrue.search._solver import CLEARANCE, AbstractSolver, AnyState, State, iterate
from holdtrue.search._space import AbstractSpace, RowSpace
from holdtrue.search._sparse import FirstLayer, SparseSolver, value_grid
from holdtrue.search._stable import StableSolver
from holdtrue.search._trim import Trimmer

__all__ = [
    "ACTION_COSTS",
    "CLEARANCE",
    "POLISH_STEPS",
    "AbstractAction",
    "AbstractCriterion",
    "AbstractLoss",
    "AbstractProposals",
    "AbstractSampler",
    "AbstractSolver",
    "AbstractSpace",
    "AbstractStability",
    "ActionCost",
    "Agreement",
    "AnyState",
    "BallSolver",
    "CandidateAction",
    "CandidateSolver",
    "CounterfactualStability",
    "CrossEntropy",
    "DescentSampler",
    "Direction",
    "Edits",
    "ElasticSolver",
    "Ellipsoid",
    "EnergyConstrained",
    "FirstLayer",
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
    "Least",
    "LinearInvalidation",
    "LinearProgramSolver",
    "LinearisedAction",
    "Lines",
    "Lists",
    "LocalStability",
    "Menu",
    "NeighbourSolver",
    "Neighbours",
    "NormBall",
    "OddsSolver",
    "Path",
    "Percentiles",
    "Polish",
    "Problem",
    "Problems",
    "ProposalSolver",
    "Prototype",
    "PrototypePull",
    "Quorum",
    "RobustSolver",
    "RowSpace",
    "SampledInvalidation",
    "SetSizePenalised",
    "ShellSolver",
    "Shells",
    "Solution",
    "Solutions",
    "SparseSolver",
    "SquaredScore",
    "StableSolver",
    "State",
    "Status",
    "Support",
    "Trimmer",
    "Verdict",
    "add_option",
    "best_corner",
    "by_feature",
    "cheapest",
    "cheapest_by_promise",
    "fewest_changes",
    "highest",
    "is_found",
    "iterate",
    "menu",
    "minimise_linear",
    "options",
    "proposal",
    "ranks",
    "repetition",
    "support",
    "value_grid",
    "within",
    "worst_drop",
]
