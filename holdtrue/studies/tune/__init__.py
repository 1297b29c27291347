"""A training regime's parameters chosen by trials, under a budget."""

from holdtrue.studies.tune._result import Trial, Tuning
from holdtrue.studies.tune._tune import tune

__all__ = ["Trial", "Tuning", "tune"]
