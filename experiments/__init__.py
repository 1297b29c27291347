"""The papers' experiments, a folder each: code, printed figures, results, and what makes their pages of them."""

from experiments._registry import EXPERIMENTS, Experiment, experiment

__all__ = ["EXPERIMENTS", "Experiment", "experiment"]
