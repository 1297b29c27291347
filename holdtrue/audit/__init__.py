"""Measures gathered into a report: does the recourse work, what does it cost, will it hold?

The folder is called like the function it offers, and both are wanted: ``ht.audit(plan)`` and ``ht.audit.Report``.
"""

import sys
from types import ModuleType
from typing import Any

from holdtrue.audit._attack import Attack, attack
from holdtrue.audit._audit import audit
from holdtrue.audit._calibration import Calibration
from holdtrue.audit._comparison import Comparison, Row, merged, same_settings
from holdtrue.audit._measure import measure, settings
from holdtrue.audit._parts import Summary, Survival, summarise
from holdtrue.audit._render import STYLE, Page, Section, document, html, markdown, percent, rich, text
from holdtrue.audit._report import Report, head, plain, to_json, write_text
from holdtrue.audit._shelf_life import ShelfLife, shelf_life
from holdtrue.audit._tradeoff import Choice, Tradeoff
from holdtrue.audit._tuning import Trial, Tuning
from holdtrue.methods import RecourseFrame

__all__ = [
    "STYLE",
    "Attack",
    "Calibration",
    "Choice",
    "Comparison",
    "Page",
    "Report",
    "Row",
    "Section",
    "ShelfLife",
    "Summary",
    "Survival",
    "Tradeoff",
    "Trial",
    "Tuning",
    "attack",
    "audit",
    "document",
    "head",
    "html",
    "markdown",
    "measure",
    "merged",
    "percent",
    "plain",
    "rich",
    "same_settings",
    "settings",
    "shelf_life",
    "summarise",
    "text",
    "to_json",
    "write_text",
]


class _CallableModule(ModuleType):
    """A module that can be called."""

    def __call__(
        self, plan: RecourseFrame, against: Any = None, *, confidence: float = 0.95, level: float = 0.9
    ) -> Report:
        """Measure recourse; see `holdtrue.audit.audit`."""
        return audit(plan, against, confidence=confidence, level=level)


# Importing a submodule binds it as an attribute of its package, so a function of the same name in `holdtrue` would
# be overwritten by whichever import comes last. A module whose class has `__call__` is both at once, in every
# order of imports. Python's data model names this use: "Customizing module attribute access".
sys.modules[__name__].__class__ = _CallableModule
