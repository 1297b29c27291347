"""A plan as a picture: of one person the path and the changes, of many cost against survival."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._figure import BLUE, INK, LINE, ORANGE, SOFT, dress, new_figure, save
from holdtrue._types import Cell
from holdtrue.encoding import about, number
from holdtrue.errors import DataError
from holdtrue.schema import Table, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from holdtrue.methods._frame import RecourseFrame

STEPS = 12  # of a number on its way
LONGEST = 34  # letters of a column's name


def draw(plan: "RecourseFrame", path: str | Path | None = None) -> "Figure":
    """One row with a recourse: its path and its changes. Several: each row's cost against its survival."""
    rows = np.flatnonzero(plan.found)
    if len(rows) == 0:
        raise DataError("plot: there is nothing to draw: no recourse was found.")
    return _one(plan, int(rows[0]), path) if len(rows) == 1 else _many(plan.take(rows), path)


# ---- one person ---------------------------------------------------------------------------------------------


def _one(plan: "RecourseFrame", i: int, path: str | Path | None) -> "Figure":
    names = [plan.schema.names[j] for j in np.flatnonzero(plan.changed()[i])]
    figure, canvas, axes = new_figure(9.6, 1.9 + 0.55 * max(len(names), 3))
    axes.remove()
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    _path(plan, i, names, left)
    _changes(plan, i, names, right)
    return save(figure, canvas, path)


def _path(plan: "RecourseFrame", i: int, names: list[str], axes: "Axes") -> None:
    """The chance of the wanted decision on the way, one change after the other: every point is asked."""
    from matplotlib.ticker import PercentFormatter

    predictor = plan.predictor
    table, places = _way(plan, i, names)
    wanted = predictor.classes.tolist().index(plan.target[i])
    chance = predictor.proba(table)[:, wanted]
    need = predictor.threshold if wanted == predictor.decision.favourable else None
    axes.plot(places, chance, color=BLUE, lw=2)
    ends = [int(np.flatnonzero(places == k)[-1]) for k in range(len(names) + 1)]
    axes.scatter(places[ends], chance[ends], s=30, color=BLUE, zorder=3)
    for end, back, side in ((ends[0], -14, "center"), (ends[-1], 8, "center")):
        axes.annotate(f"{chance[end]:.0%}", (places[end], chance[end]), xytext=(0, back), color=INK,
                      textcoords="offset points", ha=side, fontsize=9)  # fmt: skip
    if need is not None:
        axes.axhline(need, color=INK, lw=0.8, ls="--")
        axes.annotate(f"needed: {need:.0%}", (0.0, need), xytext=(2, 3), textcoords="offset points", fontsize=9,
                      color=INK)  # fmt: skip
    low, high = min(chance.min(), 1 if need is None else need), max(chance.max(), 0 if need is None else need)
    axes.set_ylim(max(0.0, low - 0.12), min(1.04, high + 0.1))
    axes.set_xlim(-0.15, len(names) + 0.15)
    axes.set_xticks(range(len(names) + 1), ["now", *map(str, range(1, len(names) + 1))])
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    wanted = "a yes" if plan.target[i] == 1 else plan.target[i]
    dress(axes, x="changes made, one after the other", y=f"chance of {wanted}", title="The path")


def _way(plan: "RecourseFrame", i: int, names: list[str]) -> tuple[Table, np.ndarray]:
    """Rows from the person to the recourse, and how many changes are made at each; a level jumps halfway."""
    own, to = ({n: t.columns[n][i] for n in plan.schema.names} for t in (plan.factual, plan.recourse))
    rows, places = [dict(own)], [0.0]
    for k, name in enumerate(names):
        feature, before, after = plan.schema[name], own[name], to[name]
        if feature.has_levels or before is None or before != before:
            new = rows[-1] | {name: after}
            rows, places = [*rows, rows[-1], new, new], [*places, k + 0.5, k + 0.5, k + 1.0]
            continue
        for step in range(1, STEPS + 1):
            value = after if step == STEPS else before + (after - before) * step / STEPS
            value = float(np.rint(value)) if feature.kind == "integer" else value
            rows.append(rows[-1] | {name: value})
            places.append(k + step / STEPS)
    columns = {}
    for feature in plan.schema:
        kind = plan.recourse.columns[feature.name].dtype if feature.has_levels else float
        values = [plain(row[feature.name]) for row in rows]
        columns[feature.name] = np.array(values, kind)
    return Table(columns, len(rows)), np.array(places)


def _changes(plan: "RecourseFrame", i: int, names: list[str], axes: "Axes") -> None:
    """Where each changed column goes, on its own scale."""
    for row, name in enumerate(names):
        feature = plan.schema[name]
        before, after = (plain(t.columns[name][i]) for t in (plan.factual, plan.recourse))
        a, b = (_place(value, plan, name) for value in (before, after))
        axes.plot([0, 1], [row, row], color=LINE, lw=1, zorder=1)
        axes.annotate("", (b, row), (a, row), arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 2.2})
        axes.scatter([a], [row], s=26, color=ORANGE, zorder=3)
        axes.annotate(f"{about(before, feature)} → {number(after, feature)}", (0.5, row), xytext=(0, 9),
                      textcoords="offset points", ha="center", fontsize=9, color=INK)  # fmt: skip
    titles = [plan.schema[name].title for name in names]
    axes.set_yticks(range(len(names)), [f"{k + 1}  {_short(title)}" for k, title in enumerate(titles)])
    axes.set_ylim(len(names) - 0.4, -0.7)
    axes.set_xlim(-0.05, 1.05)
    axes.set_xticks([0, 1], ["least", "most"])
    dress(axes, x="of what the column may be", y="", title="The changes")
    axes.grid(visible=False)


def _place(value: Cell, plan: "RecourseFrame", name: str) -> float:
    """Where on its column's own scale a value lies, from 0 to 1; what is missing at its beginning."""
    feature = plan.schema[name]
    if feature.has_levels:
        levels = list(feature.levels or ())
        return levels.index(value) / max(len(levels) - 1, 1) if value in levels else 0.0
    if value is None or value != value:
        return 0.0
    low, high = feature.bounds or (0.0, 1.0)
    return float(np.clip((float(value) - low) / max(high - low, 1e-12), 0, 1))


def _short(title: str) -> str:
    return title if len(title) <= LONGEST else title[: LONGEST - 1] + "…"


# ---- many people --------------------------------------------------------------------------------------------


def _many(plan: "RecourseFrame", path: str | Path | None) -> "Figure":
    figure, canvas, axes = new_figure(7.6, 4.6)
    from matplotlib.ticker import PercentFormatter

    held, n = plan.held, len(plan)
    whose = f"{n:,} recourses by {plan.method}"
    if held is None:
        axes.scatter(plan.cost, plan.after, s=16, lw=0, color=BLUE, alpha=0.65)
        y, title = "the model's own chance of the wanted decision", f"{whose}: how long they hold is not known"
    else:
        kinds = ((held.holds, BLUE, "holds", "hold"), (~held.holds, ORANGE, "does not hold", "do not hold"))
        for mask, colour, one, many in kinds:
            if mask.any():
                axes.scatter(plan.cost[mask], held.survival[mask], s=16, lw=0, color=colour, alpha=0.65,
                             label=f"{int(mask.sum()):,} {one if mask.sum() == 1 else many}")  # fmt: skip
        axes.axhline(held.level.hold, color=INK, lw=0.8, ls="--")
        wanted = held.level.hold
        axes.annotate(f"wanted: {100 * wanted:g}%", (1.0, wanted), xycoords=("axes fraction", "data"),
                      xytext=(-2, -3), textcoords="offset points", ha="right", va="top", fontsize=9,
                      color=INK)  # fmt: skip
        axes.legend(frameon=False, loc="lower right", labelcolor=SOFT)
        y, title = f"share of {held.n_models:,} retrained models that say yes", f"{whose}: cost against survival"
    axes.set_ylim(-0.03, 1.05)
    axes.set_xlim(left=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    dress(axes, x=f"cost ({plan.norm}): how far the person has to move", y=y, title=title)
    return save(figure, canvas, path)
