"""Conformance checks, shipped: a third party's method, model, regime or database gets them with one fixture."""

from holdtrue.testing._ledger import LedgerChecks
from holdtrue.testing._methods import MethodChecks
from holdtrue.testing._models import ModelChecks
from holdtrue.testing._regimes import RegimeChecks

__all__ = ["LedgerChecks", "MethodChecks", "ModelChecks", "RegimeChecks"]
