"""The page of a trade-off: pictures as inline SVG and a table, in one file that needs nothing else."""

import html as _html
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from holdtrue.reports import BLUE, GRID, INK, LINE, ORANGE, SOFT

if TYPE_CHECKING:
    from holdtrue.studies.tradeoff._result import Choice, Tradeoff

Scale = Callable[[float], float]
COLOURS = (BLUE, ORANGE, "#3a7d44", "#8e5ba6", "#b0413e", "#5f6b76")
PANELS = {
    "accuracy": "Accuracy",
    "robust_accuracy": "Accuracy under attack",
    "cost": "Cost of recourse",
    "validity": "Share of the refused with recourse",
    "shelf_life": "Share of retrainings that keep it",
    "favourable": "Share accepted",
}
WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 30, 34

STYLE = f"""
body {{ font: 15px/1.5 system-ui, sans-serif; color: {INK}; max-width: 74rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.5rem; margin-bottom: .3rem; }}
p.soft, figcaption, .key {{ color: {SOFT}; }}
.panels {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(340px, 1fr)); gap: 12px; }}
figure {{ margin: 0; }}
svg text {{ font: 13px system-ui, sans-serif; fill: {SOFT}; }}
svg .title {{ font-size: 15px; fill: {INK}; }}
table {{ border-collapse: collapse; width: 100%; margin-top: 1.2rem; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: right; padding: 4px 10px; border-bottom: 1px solid {GRID}; }}
th:first-child, td:first-child, th:last-child, td:last-child {{ text-align: left; }}
td:first-child {{ white-space: nowrap; }}
tr.best td {{ font-weight: 600; }}
tr.constant td {{ color: {LINE}; }}
.key span {{ margin-right: 1.4rem; white-space: nowrap; }}
.dot {{ display: inline-block; width: 10px; height: 10px; border-radius: 50%; margin-right: 5px; }}
"""


def page(trade: "Tradeoff") -> str:
    """The whole page."""
    from holdtrue.studies.tradeoff._result import HEADS, cells

    front = trade.front
    regimes = list(dict.fromkeys(c.regime for c in trade.choices))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(regimes)}
    panels = "".join(_panel(key, title, trade, colour) for key, title in PANELS.items())
    key = "".join(f'<span><i class="dot" style="background:{colour[n]}"></i>{_text(n)}</span>' for n in regimes)
    heads = "".join(f'<th scope="col">{_text(head)}</th>' for head in HEADS)
    rows = "".join(
        f'<tr class="{"best" if best else "constant" if c.constant else ""}">'
        + "".join(f"<td>{_text(cell)}</td>" for cell in cells(c, bool(best)))
        + "</tr>"
        for c, best in zip(trade.choices, front, strict=True)
    )
    setup = "; ".join(f"{name}: {value}" for name, value in trade.setup.items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Robustness against recourse</title><style>{STYLE}</style></head><body>"
        "<h1>Robustness against recourse</h1>"
        f'<p class="soft">{_text(setup)}</p>'
        f"<p>{_text(summary(trade))}</p>"
        f'<p class="key">{key}<span>filled: no other setting is at least as good in everything</span>'
        "<span>cross: decides the same for everybody</span><span>dashed: a setting without a radius</span></p>"
        f'<div class="panels">{panels}</div>'
        f"<table><tr>{heads}</tr>{rows}</table>"
        f'<p class="soft">{_text(NOTE)}</p></body></html>\n'
    )


NOTE = (
    "One split into training and held-out rows: differences of about the standard error of a share, the root of "
    "p(1 - p)/n, mean nothing. Costs are over the recourse that was found, so a setting under which few are "
    "refused, or few find any, may look cheap or dear by chance; the same people are those who have recourse "
    "under every setting left to choose from. A setting is left out of the choice where its model decides the "
    "same for everybody."
)


def summary(trade: "Tradeoff") -> str:
    """What a model owner should read first."""
    best = [c.name for c, f in zip(trade.choices, trade.front, strict=True) if f]
    constant = [c for c in trade.choices if c.constant]
    text = (
        f"{len(best)} of {len(trade.choices)} settings are not dominated: {'; '.join(best)}."
        if best
        else ("No setting is left to choose from: every model decides the same for everybody.")
    )
    if constant:
        text += f" {len(constant)} decide the same for everybody: {'; '.join(c.name for c in constant)}."
    if trade.collapse is not None:
        text += f" A linear model has no weights left from a radius of {trade.collapse:.3f} on."
    return text


def _panel(key: str, title: str, trade: "Tradeoff", colour: dict[str, str]) -> str:
    swept = [c for c in trade.choices if c.parameter == "radius" and getattr(c, key) is not None]
    level = [c for c in trade.choices if c.parameter != "radius" and getattr(c, key) is not None]
    values = [getattr(c, key) for c in (*swept, *level)]
    head = f'<text class="title" x="{LEFT}" y="16">{_text(title)}</text>'
    open_svg = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_text(title)}">'
    if not values:
        nothing = f'<text x="{LEFT}" y="{HEIGHT / 2}">nobody to measure it on</text>'
        return f"<figure>{open_svg}{head}{nothing}</svg></figure>"
    top = max(1.0, max(values)) if key != "cost" else max(values) * 1.08 or 1.0
    # A tenth of accuracy decides between models, and would be a hair's breadth of an axis from 0.
    low = max(0.0, math.floor(10 * min(values) - 1) / 10) if "accuracy" in key else 0.0
    right = max([c.value or 0.0 for c in trade.choices if c.parameter == "radius"], default=1.0) or 1.0

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / right

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (top - low))

    parts = [_axes(x, y, right, low, top)]
    if trade.collapse is not None and trade.collapse <= right:
        at = x(trade.collapse)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="{LINE}" '
            'stroke-dasharray="2 3"><title>a linear model has no weights left from here on</title></line>'
        )
    for c in level:
        at = y(getattr(c, key))
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="{colour[c.regime]}" '
            f'stroke-width="1.4" stroke-dasharray="6 4">{_tip(c, key)}</line>'
        )
        parts.append(_mark(WIDTH - RIGHT, at, c, key, colour[c.regime], trade))
    for regime in dict.fromkeys(c.regime for c in swept):
        own = sorted((c for c in swept if c.regime == regime), key=lambda c: c.value or 0.0)
        points = " ".join(f"{x(c.value or 0.0):.1f},{y(getattr(c, key)):.1f}" for c in own)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour[regime]}" stroke-width="1.6"/>')
        parts += [_mark(x(c.value or 0.0), y(getattr(c, key)), c, key, colour[regime], trade) for c in own]
    return f"<figure>{open_svg}{head}{''.join(parts)}</svg></figure>"


def _axes(x: Scale, y: Scale, right: float, low: float, top: float) -> str:
    parts = []
    for value in _ticks(low, top):
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{GRID}"/>'
            f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        )
    for value in _ticks(0.0, right):
        parts.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{value:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 4}" text-anchor="middle">radius of the attack in training</text>'
    )
    return "".join(parts)


def _ticks(low: float, top: float) -> Sequence[float]:
    """Round numbers from `low` to `top`, about five."""
    span = top - low
    size = 10 ** math.floor(math.log10(span / 4)) if span > 0 else 1.0
    step = next(s * size for s in (1, 2, 2.5, 5, 10) if span / (s * size) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [round(i * step, 10) for i in range(first, int(top / step + 1e-9) + 1)]


def _mark(at: float, height: float, c: "Choice", key: str, colour: str, trade: "Tradeoff") -> str:
    if c.constant:
        return (
            f'<path d="M{at - 4:.1f} {height - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="1.8" '
            f'fill="none">{_tip(c, key)}</path>'
        )
    best = bool(trade.front[trade.choices.index(c)])
    fill = colour if best else "white"
    return (
        f'<circle cx="{at:.1f}" cy="{height:.1f}" r="{5 if best else 3.5}" fill="{fill}" stroke="{colour}" '
        f'stroke-width="1.6">{_tip(c, key)}</circle>'
    )


def _tip(c: "Choice", key: str) -> str:
    return f"<title>{_text(c.name)}: {getattr(c, key):.3f}</title>"


def _text(text: str) -> str:
    return _html.escape(str(text))
