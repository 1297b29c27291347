"""What a new model makes of the promises in a ledger: the gate."""

from holdfast.promises._gate import gate
from holdfast.promises._report import GateReport, Group, Honour, Instead, Labelled

__all__ = ["GateReport", "Group", "Honour", "Instead", "Labelled", "gate"]
