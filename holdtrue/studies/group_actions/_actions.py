"""An action that is the same for everybody: a few changes, each by an amount, up to an end, or to a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from holdtrue._types import JsonObject, Label
from holdtrue.encoding import Encoder, join, number, to_grid, told_decimals
from holdtrue.methods import RecourseFrame
from holdtrue.schema import Feature, Schema, Table, plain

How = Literal["by", "at least", "at most", "to"]
Form = Literal["by", "to"]
FORMS: tuple[Form, ...] = ("by", "to")


@dataclass(frozen=True)
class Change:
    """One column's part of an action.

    Attributes
    ----------
    feature : str
    how : {"by", "at least", "at most", "to"}
        By an amount (of an ordered feature: by so many levels); to an end, from which on nothing changes; or to a
        level.
    value : number or label
        The amount, the end (of an ordered feature: its position), or the level.
    """

    feature: str
    how: How
    value: Label

    def words(self, schema: Schema) -> str:
        """What is asked, as a part of a sentence."""
        feature = schema[self.feature]
        if self.how == "to":
            return f"change {feature.title} to {number(plain(self.value), feature)}"
        size = float(self.value)  # type: ignore[arg-type]
        if feature.has_levels:
            if self.how == "by":
                steps = int(abs(size))
                way = "raise" if size > 0 else "lower"
                return f"{way} {feature.title} by {steps} level{'' if steps == 1 else 's'}"
            level = number(plain((feature.levels or ())[int(size)]), feature)
            return f"bring {feature.title} to {level} {'or higher' if self.how == 'at least' else 'or lower'}"
        if self.how == "by":
            return f"{'raise' if size > 0 else 'lower'} {feature.title} by {number(abs(size), feature)}"
        way = "raise" if self.how == "at least" else "lower"
        return f"{way} {feature.title} to {number(size, feature)}, where it is not there"


Action = tuple[Change, ...]
"""Changes of different columns."""


def sentence(action: Action, schema: Schema) -> str:
    """An action in words."""
    text = join([change.words(schema) for change in action])
    return text[:1].upper() + text[1:] + "."


def to_dict(action: Action) -> list[JsonObject]:
    """Plain types for JSON."""
    return [{"feature": c.feature, "how": c.how, "value": plain(c.value)} for c in action]


def taken(action: Action, people: Table, schema: Schema) -> tuple[Table, np.ndarray]:
    """People after the action, and who has the values that it speaks of.

    A number that has a step goes to the next one beyond the amount. Whether limits are kept is not looked at here.
    """
    columns, able = dict(people.columns), np.ones(people.n_rows, bool)
    for change in action:
        feature, values = schema[change.feature], people.columns[change.feature]
        gone = people.missing(change.feature)
        able &= ~gone
        if feature.has_levels:
            columns[change.feature] = _levels(change, feature, values, gone)
        else:
            columns[change.feature] = _numbers(change, feature, values.astype(np.float64))
    return Table(columns, people.n_rows, people.native), able


def _numbers(change: Change, feature: Feature, raw: np.ndarray) -> np.ndarray:
    size = float(change.value)  # type: ignore[arg-type]
    if change.how == "at least":
        return np.fmax(raw, np.where(np.isnan(raw), np.nan, size))
    if change.how == "at most":
        return np.fmin(raw, np.where(np.isnan(raw), np.nan, size))
    moved, step = raw + size, feature.grid
    if step is None:
        return np.round(moved, told_decimals(feature) + 2)
    steps = np.ceil(moved / step - 1e-6) if size > 0 else np.floor(moved / step + 1e-6)
    return np.where(np.isnan(raw), raw, to_grid(steps * step, step))


def _levels(change: Change, feature: Feature, values: np.ndarray, gone: np.ndarray) -> np.ndarray:
    levels = list(feature.levels or ())
    out = np.empty(len(values), object)
    out[:] = values.tolist()
    if change.how == "to":
        out[~gone] = [change.value] * int((~gone).sum())
        return out
    place = {level: i for i, level in enumerate(levels)}
    size = int(change.value)  # type: ignore[arg-type]
    for i in np.flatnonzero(~gone).tolist():
        at = place[out[i]]
        to = at + size if change.how == "by" else max(at, size) if change.how == "at least" else min(at, size)
        # Beyond the last level there is none to take: the person stays, and the action does not serve them.
        out[i] = levels[to] if 0 <= to < len(levels) else None
    return out


def from_plan(plan: RecourseFrame, i: int, form: Form, scale: float = 1.0) -> Action:
    """What one person's recourse changes, as an action for everybody.

    Parameters
    ----------
    plan : RecourseFrame
    i : int
    form : {"by", "to"}
        By as much, or up to where it leads.
    scale : float, default=1.0
        How much more (or less) of it; of amounts alone.
    """
    out = []
    acted = plan.acted()[i]
    for feature, changed in zip(plan.schema, acted, strict=True):
        if changed:
            before, after = (plain(t.columns[feature.name][i]) for t in (plan.factual, plan.recourse))
            change = _change(feature, before, after, form, scale)
            if change is not None:
                out.append(change)
    return tuple(out)


def _change(feature: Feature, before: Any, after: Any, form: Form, scale: float) -> Change | None:
    if feature.kind in ("categorical", "binary"):
        return Change(feature.name, "to", after)
    if feature.has_levels:
        places = list(feature.levels or ())
        if before is None or before != before:
            return None
        old, new = places.index(before), places.index(after)
        return Change(feature.name, "by", _steps(new - old, scale)) if form == "by" else _end(feature, old, new)
    if before is None or before != before:
        return None
    if form == "to":
        return _end(feature, float(before), float(after))
    step = feature.grid or 10.0 ** -told_decimals(feature)
    size = float(to_grid(np.array([_steps((after - before) / step, scale) * step]), step)[0])
    return Change(feature.name, "by", size) if size else None


def _steps(count: float, scale: float) -> int:
    """Whole steps, at least one, away from 0."""
    return int(np.sign(count) * max(1, np.ceil(abs(count) * scale - 1e-6)))


def _end(feature: Feature, old: float, new: float) -> Change:
    return Change(feature.name, "at least" if new > old else "at most", new)


def variants(action: Action, schema: Schema, encoder: Encoder) -> Sequence[Action]:
    """Actions next to one: without one of its changes, or with one that asks a little more or less."""
    out = []
    for at, change in enumerate(action):
        rest = (*action[:at], *action[at + 1 :])
        if rest:
            out.append(rest)
        if change.how == "to":
            continue
        feature = schema[change.feature]
        size, step = float(change.value), 1.0  # type: ignore[arg-type]
        if not feature.has_levels:
            step = feature.grid or 10.0 ** -told_decimals(feature)
        scale = encoder.scale[encoder.layout.slot(feature.name).start]
        for far in (0.02, 0.1):
            width = step if feature.has_levels else max(step, float(to_grid(np.array([far * scale]), step)[0]))
            for new in (size - width, size + width):
                new = float(to_grid(np.array([new]), step)[0])
                if (change.how == "by" and new * size <= 0) or new == size:
                    continue
                if feature.has_levels and change.how != "by" and not 0 <= new < len(feature.levels or ()):
                    continue
                out.append((*action[:at], Change(change.feature, change.how, new), *action[at + 1 :]))
    return list(dict.fromkeys(out))
