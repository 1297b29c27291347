"""Learning models for actionable recourse: models that owe people recourse, and what that costs."""

from holdtrue.papers.actionable_recourse._run import run
from holdtrue.papers.actionable_recourse._tables import markdown

__all__ = ["markdown", "run"]
