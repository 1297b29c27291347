"""Conformance checks, shipped: a third party's method, model, regime or database gets them with one fixture."""

from holdfast.testing._ledger import LedgerChecks
from holdfast.testing._methods import MethodChecks
from holdfast.testing._models import ModelChecks
from holdfast.testing._regimes import RegimeChecks

__all__ = ["LedgerChecks", "MethodChecks", "ModelChecks", "RegimeChecks"]
