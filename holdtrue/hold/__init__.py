"""Recourse that holds: panels that decide, levels that are measured, the past replayed."""

from holdtrue.hold._holding import AS_FITTED, Hold, Holding, held_method
from holdtrue.hold._panel import with_guides
from holdtrue.methods import Held, Level, register

register("holding", Holding)

__all__ = ["AS_FITTED", "Held", "Hold", "Holding", "Level", "held_method", "with_guides"]
