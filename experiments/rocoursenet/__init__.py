"""RoCourseNet: recourse trained to survive a shift of the data, judged by models of other years and places."""

from experiments.rocoursenet._further import further
from experiments.rocoursenet._result import Result
from experiments.rocoursenet._run import run
from experiments.rocoursenet._short import short
from experiments.rocoursenet._standing import standing
from experiments.rocoursenet._tables import markdown

__all__ = ["Result", "further", "markdown", "run", "short", "standing"]
