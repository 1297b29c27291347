"""Adversarial robustness against recourse: what a robust model costs the people it refuses."""

from experiments.robustness_tradeoffs._further import further
from experiments.robustness_tradeoffs._result import Result
from experiments.robustness_tradeoffs._run import run
from experiments.robustness_tradeoffs._short import short
from experiments.robustness_tradeoffs._standing import standing
from experiments.robustness_tradeoffs._tables import markdown

__all__ = ["Result", "further", "markdown", "run", "short", "standing"]
