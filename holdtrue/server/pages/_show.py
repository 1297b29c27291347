"""Values as a page writes them."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from holdtrue._types import JsonObject
from holdtrue.methods import about
from holdtrue.reports import percent
from holdtrue.schema import Feature

WEIGHTS = (
    (1.0, "all or more"),
    (0.5, "more than half"),
    (0.25, "a quarter to a half"),
    (0.1, "a tenth to a quarter"),
)
"""From which share of the gap on, and how that is said."""


def bare(given: object, feature: Feature) -> str:
    """A value as a person would write it, without its unit, where the unit follows."""
    return about(given, feature.replace(unit=None))


def typed(given: object, feature: Feature) -> str:
    """A value as a form field holds it: a level by its position, a number with all its digits."""
    if given is None:
        return ""
    if feature.has_levels:
        return str((feature.levels or ()).index(given))
    return repr(given).removesuffix(".0")


def day(time: datetime | str | None) -> str:
    """A day, or a dash."""
    if time is None:
        return "-"
    time = datetime.fromisoformat(time) if isinstance(time, str) else time
    time = time.astimezone(UTC)
    return f"{time.day} {time:%B %Y}"


def share(given: Any) -> str:
    """A share in percent; a dash for none."""
    return percent(float("nan") if given is None else float(given))


def whole(given: object) -> str:
    """A whole number with commas."""
    return f"{given:,}"


def place(given: float) -> str:
    """A coordinate of a picture."""
    return f"{given:.1f}"


def accepted(survival: JsonObject) -> str:
    """How many retrained models say yes, in words."""
    n = int(survival["n_models"])
    return f"{round(survival['estimate'] * n):,} of {n:,} retrained models accept it"


def dearer(price: float) -> str:
    """What a share beyond the least cost is, in words: "40% more than", "3.5 times as much as".

    The cheapest way may be next to nothing; by how much it is multiplied then tells a person nothing.
    """
    if price >= 99:
        return "over 100 times as much as"
    return (
        f"{percent(price)} more than" if price < 1 else f"{price + 1:,.{0 if price >= 9 else 1}f} times as much as"
    )


def weight(contribution: float, gap: float) -> str:
    """How much a reason is of what a person lacks, in words: "a quarter to a half of the gap".

    What speaks for a person makes up for part of what speaks against them, so one reason may be all of the gap.
    """
    if contribution < 0:
        return "what makes the gap smaller"
    if gap <= 0:
        return "a part of what speaks against the person"
    for least, words in WEIGHTS:
        if contribution >= least * gap:
            return f"{words} of the gap"
    return "less than a tenth of the gap"


def hidden_weight(reasons: JsonObject) -> str:
    """The same of all columns together that are never named."""
    return weight(sum(reasons["contributions"][name] for name in reasons["protected"]), reasons["gap"])


FILTERS: dict[str, Callable[..., str]] = {
    "day": day,
    "share": share,
    "whole": whole,
    "place": place,
    "accepted": accepted,
    "dearer": dearer,
    "weight": weight,
    "hidden_weight": hidden_weight,
}
