"""Colours, markers and dress that the pictures of the RoCourseNet page share."""

from typing import Any

from holdtrue.papers.rocoursenet import _tables as tables

SOFT, BLUE, ORANGE, GREY, GREEN, PURPLE = "#52606d", "#1f6fb2", "#d9822b", "#9aa5b1", "#3a7d44", "#8e5ba6"
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


def mean(result: dict[str, Any], name: str, key: str) -> float | None:
    """Mean of a method's figure over its seeds."""
    return tables.over(result["methods"].get(name, []), key)[0]


def dress(axes: Any, title: str) -> None:
    """The look that all panels share."""
    axes.set_title(title, fontsize=9.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e7eb", lw=0.5)
    axes.set_axisbelow(True)
