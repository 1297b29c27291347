"""What a new model makes of the promises in a ledger: the gate."""

from holdtrue.promises._cases import Case, CaseFile
from holdtrue.promises._gate import gate
from holdtrue.promises._report import GateReport, Group, Honour, Instead, Labelled

__all__ = ["Case", "CaseFile", "GateReport", "Group", "Honour", "Instead", "Labelled", "gate"]
