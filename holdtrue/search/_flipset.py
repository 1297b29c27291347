"""Cheapest action under linear scores: chosen from what one person may change. Runs on the host."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from holdtrue.search._integer_programme import by_programme
from holdtrue.search._knapsack import choose
from holdtrue.search._menu import Choice, Menu, Range, Support

INSIDE = 3e-6  # how far inside a linear constraint a proposal stays, so that float32 does not push it out
OUTSIDE = 2e-6  # how far outside a point is let in at first, so that float32 does not shut out one on the edge
SAME = 1e-4  # encoded units: two points this near to each other are one, where no grid tells them apart


def cheapest(
    menu: Menu,
    rows: np.ndarray,
    need: np.ndarray,
    *,
    inside: float = INSIDE,
    seconds: float = np.inf,
    barred: Collection[Support] = (),
) -> np.ndarray | None:
    """Cheapest point with ``rows @ x >= need``, or None where there is none.

    Parameters
    ----------
    rows, need : linear scores, one per class to beat.
    inside : how far inside linear constraints the point must stay; negative asks a weaker question, whose "no"
        is a proof.
    seconds : time limit of the integer programme.
    barred : combinations of features that the point must not change, each as a whole.

    Raises
    ------
    TimeoutError
        Where the integer programme ended without an answer either way.
    """
    if menu.largest:
        return _least_largest(menu, rows, need, inside, seconds, barred)
    if len(need) == 1 and menu.separable and not barred:
        try:
            return _by_knapsack(menu, rows[0].astype(np.float64), float(need[0]))
        except OverflowError:
            pass
    return by_programme(menu, rows, need, inside, seconds, barred)


def proposal(
    menu: Menu,
    rows: np.ndarray,
    need: np.ndarray,
    *,
    seconds: float = np.inf,
    barred: Collection[Support] = (),
) -> tuple[np.ndarray | None, bool]:
    """`cheapest`, with points on the edge of a linear constraint; and whether nothing cheaper can exist.

    Single precision puts a point that lies on an edge on either side of it. So it is asked a little beyond first,
    which is a proof where the answer lies on the edge or inside; where it does not, a little inside.
    """
    found = cheapest(menu, rows, need, inside=-OUTSIDE, seconds=seconds, barred=barred)
    if found is None or _inside(menu, found):
        return found, found is not None
    safe = cheapest(menu, rows, need, inside=INSIDE, seconds=seconds, barred=barred)
    return safe, safe is not None and bool(np.abs(safe - found).max() <= SAME)


def _inside(menu: Menu, x: np.ndarray) -> bool:
    """Whether a point keeps the linear constraints, as far as single precision can tell."""
    a, b = menu.a.astype(np.float64), menu.b.astype(np.float64)
    x = x.astype(np.float64)
    return bool((a @ x <= b + 1e-7 + 3e-7 * (np.abs(a) @ np.abs(x) + np.abs(b))).all())


def options(
    menu: Menu, rows: np.ndarray, need: np.ndarray, n: int, *, seconds: float = np.inf
) -> Iterator[np.ndarray]:
    """Up to `n` cheapest points, by rising cost, each changing another combination of features."""
    barred: list[Support] = []
    while len(barred) < n:
        found, _ = proposal(menu, rows, need, seconds=seconds, barred=barred)
        if found is None:
            return
        barred.append(support(menu, found))
        yield found


def support(menu: Menu, x: np.ndarray) -> Support:
    """Features that a point changes."""
    moved = np.abs(x - menu.x) > 1e-6
    widths = {f.start: f.values.shape[1] if isinstance(f, Choice) else 1 for f in menu.features}
    return frozenset(start for start, width in widths.items() if moved[start : start + width].any())


def _least_largest(
    menu: Menu, rows: np.ndarray, need: np.ndarray, inside: float, seconds: float, barred: Collection[Support]
) -> np.ndarray | None:
    """Least possible cost of the dearest feature, by halving among the costs there are; then the least sum."""

    def within(level: float) -> np.ndarray | None:
        kept = []
        for f in menu.features:
            if not isinstance(f, Choice):
                raise TypeError("The cost of a range has no levels.")
            few = np.flatnonzero(f.cost <= level + 1e-12)
            kept.append(Choice(f.start, f.values[few], f.cost[few]))
        small = replace(menu, features=kept, largest=False)
        return cheapest(small, rows, need, inside=inside, seconds=seconds, barred=barred)

    levels = np.unique(np.concatenate([f.cost for f in menu.features if isinstance(f, Choice)]))
    best, low, high = within(levels[-1]), -1, len(levels) - 1
    while best is not None and high - low > 1:
        middle = (low + high) // 2
        found = within(levels[middle])
        best, low, high = (best, middle, high) if found is None else (found, low, middle)
    return best


def highest(menu: Menu, rows: np.ndarray, *, seconds: float = np.inf) -> np.ndarray | None:
    """Point with the highest sum of scores, whatever it costs; None where limits across features leave none."""
    if menu.separable:
        x, w = menu.x.copy(), rows.sum(axis=0)
        for f in menu.features:
            if isinstance(f, Choice):
                width = f.values.shape[1]
                x[f.start : f.start + width] = f.values[np.argmax(f.values @ w[f.start : f.start + width])]
            else:
                ends = np.array([f.own, f.lower, f.upper])
                x[f.start] = ends[np.argmax(ends * w[f.start])]
        return x
    return by_programme(menu, rows, None, INSIDE, seconds, ())


# ---- one score, no limits across features --------------------------------------------------------------


def _by_knapsack(menu: Menu, w: np.ndarray, need: float) -> np.ndarray | None:
    need = need - float(w @ menu.x)
    options, slopes, room = [], [], []
    discrete: list[tuple[Any, np.ndarray]] = []
    smooth: list[tuple[Range, float]] = []
    for f in menu.features:
        if isinstance(f, Choice):
            part = slice(f.start, f.start + f.values.shape[1])
            options.append((f.cost, (f.values.astype(np.float64) - menu.x[part]) @ w[part]))
            discrete.append((f, f.values))
            continue
        slope = w[f.start]
        if slope == 0:
            continue
        end = f.upper if slope > 0 else f.lower
        if f.step == 0:
            slopes.append(f.weight / abs(slope))
            room.append(abs(slope) * abs(end - f.own))
            smooth.append((f, float(np.sign(slope))))
            continue
        # Steps towards the better end, as far as anyone could need to go.
        far = f.own + need / slope
        first, last = (f.own, min(end, far)) if slope > 0 else (max(end, far), f.own)
        low = np.clip(np.floor((first - f.lower) / f.step) - 1, 0, f.count)
        high = np.clip(np.ceil((last - f.lower) / f.step) + 1, 0, f.count)
        grid = np.arange(low, high + 1, dtype=np.float32) * np.float32(f.step) + np.float32(f.lower)
        values = np.r_[np.float32(f.own), np.minimum(grid, np.float32(f.upper))][:, None]
        options.append((np.abs(values[:, 0] - f.own) * f.weight, (values[:, 0] - f.own) * slope))
        discrete.append((f, values))
    chosen = choose(options, np.array(slopes), np.array(room), need)
    if chosen is None:
        return None
    x = menu.x.copy()
    for (f, values), k in zip(discrete, chosen[0], strict=True):
        x[f.start : f.start + values.shape[1]] = values[k]
    for (f, sign), gain in zip(smooth, chosen[1], strict=True):
        if gain > 0:
            x[f.start] = np.clip(f.own + sign * gain / abs(w[f.start]), f.lower, f.upper)
    return x
