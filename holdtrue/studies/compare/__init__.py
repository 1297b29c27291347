"""Recourse methods side by side on one dataset and one model: the function, its result, text and plot."""

from holdtrue.studies.compare._compare import compare
from holdtrue.studies.compare._measure import measure, settings
from holdtrue.studies.compare._result import Comparison, Row, merged, same_settings

__all__ = ["Comparison", "Row", "compare", "measure", "merged", "same_settings", "settings"]
