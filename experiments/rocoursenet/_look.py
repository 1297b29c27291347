"""Colours and markers that the pictures of the RoCourseNet page share."""

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, PURPLE
from experiments.rocoursenet import _tables as tables
from experiments.rocoursenet._result import Result

STYLES = {
    "VanillaCF": (GREY, "s"),
    "ROAR-LIME": (ORANGE, "^"),
    "RBR": (PURPLE, "v"),
    "CounterNet": ("#7b8794", "D"),
    "RoCourseNet": (GREEN, "P"),
    "CounterNet, ours": ("#7b8794", "d"),
    "RoCourseNet, ours": (GREEN, "X"),
    "RoCourseNet, guides": (BLUE, "o"),
    "CF Model": ("#12807a", "h"),
    "Robust CF Model": ("#12807a", "H"),
}
HOLLOW = {"CounterNet, ours", "RoCourseNet, ours", "CF Model"}


def mean(result: Result, name: str, key: str) -> float | None:
    """Mean of a method's figure over its seeds."""
    return tables.over(result.methods.get(name, []), key)[0]
