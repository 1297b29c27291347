"""RoCourseNet: recourse trained to survive a shift of the data, judged by models of other years and places."""

from holdtrue.papers.rocoursenet._run import run
from holdtrue.papers.rocoursenet._tables import markdown

__all__ = ["markdown", "run"]
