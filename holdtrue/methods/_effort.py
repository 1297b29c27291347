"""What a recourse asks of a person, in words: how many changes of which size, in months and money where known."""

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from holdtrue.encoding import about, join
from holdtrue.schema import Feature

if TYPE_CHECKING:
    from holdtrue.methods._frame import RecourseFrame

SMALL, LARGE = 0.5, 2.0
"""In spreads: half of all people lie within one of the middle. A changed category counts one."""
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TIME = re.compile(r"\b(second|minute|hour|day|week|month|quarter|year)s?\b")
MONEY = re.compile(r"[$€£¥]|\b(USD|EUR|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD|BRL|ZAR)\b")


def efforts(plan: "RecourseFrame") -> list[str]:
    """One phrase per row of a plan; empty where there is no recourse."""
    acted, sizes = plan.acted(), _sizes(plan)
    return [
        _phrase(plan, i, np.flatnonzero(acted[i]).tolist(), sizes[i]) if found else ""
        for i, found in enumerate(plan.found.tolist())
    ]


def asked(plan: "RecourseFrame") -> np.ndarray:
    """All changes of each row together, in spreads: what the phrases put into words."""
    return np.where(plan.found, (_sizes(plan) * plan.acted()).sum(axis=1), np.nan)


def _sizes(plan: "RecourseFrame") -> np.ndarray:
    """Every change in spreads of its column, times how hard it is; shape (people, features)."""
    encoder = plan.predictor.encoder
    change = np.abs(encoder.encode(plan.action) - encoder.encode(plan.factual)) / encoder.spread
    out = np.zeros((len(plan), len(plan.schema)))
    for j, feature in enumerate(plan.schema):
        slot = encoder.layout.slot(feature.name)
        part = change[:, slot.start : slot.stop]
        out[:, j] = (part.max(axis=1) > 0) if slot in encoder.layout.groups else part[:, 0]
        out[:, j] *= feature.cost_weight
    return out


def _phrase(plan: "RecourseFrame", i: int, columns: list[int], sizes: np.ndarray) -> str:
    words = ["small" if sizes[j] <= SMALL else "medium" if sizes[j] <= LARGE else "large" for j in columns]
    count = Counter(words)
    there = [word for word in ("small", "medium", "large") if count[word]]
    if not there:
        return "no change"
    parts = [f"{_count(count[word])} {word}" for word in there]
    parts[0] += " change" if count[there[0]] == 1 else " changes"  # said once: two small changes and one large
    told = _amounts(plan, i, columns)
    return join(parts) + (f" ({', '.join(told)})" if told else "")


def _amounts(plan: "RecourseFrame", i: int, columns: list[int]) -> list[str]:
    """By how much, in units of time and money; what has the same unit is added up."""
    features = list(plan.schema)
    total: dict[str, tuple[float, Feature]] = {}
    for j in columns:
        feature = features[j]
        unit = feature.unit or ""
        if feature.has_levels or not (TIME.search(unit) or MONEY.search(unit)):
            continue
        before, after = (table.columns[feature.name][i] for table in (plan.factual, plan.recourse))
        if before is None or before != before:
            continue
        total[unit] = (total.get(unit, (0.0, feature))[0] + abs(float(after) - float(before)), feature)
    return [about(amount, feature) for amount, feature in total.values()]


def _count(n: int) -> str:
    return COUNTS[n] if n < len(COUNTS) else f"{n:,}"
