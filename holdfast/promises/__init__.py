"""What a new model makes of the promises in a ledger: the gate."""

from holdfast.promises._cases import Case, CaseFile
from holdfast.promises._gate import gate
from holdfast.promises._report import GateReport, Group, Honour, Instead, Labelled

__all__ = ["Case", "CaseFile", "GateReport", "Group", "Honour", "Instead", "Labelled", "gate"]
