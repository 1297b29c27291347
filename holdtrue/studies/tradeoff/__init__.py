"""One table trained under several settings: accuracy and robustness against recourse."""

from holdtrue.studies.tradeoff._result import Choice, Tradeoff
from holdtrue.studies.tradeoff._tradeoff import tradeoff

__all__ = ["Choice", "Tradeoff", "tradeoff"]
