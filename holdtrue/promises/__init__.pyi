from holdtrue.promises._cases import Case, CaseFile
from holdtrue.promises._gate import gate
from holdtrue.promises._letter import Letter, Stationery, compose, letters, offered
from holdtrue.promises._records import promise, records, survival_of
from holdtrue.promises._replay import Replay, replay
from holdtrue.promises._report import GateReport, Group, Honour, Instead, Labelled

__all__ = [
    "Case",
    "CaseFile",
    "GateReport",
    "Group",
    "Honour",
    "Instead",
    "Labelled",
    "Letter",
    "Replay",
    "Stationery",
    "compose",
    "gate",
    "letters",
    "offered",
    "promise",
    "records",
    "replay",
    "survival_of",
]
