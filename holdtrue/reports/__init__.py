"""Measures gathered into a report: does the recourse work, what does it cost, will it hold?"""

from holdtrue._figure import BLUE, GRID, INK, LINE, ORANGE, SOFT, dress, new_figure, save
from holdtrue.reports._against import Against
from holdtrue.reports._attack import Attack, attack
from holdtrue.reports._audit import audit
from holdtrue.reports._calibration import Calibration
from holdtrue.reports._hold_plot import draw_hold
from holdtrue.reports._parts import Summary, Survival, summarise
from holdtrue.reports._reach import Counted, ModelReach
from holdtrue.reports._render import (
    STYLE,
    Page,
    Section,
    document,
    html,
    markdown,
    number,
    percent,
    rich,
    short,
    shown_seconds,
    text,
)
from holdtrue.reports._report import Report, head
from holdtrue.reports._shelf_life import ShelfLife, shelf_life

__all__ = [
    "BLUE",
    "GRID",
    "INK",
    "LINE",
    "ORANGE",
    "SOFT",
    "STYLE",
    "Against",
    "Attack",
    "Calibration",
    "Counted",
    "ModelReach",
    "Page",
    "Report",
    "Section",
    "ShelfLife",
    "Summary",
    "Survival",
    "attack",
    "audit",
    "document",
    "draw_hold",
    "dress",
    "head",
    "html",
    "markdown",
    "new_figure",
    "number",
    "percent",
    "rich",
    "save",
    "shelf_life",
    "short",
    "shown_seconds",
    "summarise",
    "text",
]
