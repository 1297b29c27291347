"""The papers' experiments: ours beside the printed figures."""

from holdtrue.papers._registry import EXPERIMENTS, Experiment, experiment

__all__ = ["EXPERIMENTS", "Experiment", "experiment"]
