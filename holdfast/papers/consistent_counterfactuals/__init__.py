"""Consistent counterfactuals for deep models: does recourse survive retraining?"""

from holdfast.papers.consistent_counterfactuals._run import run
from holdfast.papers.consistent_counterfactuals._tables import markdown

__all__ = ["markdown", "run"]
