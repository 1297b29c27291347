"""Learning models for actionable recourse: models that owe people recourse, and what that costs."""

from experiments.actionable_recourse._beside import further
from experiments.actionable_recourse._result import Result
from experiments.actionable_recourse._run import run
from experiments.actionable_recourse._standing import standing
from experiments.actionable_recourse._tables import markdown

__all__ = ["Result", "further", "markdown", "run", "standing"]
