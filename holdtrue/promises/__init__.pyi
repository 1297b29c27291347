from holdtrue.promises._cases import Case, CaseFile
from holdtrue.promises._gate import gate
from holdtrue.promises._groups import MISSING, Grouping
from holdtrue.promises._letter import Letter, Stationery, compose, letters, offered, offered_to
from holdtrue.promises._records import check_holding, drafts, lacks_reason, promise, records, stated_survival
from holdtrue.promises._replay import Replay, replay
from holdtrue.promises._report import GateReport, Group, Honour, Instead, Labelled

__all__ = [
    "MISSING",
    "Case",
    "CaseFile",
    "GateReport",
    "Group",
    "Grouping",
    "Honour",
    "Instead",
    "Labelled",
    "Letter",
    "Replay",
    "Stationery",
    "check_holding",
    "compose",
    "drafts",
    "gate",
    "lacks_reason",
    "letters",
    "offered",
    "offered_to",
    "promise",
    "records",
    "replay",
    "stated_survival",
]
