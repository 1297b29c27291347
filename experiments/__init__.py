"""The papers' experiments, a folder each: code, printed figures, results, and what makes their pages of them."""

from experiments._registry import EXPERIMENTS, Experiment, experiment
from experiments._results import AbstractResult

__all__ = ["EXPERIMENTS", "AbstractResult", "Experiment", "experiment"]
