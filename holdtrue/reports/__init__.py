"""Measures gathered into a report: does the recourse work, what does it cost, will it hold?"""

from holdtrue.reports._against import Against
from holdtrue.reports._attack import Attack, attack
from holdtrue.reports._audit import audit
from holdtrue.reports._calibration import Calibration
from holdtrue.reports._parts import Summary, Survival, summarise
from holdtrue.reports._render import STYLE, Page, Section, document, html, markdown, percent, rich, text
from holdtrue.reports._report import Report, head
from holdtrue.reports._shelf_life import ShelfLife, shelf_life

__all__ = [
    "STYLE",
    "Against",
    "Attack",
    "Calibration",
    "Page",
    "Report",
    "Section",
    "ShelfLife",
    "Summary",
    "Survival",
    "attack",
    "audit",
    "document",
    "head",
    "html",
    "markdown",
    "percent",
    "rich",
    "shelf_life",
    "summarise",
    "text",
]
