"""Why a decision was what it was: the gap to the cut-off, shared out between features, and told as reasons."""

from holdtrue.attribution._codes import Code, CodeTable, sample_codes
from holdtrue.attribution._players import Players
from holdtrue.attribution._reasoner import GIVEN, Models, Reasoner, reasons
from holdtrue.attribution._reference import Reference
from holdtrue.attribution._result import Panel, Reason, Reasons

__all__ = [
    "GIVEN",
    "Code",
    "CodeTable",
    "Models",
    "Panel",
    "Players",
    "Reason",
    "Reasoner",
    "Reasons",
    "Reference",
    "reasons",
    "sample_codes",
]
