"""Values with their intervals, drawn as a picture in a page."""

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, LABEL, RIGHT, ROW, TOP = 640, 210, 24, 22, 30


class Mark(NamedTuple):
    """One line of the picture; None where there is nothing to draw."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None


def _step(least: float) -> float:
    """A round number that is at least this."""
    power = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
    return next(power * times for times in (1, 2, 2.5, 5, 10) if power * times >= least)


def intervals(title: str, marks: Sequence[Mark], *, percent: bool = False) -> str:
    """One line a mark: a dot, and its interval as a stroke; SVG, or nothing where no value is there."""
    ends = [end for m in marks for end in (m.value, m.lower, m.upper) if end is not None]
    if not ends:
        return ""
    low, high = (0.0, 1.0) if percent else (min(0.0, *ends), max(ends))
    step = 0.25 if percent else _step((high - low) / 4)
    low = step * math.floor(low / step)
    span = 4 * step if high <= low + 4 * step else 5 * step
    height = TOP + ROW * len(marks) + 22

    def x(value: float) -> float:
        return round(LABEL + (WIDTH - LABEL - RIGHT) * (value - low) / span, 1)

    parts = [f'<text x="0" y="14" font-weight="600">{html.escape(title)}</text>']
    for i in range(round(span / step) + 1):
        value = low + step * i
        told = f"{100 * value:.0f}%" if percent else f"{value:.3g}"
        parts.append(f'<line class="grid" x1="{x(value)}" x2="{x(value)}" y1="{TOP - 6}" y2="{height - 18}"/>')
        parts.append(f'<text class="axis" x="{x(value)}" y="{height - 4}" text-anchor="middle">{told}</text>')
    for i, mark in enumerate(marks):
        y = TOP + ROW * i + 8
        name = mark.name if len(mark.name) <= 32 else f"{mark.name[:31]}…"
        parts.append(f'<text x="0" y="{y + 4}">{html.escape(name)}</text>')
        if mark.lower is not None and mark.upper is not None:
            parts.append(f'<line class="range" x1="{x(mark.lower)}" x2="{x(mark.upper)}" y1="{y}" y2="{y}"/>')
        if mark.value is not None:
            parts.append(f'<circle class="at" cx="{x(mark.value)}" cy="{y}" r="4"/>')
    return f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img">{"".join(parts)}</svg>'
