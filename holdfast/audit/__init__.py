"""Measures gathered into a report: does the recourse work, what does it cost, will it hold?

The folder is called like the function it offers, and both are wanted: ``hf.audit(plan)`` and ``hf.audit.Report``.
"""

import sys
from types import ModuleType
from typing import Any

from holdfast.audit._audit import audit
from holdfast.audit._report import Report, Summary, Survival

__all__ = ["Report", "Summary", "Survival", "audit"]


class _CallableModule(ModuleType):
    """A module that can be called; see `audit`."""

    def __call__(self, plan: Any, against: Any = None, **options: Any) -> Report:
        return audit(plan, against, **options)


# Importing a submodule binds it as an attribute of its package, so a function of the same name in `holdfast` would be
# overwritten by whichever import comes last. A module whose class has `__call__` (the `__class__` of a module may be
# assigned, see the data model) is both at once, in every order of imports.
sys.modules[__name__].__class__ = _CallableModule
