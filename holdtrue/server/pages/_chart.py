"""Small pictures, as coordinates that a template draws: the path across the boundary; model after model."""

from collections.abc import Sequence
from typing import NamedTuple

from holdtrue._types import JsonObject
from holdtrue.classifier import table_of
from holdtrue.schema import Schema, plain
from holdtrue.server._service import Service

ROWS = 250  # asked about at once: within the smallest size that is compiled
STEPS = 8  # of a number on its way
LEFT, RIGHT, TOP, BOTTOM = 12.0, 288.0, 20.0, 106.0
ROOM = 0.06  # of probability, above and below what is drawn

Way = tuple[list[JsonObject], list[float], list[int]]


class Path(NamedTuple):
    """A path to be drawn in a box of 300 by 140.

    Attributes
    ----------
    line : str
        Points of the path.
    marks : list of (x, y)
        The start, and where each change ends.
    need : float or None
        Height of the boundary.
    first, last : float
        Probability at both ends.
    """

    line: str
    marks: list[tuple[float, float]]
    need: float | None
    first: float
    last: float


def paths(service: Service, factual: JsonObject, options: Sequence[JsonObject]) -> list[Path]:
    """For each option the way there, one change after the other, as the model sees it: every point is asked."""
    schema = service.schema
    n = sum(len(option["changed"]) for option in options)
    ways = [
        _way(schema, factual, option["recourse"], max(1, min(STEPS, ROWS // max(n, 1) - 1))) for option in options
    ]
    rows = [row for way in ways for row in way[0]]
    if not rows:
        return []
    predictor = service.predictor
    chance = predictor.proba(table_of(rows, schema, where="page"))[:, predictor.decision.favourable].tolist()
    out, start = [], 0
    for way in ways:
        out.append(_drawn(way, chance[start : start + len(way[0])], predictor.threshold))
        start += len(way[0])
    return out


def _way(schema: Schema, factual: JsonObject, recourse: JsonObject, steps: int) -> Way:
    """Rows from one to the other, how far along each is (changes count alike), and which rows end a change."""
    rows, places, ends = [dict(factual)], [0.0], [0]
    changed = [feature for feature in schema if factual[feature.name] != recourse[feature.name]]
    for i, feature in enumerate(changed):
        before, after = factual[feature.name], recourse[feature.name]
        if feature.has_levels or before is None:
            # A jump, drawn as one: the row before it once more, then the row after it, at the same place.
            rows += [dict(rows[-1]), rows[-1] | {feature.name: after}, rows[-1] | {feature.name: after}]
            places += [i + 0.5, i + 0.5, i + 1.0]
        else:
            for k in range(1, steps + 1):
                value = after if k == steps else before + (after - before) * k / steps
                value = float(round(value)) if feature.kind == "integer" else value
                rows.append(rows[-1] | {feature.name: plain(value)})
                places.append(i + k / steps)
        ends.append(len(rows) - 1)
    return rows, [place / max(len(changed), 1) for place in places], ends


def _drawn(way: Way, chance: list[float], threshold: float | None) -> Path:
    _, places, ends = way
    seen = [*chance, *([] if threshold is None else [threshold])]
    low, high = max(0.0, min(seen) - ROOM), min(1.0, max(seen) + ROOM)

    def y(p: float) -> float:
        return BOTTOM - (p - low) / (high - low) * (BOTTOM - TOP)

    points = [(LEFT + place * (RIGHT - LEFT), y(p)) for place, p in zip(places, chance, strict=True)]
    return Path(
        line=" ".join(f"{a:.1f},{b:.1f}" for a, b in points),
        marks=[points[end] for end in ends],
        need=None if threshold is None else y(threshold),
        first=chance[0],
        last=chance[-1],
    )


class Version(NamedTuple):
    """One model's share of kept promises, to be drawn: place, height, and the interval's ends."""

    x: float
    y: float
    low: float
    high: float


def versions(reports: Sequence[JsonObject], width: float = 560.0) -> list[Version]:
    """Kept promises of every report, in a box of `width` by 180 whose heights are shares from 0 to 1."""
    step = (width - 60) / max(len(reports), 1)

    def y(share: float) -> float:
        return 150 - 130 * share

    return [
        Version(50 + step * (i + 0.5), y(1 - (r["share"] or 0)), y(1 - r["upper"]), y(1 - r["lower"]))
        for i, r in enumerate(reports)
    ]
