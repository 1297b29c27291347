"""Adversarial robustness against recourse: what a robust model costs the people it refuses."""

from holdtrue.papers.robustness_tradeoffs._run import run
from holdtrue.papers.robustness_tradeoffs._tables import markdown

__all__ = ["markdown", "run"]
