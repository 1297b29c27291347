"""The reasons of many people: what each feature contributes to the gap, and which reasons are named."""

import functools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from holdtrue._types import Cell, JsonObject, NativeFrame
from holdtrue.attribution._codes import CodeTable
from holdtrue.attribution._players import Players
from holdtrue.attribution._reference import Reference
from holdtrue.attribution._sums import added
from holdtrue.encoding import about
from holdtrue.metrics import clopper_pearson
from holdtrue.schema import Schema, Table, plain

STANDS = 0.8
"""Share of the retrained models that must give a reason, too, for it to stand."""
SMALLEST = 1e-9  # a contribution that is no more than rounding


class Unit(NamedTuple):
    """What may be named: a code or, without a table, a feature or group."""

    code: str | None
    text: str
    players: tuple[int, ...]


class Reason(NamedTuple):
    """One reason of one person.

    Attributes
    ----------
    code, text : of the code table; without one the code is None and the text names feature and value.
    features : the columns behind it.
    contribution : to the gap, in the score's unit.
    error : standard error of the contribution where it was sampled.
    agreement, lower, upper : share of the retrained models that give this reason too, with its interval.
    stands : whether enough of them do; None where there are none to ask.
    in_recourse : whether the offered recourse changes it; None without a recourse.
    """

    code: str | None
    text: str
    features: tuple[str, ...]
    contribution: float
    error: float | None
    agreement: float | None
    lower: float | None
    upper: float | None
    stands: bool | None
    in_recourse: bool | None


@dataclass(frozen=True)
class Panel:
    """What retrained models say of the same people.

    Attributes
    ----------
    votes : int array (people, units), how many of the models name each reason.
    overlap : array (models, people), share of the person's reasons that a model names too; NaN without any.
    first : bool array (models, people), whether a model's first reason is the same.
    n_models, vary : how many they are, and how they were trained again.
    digests : what tells each from others, where it can be read.
    confidence : of intervals.
    """

    votes: np.ndarray
    overlap: np.ndarray
    first: np.ndarray
    n_models: int
    vary: str
    digests: tuple[str | None, ...]
    confidence: float = 0.95


@dataclass(frozen=True)
class Reasons:
    """Why people were refused: what each feature contributes to the gap between their score and the cut-off.

    Attributes
    ----------
    table : Table
        The people.
    players : Players
        What the gap is shared out between.
    contributions : array (people, players)
        In the score's `unit`; above 0 it widens the gap. They add up to `gap`.
    gap : array
        The reference's score less the person's. The reference's score is the cut-off where its rows lie on both
        sides of it.
    errors : array (people, players), optional
        Standard errors, where contributions were sampled.
    refused : bool array
        Who does not have the wanted decision. Others have no reasons.
    references : tuple of Reference
        Whom people were compared with; `which` says for each person which of them.
    n : int
        Reasons per person, at most.
    codes : CodeTable, optional
    panel : Panel, optional
        What retrained models say.
    acted : bool array (people, players), optional
        What the offered recourse asks of each person, and whether they have one (`offered`).
    """

    table: Table
    players: Players
    contributions: np.ndarray
    gap: np.ndarray
    errors: np.ndarray | None
    refused: np.ndarray
    references: tuple[Reference, ...]
    which: np.ndarray
    n: int
    unit: str
    how: str
    codes: CodeTable | None = None
    panel: Panel | None = None
    acted: np.ndarray | None = None
    offered: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.gap)

    def __repr__(self) -> str:
        return (
            f"<Reasons of {int(self.refused.sum())} refused of {len(self)} people: at most {self.n} each, "
            f"{self.how}, against {self.references[0].source if self.references else 'nobody'}. {self.holding()}>"
        )

    @property
    def schema(self) -> Schema:
        """What the columns are, and how they are told."""
        return self.players.schema

    @functools.cached_property
    def units(self) -> tuple[Unit, ...]:
        """What may be named."""
        return units_of(self.players, self.codes)

    @functools.cached_property
    def unit_contributions(self) -> np.ndarray:
        """Contributions of what may be named, of shape (people, units)."""
        return added(self.contributions, [unit.players for unit in self.units])

    @functools.cached_property
    def ranked(self) -> np.ndarray:
        """Units that are named for each person, the largest first; -1 where there are no more."""
        return top(self.unit_contributions, self.n, self.refused)

    @property
    def protected(self) -> np.ndarray:
        """What protected columns contribute together, for the owner's eyes."""
        return self.contributions[:, self.players.protected].sum(axis=1)

    def take(self, rows: np.ndarray | slice) -> "Reasons":
        """Return some people (indices or a mask)."""
        rows = np.arange(len(self))[rows]
        parts: JsonObject = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ("contributions", "gap", "errors", "refused", "which", "acted", "offered")
        }
        panel = self.panel
        if panel is not None:
            few = {"votes": panel.votes[rows], "overlap": panel.overlap[:, rows], "first": panel.first[:, rows]}
            panel = replace(panel, **few)
        return replace(self, table=self.table.take(rows), panel=panel, **parts)

    def of(self, i: int) -> list[Reason]:
        """The named reasons of one person, the weightiest first."""
        out = []
        for at in self.ranked[i]:
            if at < 0:
                break
            unit, size = self.units[at], float(self.unit_contributions[i, at])
            whose = list(unit.players)
            error = None if self.errors is None else float(np.sqrt((self.errors[i, whose] ** 2).sum()))
            names = tuple(f for p in whose for f in self.players.members[self.players.names[p]])
            changed = None
            if self.acted is not None and self.offered is not None and self.offered[i]:
                changed = bool(self.acted[i, whose].any())
            text = unit.text if unit.code is not None else self._told(i, unit)
            out.append(Reason(unit.code, text, names, size, error, *self._standing(i, at), changed))
        return out

    def _standing(self, i: int, at: int) -> tuple[float | None, float | None, float | None, bool | None]:
        if self.panel is None:
            return None, None, None, None
        k, n = int(self.panel.votes[i, at]), self.panel.n_models
        lower, upper = clopper_pearson(k, n, self.panel.confidence, side="both")
        return k / n, float(lower), float(upper), k >= STANDS * n - 1e-9

    def _told(self, i: int, unit: Unit) -> str:
        """A feature, or the first of a group's, with the person's value and what is usual at the cut-off."""
        (player,) = unit.players
        names = self.players.members[self.players.names[player]]
        said = []
        for name in names[:3]:
            feature = self.schema[name]
            value = about(plain(self.table.columns[name][i]), feature)
            said.append(value if len(names) == 1 else f"{feature.title} {value}")
        return f"{unit.text} ({', '.join(said)}{', ...' if len(names) > 3 else ''})"

    def sentences(self) -> list[list[str]]:
        """Of every person the named reasons in words."""
        return [[reason.text for reason in self.of(i)] for i in range(len(self))]

    def beside_recourse(self, i: int) -> list[str]:
        """How one person's reasons and the recourse offered to them go together, a sentence for each."""
        fixed = {f.name for f in self.schema if f.direction == "fixed"}
        out = []
        for reason in self.of(i):
            if reason.in_recourse is None:
                continue
            if reason.in_recourse:
                out.append(f"{reason.text}: the offer changes this.")
            elif set(reason.features) <= fixed:
                out.append(f"{reason.text}: nobody can be asked to change this, so the offer makes up for it.")
            else:
                out.append(f"{reason.text}: the offer leaves this as it is, since another change takes less.")
        return out

    # ---- together -------------------------------------------------------------------------------------

    @property
    def agreement(self) -> tuple[float, float, float]:
        """Mean share of a person's reasons that a retrained model gives too, with its interval over models."""
        return _over_models(None if self.panel is None else self.panel.overlap, self.refused, self._confidence)

    @property
    def first_agreement(self) -> tuple[float, float, float]:
        """How often a retrained model's first reason is the same, with its interval over models."""
        named = self.refused & (self.ranked[:, 0] >= 0)
        first = None if self.panel is None else self.panel.first.astype(float)
        return _over_models(first, named, self._confidence)

    @property
    def _confidence(self) -> float:
        return 0.95 if self.panel is None else self.panel.confidence

    def holding(self) -> str:
        """One sentence on whether retrained models give the same reasons."""
        if self.panel is None:
            return "Nothing is known about whether the model trained again would give the same reasons."
        mean, lower, upper = self.agreement
        return (
            f"Of {self.panel.n_models} retrained models ({self.panel.vary}) one gives {mean:.0%} of a person's "
            f"reasons, too ({lower:.0%} to {upper:.0%})."
        )

    def in_recourse(self) -> tuple[int, int]:
        """How many named reasons of people with a recourse it changes, and how many there are."""
        changed = [r.in_recourse for i in range(len(self)) for r in self.of(i) if r.in_recourse is not None]
        return sum(changed), len(changed)

    def to_dict(self, i: int) -> JsonObject:
        """What a record keeps of one person: codes, contributions, reference and panel. For the owner's eyes."""
        panel = self.panel
        names = self.players.names
        return {
            "gap": float(self.gap[i]),
            "unit": self.unit,
            "how": self.how,
            "named": [{**reason._asdict(), "features": list(reason.features)} for reason in self.of(i)],
            "contributions": {name: float(c) for name, c in zip(names, self.contributions[i], strict=True)},
            "protected": [name for name, hidden in zip(names, self.players.protected, strict=True) if hidden],
            "reference": self.references[self.which[i]].to_dict(),
            "panel": None
            if panel is None
            else {"models": panel.n_models, "vary": panel.vary, "digests": list(panel.digests)},
            "codes": None
            if self.codes is None
            else {"name": self.codes.name, "sha256": self.codes.digest(), "sample": self.codes.sample},
        }

    def to_frame(self) -> NativeFrame:
        """A dataframe of the input's kind: a person's gap, then each reason: text, code, contribution, standing.

        How many retrained models give it too, and whether these are enough for it to stand.
        """
        return self.table.like_native(self.columns())

    def columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_frame`."""
        columns: dict[str, np.ndarray] = {"holdtrue_gap": self.gap}
        rows = [self.of(i) for i in range(len(self))]
        for k in range(self.n):
            mine = [row[k] if k < len(row) else None for row in rows]
            prefix = f"holdtrue_reason_{k + 1}"
            columns[prefix] = _column([None if r is None else r.text for r in mine])
            if self.codes is not None:
                columns[f"{prefix}_code"] = _column([None if r is None else r.code for r in mine])
            columns[f"{prefix}_contribution"] = _numbers([None if r is None else r.contribution for r in mine])
            if self.panel is not None:
                columns[f"{prefix}_agreement"] = _numbers([None if r is None else r.agreement for r in mine])
                columns[f"{prefix}_stands"] = _column([None if r is None else r.stands for r in mine])
        columns["holdtrue_protected"] = self.protected
        return columns


def units_of(players: Players, codes: CodeTable | None) -> tuple[Unit, ...]:
    """What may be named: by code where there is a table, else every feature and group that is not protected."""
    names, titles, hidden = players.names, players.titles, players.protected
    if codes is None:
        return tuple(Unit(None, titles[i], (i,)) for i in range(len(names)) if not hidden[i])
    open_ = [name for name, is_hidden in zip(names, hidden, strict=True) if not is_hidden]
    codes.check(open_, open_)
    out = []
    for entry in codes.codes:
        if entry.features:
            out.append(Unit(entry.code, entry.text, tuple(names.index(name) for name in entry.features)))
    listed = {player for unit in out for player in unit.players}
    rest = tuple(i for i in range(len(names)) if i not in listed and not hidden[i])
    if rest and codes.otherwise is not None:
        out.append(Unit(codes.otherwise.code, codes.otherwise.text, rest))
    return tuple(out)


def top(contributions: np.ndarray, n: int, refused: np.ndarray) -> np.ndarray:
    """The up to `n` units that widen each person's gap most, in order; -1 where there are no more."""
    order = np.argsort(-contributions, axis=1, kind="stable")[:, :n]
    kept = (np.take_along_axis(contributions, order, axis=1) > SMALLEST) & refused[:, None]
    out = np.full((len(contributions), n), -1)
    out[:, : order.shape[1]] = np.where(kept, order, -1)
    return out


def _over_models(values: np.ndarray | None, people: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """Mean over people and models, and its interval over models, which all meet the same people."""
    if values is None or not people.any():
        return float("nan"), float("nan"), float("nan")
    from scipy.stats import t

    each = np.nanmean(values[:, people], axis=1)
    mean, n = float(each.mean()), len(each)
    half = float(t.ppf((1 + confidence) / 2, n - 1) * each.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    return mean, max(mean - half, 0.0), min(mean + half, 1.0)


def _column(values: list[Cell]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _numbers(values: list[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], float)
