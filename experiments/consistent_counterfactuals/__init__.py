"""Consistent counterfactuals for deep models: does recourse survive retraining?"""

from experiments.consistent_counterfactuals._further import further
from experiments.consistent_counterfactuals._result import Result
from experiments.consistent_counterfactuals._run import run
from experiments.consistent_counterfactuals._standing import standing
from experiments.consistent_counterfactuals._tables import markdown

__all__ = ["Result", "further", "markdown", "run", "standing"]
