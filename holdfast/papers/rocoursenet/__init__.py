"""RoCourseNet: recourse trained to survive a shift of the data, judged by models of other years and places."""

from holdfast.papers.rocoursenet._run import run
from holdfast.papers.rocoursenet._tables import markdown

__all__ = ["markdown", "run"]
