"""An action that is the same for everybody: a few changes, each by an amount, up to an end, or to a level."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdtrue._types import Cell, JsonObject, Label
from holdtrue.encoding import Encoder, join, number, to_grid, told_decimals
from holdtrue.methods import RecourseFrame
from holdtrue.schema import Feature, Schema, Table, plain

How = Literal["by", "up to", "at least", "at most", "to"]
Form = Literal["by", "to", "along"]
FORMS: tuple[Form, ...] = ("by", "to", "along")
COMMON: tuple[Form, ...] = ("by", "to")  # those that ask the same of everybody
SHARES = 20  # of a direction: everybody goes some twentieths of it


@dataclass(frozen=True)
class Change:
    """One column's part of an action.

    Attributes
    ----------
    feature : str
    how : {"by", "up to", "at least", "at most", "to"}
        By an amount (of an ordered feature: by so many levels); by up to an amount, everybody as far as they need;
        to an end, from which on nothing changes; or to a level.
    value : number or label
        The amount, the end (of an ordered feature: its position), or the level.
    """

    feature: str
    how: How
    value: Label

    @property
    def size(self) -> float:
        """The amount, or the end; of a change to a level there is none."""
        return float(self.value) + 0.0  # and no -0

    def words(self, schema: Schema) -> str:
        """What is asked, as a part of a sentence."""
        feature = schema[self.feature]
        if self.how == "to":
            return f"change {feature.title} to {number(plain(self.value), feature)}"
        size = self.size
        if self.how in ("by", "up to"):
            way, most = "raise" if size > 0 else "lower", "up to " if self.how == "up to" else ""
            steps = int(abs(size))
            text = (
                f"{steps} level{'' if steps == 1 else 's'}" if feature.has_levels else number(abs(size), feature)
            )
            return f"{way} {feature.title} by {most}{text}"
        if feature.has_levels:
            level = number(plain((feature.levels or ())[int(size)]), feature)
            return f"bring {feature.title} to {level} {'or higher' if self.how == 'at least' else 'or lower'}"
        way = "raise" if self.how == "at least" else "lower"
        return f"{way} {feature.title} to {number(size, feature)}, where it is not there"


Action = tuple[Change, ...]
"""Changes of different columns."""


def sentence(action: Action, schema: Schema) -> str:
    """An action in words."""
    text = join([change.words(schema) for change in action])
    if is_direction(action):
        text += ", as far as needed" if len(action) == 1 else ", in proportion, as far as needed"
    return text[:1].upper() + text[1:] + "."


def is_direction(action: Action) -> bool:
    """Whether everybody goes as far along it as they need."""
    return any(change.how == "up to" for change in action)


def ways(action: Action, schema: Schema) -> tuple[Action, ...]:
    """The common changes that an action stands for: itself; of a direction its twentieths, the smallest first."""
    if not is_direction(action):
        return (action,)
    out = [
        tuple(
            Change(c.feature, "by", _amount(schema[c.feature], c.size, share / SHARES))
            if c.how == "up to" else c
            for c in action
        )
        for share in range(1, SHARES + 1)
    ]  # fmt: skip
    return tuple(dict.fromkeys(out))


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
    size = change.size
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
    size = int(change.size)
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
    form : {"by", "to", "along"}
        By as much, up to where it leads, or as far in its direction as everybody needs.
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


def _change(feature: Feature, before: Cell, after: Cell, form: Form, scale: float) -> Change | None:
    if feature.kind in ("categorical", "binary"):
        return Change(feature.name, "to", after)
    if before is None or before != before:
        return None
    places = list(feature.levels or ())
    old, new = (places.index(v) if feature.has_levels else float(v) for v in (before, after))
    if form == "to":
        return _end(feature, old, new)
    size = _amount(feature, new - old, scale)
    return Change(feature.name, "by" if form == "by" else "up to", size) if size else None


def step_of(feature: Feature) -> float:
    """What an amount is a multiple of."""
    return 1.0 if feature.has_levels else feature.grid or 10.0 ** -told_decimals(feature)


def _amount(feature: Feature, size: float, scale: float) -> float:
    """More or less of an amount, in whole steps."""
    step = step_of(feature)
    return float(to_grid(np.array([_steps(size / step, scale) * step]), step)[0])


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
        size, step = change.size, step_of(feature)
        scale = encoder.scale[encoder.layout.slot(feature.name).start]
        for far in (0.02, 0.1):
            width = step if feature.has_levels else max(step, float(to_grid(np.array([far * scale]), step)[0]))
            for new in (size - width, size + width):
                new, amount = float(to_grid(np.array([new]), step)[0]), change.how in ("by", "up to")
                if (amount and new * size <= 0) or new == size:
                    continue
                if feature.has_levels and not amount and not 0 <= new < len(feature.levels or ()):
                    continue
                out.append((*action[:at], Change(change.feature, change.how, new), *action[at + 1 :]))
    return list(dict.fromkeys(out))


def joined(one: Action, other: Action, schema: Schema) -> Action | None:
    """An action that asks what either asks, of each column the more; None where they go apart.

    Changes are in the schema's order, so that one action is not taken for two.
    """
    out = {change.feature: change for change in one}
    for change in other:
        mine = out.get(change.feature)
        if mine is None:
            out[change.feature] = change
        elif mine.how != change.how:
            return None
        elif mine.how == "to":
            if mine.value != change.value:
                return None
        else:
            a, b = mine.size, change.size
            if mine.how in ("by", "up to") and a * b < 0:
                return None
            less = mine.how == "at most" or (mine.how != "at least" and a < 0)
            out[change.feature] = change if (b < a) == less and a != b else mine
    return tuple(out[name] for name in schema.names if name in out)
