"""Conformance checks, shipped: a third party's method, model or regime gets them with one fixture."""

from holdfast.testing._methods import MethodChecks
from holdfast.testing._models import ModelChecks
from holdfast.testing._regimes import RegimeChecks

__all__ = ["MethodChecks", "ModelChecks", "RegimeChecks"]
