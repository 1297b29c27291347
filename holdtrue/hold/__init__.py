"""Recourse that holds: panels that decide, levels that are measured, the past replayed."""

from holdtrue.hold._backtest import backtest
from holdtrue.hold._backtest_result import Backtest
from holdtrue.hold._held_method import held_method
from holdtrue.hold._holding import AS_FITTED, Hold, Holding
from holdtrue.hold._panel import with_guides
from holdtrue.methods import Held, Level, register

register("holding", Holding)

__all__ = ["AS_FITTED", "Backtest", "Held", "Hold", "Holding", "Level", "backtest", "held_method", "with_guides"]
