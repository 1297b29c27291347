"""Counterfactual training: whether models trained on their own recourse give more plausible recourse."""

from experiments.counterfactual_training._further import further
from experiments.counterfactual_training._result import Result
from experiments.counterfactual_training._run import run
from experiments.counterfactual_training._short import short
from experiments.counterfactual_training._standing import standing
from experiments.counterfactual_training._tables import markdown

__all__ = ["Result", "further", "markdown", "run", "short", "standing"]
