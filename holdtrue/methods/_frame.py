"""Factual and recourse side by side, in the user's own columns."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from holdtrue._types import Cell, Keywords, NativeFrame
from holdtrue.attribution import GIVEN, CodeTable, Models, Reasoner, Reasons
from holdtrue.batch import Predictor
from holdtrue.causal import overwrite
from holdtrue.encoding import Norm, about, differs, feasible_sets, join, number, shortened
from holdtrue.methods._effort import asked, efforts
from holdtrue.methods._plot import draw
from holdtrue.methods._survival import COLUMNS, UNKNOWN, Held
from holdtrue.schema import Feature, Restrictions, Schema, Table, TableLike, plain
from holdtrue.search import Status, is_found

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PER_ROW = ("status", "cost", "valid", "before", "after", "target", "n_steps", "person")
SHARED = ("predictor", "method", "norm", "consulted", "settings", "seed", "guides")


class Sentences(list[str]):
    """A list of sentences, one per person, that prints one per line."""

    def __str__(self) -> str:
        return "\n".join(self)


@dataclass(frozen=True)
class RecourseFrame:
    """What each person could do, and what came of asking.

    Attributes
    ----------
    factual, recourse : Table
        The person as they are, and as proposed. Without a recourse the two are equal.
    status : array of int
        A `Status` per person.
    cost : array
        In the method's norm, scaled units; NaN without a recourse.
    valid : array of bool
        The model, asked again about the decoded row, takes the wanted decision.
    before, after : array
        Probability of the wanted class now and with the recourse.
    target : array
        The wanted class (label) per person.
    predictor : Predictor
        The classifier that was asked.
    method : str
    norm : str
    n_steps : array of int
        Search steps used.
    person : array of int
        Position, in the table that was asked about, of the person whose row this is: 0, 1, 2, ... unless people
        have several options.
    seconds : float
        Time the whole call took (of a part of it, its share).
    restrictions : Restrictions
        What single people, by row position, were not asked to change.
    consequences : bool array (people, features), optional
        What changes as a consequence of the person's action, by a causal model, without being acted on. The cost
        counts the action alone.
    consulted : tuple of str
        Digests of the further models that the search was guided or stopped by; see `AbstractMethod.consulted`.
    settings : dict
        The method's parameters, as it was asked with them.
    seed : int, optional
        What the search's randomness came from: the method's `random_state`, or a number that was drawn.
    held : Held, optional
        How sure each recourse is to survive a retraining. Without it nothing is known about how long any of them
        holds.
    bound : array, optional
        What a recourse of each person costs at least, as far as the search has proved it; infinite where it has
        proved that there is none. Without it nothing is proved.
    guides : Models, optional
        The retrained models that the search asked, where there were some; `reasons` asks them too.
    """

    factual: Table
    recourse: Table
    status: np.ndarray
    cost: np.ndarray
    valid: np.ndarray
    before: np.ndarray
    after: np.ndarray
    target: np.ndarray
    predictor: Predictor
    method: str
    norm: Norm
    n_steps: np.ndarray
    seconds: float
    person: np.ndarray
    restrictions: Restrictions = field(default_factory=Restrictions)
    consequences: np.ndarray | None = None
    consulted: tuple[str, ...] = ()
    settings: Keywords = field(default_factory=dict)
    seed: int | None = None
    held: Held | None = None
    bound: np.ndarray | None = None
    guides: Models | None = None

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {count}" for name, count in self.counts().items())
        n_people = len(np.unique(self.person))
        options = "" if n_people == len(self) else f", {len(self)} options,"
        people = "1 person" if n_people == 1 else f"{n_people} people"
        return f"<RecourseFrame of {people}{options} by {self.method}: {counts}. {self.holding()}>"

    def holding(self) -> str:
        """One sentence on how long the plan holds, also where nothing is known of it."""
        if self.held is None:
            return UNKNOWN
        return self.held.summary(self.found, self.cost)

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.predictor.encoder.schema

    @property
    def found(self) -> np.ndarray:
        """Which people have a recourse that was checked."""
        return is_found(self.status)

    @property
    def proved_none(self) -> np.ndarray:
        """Which people are proved to have no recourse: by an infinite `bound`, or since they may change nothing.

        INFEASIBLE alone may be said of the values that a search has listed, which proves nothing of others.
        """
        out = np.zeros(len(self), bool) if self.bound is None else ~self.found & np.isposinf(self.bound)
        open_ = np.flatnonzero((self.status == int(Status.INFEASIBLE)) & ~out)
        if len(open_):
            people, own = self.factual.take(open_), self.restrictions.take(open_)
            out[open_] = feasible_sets(self.predictor.encoder, people, own).stuck()
        return out

    @property
    def gap(self) -> np.ndarray:
        """By which share each recourse may be dearer than the cheapest; NaN where that is not known."""
        if self.bound is None:
            return np.full(len(self), np.nan)
        known = self.found & np.isfinite(self.bound)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = 1.0 - self.bound / self.cost
        return np.where(known, np.where(self.cost > 0, np.maximum(share, 0.0), 0.0), np.nan)

    @property
    def single(self) -> bool:
        """Whether nobody has more than one row."""
        return len(np.unique(self.person)) == len(self.person)

    @property
    def option(self) -> np.ndarray:
        """Which of a person's options each row is, from 0."""
        order = np.argsort(self.person, kind="stable")
        ordered = self.person[order]
        first = np.searchsorted(ordered, ordered)
        out = np.empty(len(self), int)
        out[order] = np.arange(len(self)) - first
        return out

    def counts(self) -> dict[str, int]:
        """How many people ended in each status; with several options per person, how many options."""
        values, counts = np.unique(self.status, return_counts=True)
        return {Status(v).name: int(c) for v, c in zip(values, counts, strict=True)}

    def take(self, rows: np.ndarray | slice) -> "RecourseFrame":
        """Return some people (indices or a mask)."""
        rows = np.arange(len(self))[rows]
        parts = {name: getattr(self, name)[rows] for name in PER_ROW}
        shared = {name: getattr(self, name) for name in SHARED}
        restrictions = self.restrictions.take(rows)
        seconds = self.seconds * len(rows) / max(len(self), 1)
        tables = (self.factual.take(rows), self.recourse.take(rows))
        followed = None if self.consequences is None else self.consequences[rows]
        held = None if self.held is None else self.held.take(rows)
        bound = None if self.bound is None else self.bound[rows]
        return RecourseFrame(
            *tables,
            **parts,
            **shared,
            seconds=seconds,
            restrictions=restrictions,
            consequences=followed,
            held=held,
            bound=bound,
        )

    def changed(self) -> np.ndarray:
        """Boolean array (people, features): which features a recourse changes, by action or as a consequence."""
        columns = [differs(self.factual, self.recourse, f.name) for f in self.schema]
        return np.stack(columns, axis=1) & self.found[:, None]

    def acted(self) -> np.ndarray:
        """Boolean array (people, features): which features the person is asked to change themselves."""
        return self.changed() if self.consequences is None else self.changed() & ~self.consequences

    @property
    def action(self) -> Table:
        """The recourse without its consequences: what the person does, and what the cost counts."""
        if self.consequences is None:
            return self.recourse
        columns = dict(self.recourse.columns)
        for name, mask in zip(self.schema.names, self.consequences.T, strict=True):
            if mask.any():
                columns[name] = overwrite(columns[name], mask, self.factual.columns[name][mask])
        return Table(columns, len(self), self.factual.native)

    def changes(self) -> Sentences:
        """One sentence per person: what to change, or why there is nothing to say."""
        changed = self.changed()
        return Sentences(self._sentence(i, changed[i]) for i in range(len(self)))

    def effort(self) -> Sentences:
        """One phrase per row: how many changes of which size, such as "two small changes and one large (250 $)".

        A change is small up to half the spread of its column among the people that the model learned from (the
        median distance from their median), large beyond two of them; another category counts one. The column's
        `cost_weight` multiplies that. What has a unit of time or money is added up.
        """
        return Sentences(efforts(self))

    def asked(self) -> np.ndarray:
        """One number per row: the sizes that `effort` puts into words, added up; NaN without a recourse."""
        return asked(self)

    def reasons(
        self,
        n: int = 4,
        *,
        reference: TableLike | None = None,
        n_reference: int = 100,
        schema: Schema | None = None,
        codes: CodeTable | None = None,
        guides: Models | None = None,
        random_state: int = 0,
    ) -> Reasons:
        """Why each person was refused, and whether the recourse changes that; see `holdtrue.reasons`.

        Parameters
        ----------
        n : int, default=4
            Reasons per person, at most.
        reference : dataframe, optional
            Rows that the model knows, whose nearest to the cut-off people are compared with. When omitted the
            people of the plan as they are and as proposed.
        n_reference, schema, codes, random_state
            See `holdtrue.reasons`.
        guides : AbstractRetrained, optional
            The plan's own when omitted.
        """
        source = GIVEN
        if reference is None:
            reference, source = self._both(), "the people of the plan, as they are and as proposed"
        reasoner = Reasoner(
            self.predictor, reference, schema=schema, n=n, n_reference=n_reference, codes=codes,
            guides=self.guides if guides is None else guides, random_state=random_state, source=source,
        )  # fmt: skip
        return self.with_recourse(reasoner.of(self.factual, self.target))

    def with_recourse(self, reasons: Reasons) -> Reasons:
        """Reasons of the plan's people, with what the recourse asks of each."""
        acted = np.zeros((len(self), len(reasons.players.names)), bool)
        for name, column in zip(self.schema.names, self.changed().T, strict=True):
            acted[:, reasons.players.of_feature[name]] |= column
        return replace(reasons, acted=acted, offered=self.found)

    def _both(self) -> Table:
        """The people as they are, and after them those who have a recourse as proposed."""
        found = self.recourse.take(self.found)
        columns = {}
        for name in self.schema.names:
            parts = [self.factual.columns[name], found.columns[name]]
            mixed = any(part.dtype == object for part in parts)
            columns[name] = np.concatenate([part.astype(object) if mixed else part for part in parts])
        return Table(columns, len(self) + found.n_rows)

    def to_frame(self) -> NativeFrame:
        """Return a dataframe of the input's kind: the recourse's columns, then how each was found."""
        whose = {} if self.single else {"holdtrue_person": self.person, "holdtrue_option": self.option}
        columns = (
            dict(self.recourse.columns)
            | whose
            | {
                "holdtrue_status": np.array([Status(s).name for s in self.status], object),
                "holdtrue_cost": self.cost,
                "holdtrue_valid": self.valid,
                "holdtrue_probability_before": self.before,
                "holdtrue_probability_after": self.after,
                "holdtrue_changes": np.array(list(self.changes()), object),
            }
            | self._held_columns()
        )
        return self.factual.like_native(columns)

    def _held_columns(self) -> dict[str, np.ndarray]:
        if self.held is None:
            return {}
        return {name: getattr(self.held, part) for name, part in COLUMNS.items()}

    def _sentence(self, i: int, changed: np.ndarray) -> str:
        status = Status(self.status[i])
        if not is_found(status):
            return status.message
        parts, follow = [], []
        for j, (feature, is_changed) in enumerate(zip(self.schema, changed, strict=True)):
            if is_changed:
                before = plain(self.factual.columns[feature.name][i])
                after = plain(self.recourse.columns[feature.name][i])
                if self.consequences is not None and self.consequences[i, j]:
                    old, new = about(before, feature), about(after, feature)
                    roughly = "" if new == number(after, feature) else "about "
                    follow.append(f"{feature.title} goes from {old} to {roughly}{new}")
                else:
                    parts.append(phrase(feature, before, after))
        text = join(parts)
        text = text[0].upper() + text[1:] + "." if text else "Nothing needs to change."
        return f"{text} As a consequence, {join(follow)}." if follow else text

    def plot(self, path: str | Path | None = None) -> "Figure":
        """Draw the plan; needs matplotlib.

        With one recourse: how the chance of the wanted decision rises with one change after the other, and where
        each changed column goes. With several: what each costs against how many retrained models accept it.

        Parameters
        ----------
        path : str or Path, optional
            Where to write the picture; its ending says the format.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return draw(self, path)

    def _repr_html_(self) -> str:
        """What a notebook shows: for the first rows who it is, how it ended, what changes and how sure it is."""
        changed = self.changed()
        shown = range(min(len(self), 20))
        names = [f.name for f, column in zip(self.schema, changed[list(shown)].T, strict=True) if column.any()]
        held = [] if self.held is None else ["accepted by"]
        titles = ["", "status", "chance now", "then", *held, "asks for", *(self.schema[n].title for n in names)]
        head = "".join(f"<th>{html.escape(title)}</th>" for title in titles)
        index, efforts = self._index(), self.effort()
        rows = []
        for i in shown:
            own = [index[i], Status(self.status[i]).name, _percent(self.before[i])]
            own += [_percent(self.after[i]) if self.found[i] else ""]
            own += [] if self.held is None else [_percent(self.held.survival[i])]
            cells = [f"<td>{html.escape(text)}</td>" for text in own]
            # Words among narrow columns of numbers: left to itself a browser sets them one below the other.
            cells.append(f'<td style="min-width: 9em">{html.escape(efforts[i])}</td>')
            for name in names:
                before, after = (plain(t.columns[name][i]) for t in (self.factual, self.recourse))
                text = html.escape(about(before, self.schema[name]))
                if changed[i, self.schema.names.index(name)]:
                    text = f"{text} → <b>{html.escape(number(after, self.schema[name]))}</b>"
                cells.append(f"<td>{text}</td>")
            rows.append(f"<tr>{''.join(cells)}</tr>")
        more = f"<p>and {len(self) - len(shown)} more</p>" if len(self) > len(shown) else ""
        table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
        return f"<p>{html.escape(repr(self).strip('<>'))}</p>{table}{more}"

    def _index(self) -> list[str]:
        """What the table that was asked about calls each row, and which option it is where there are several."""
        labels = getattr(self.factual.native, "index", None)
        own = self.person if labels is None or len(labels) != len(self) else labels
        names = [str(label) for label in own]
        return names if self.single else [f"{n}, option {k + 1}" for n, k in zip(names, self.option, strict=True)]


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.0%}"


def concat(frames: Sequence[RecourseFrame], whole: Table) -> RecourseFrame:
    """Join parts of one call about the people of `whole`; each row's `person` counts in that table."""
    first = frames[0]
    if len(frames) == 1:
        return first
    columns = {
        name: np.concatenate([_loose(f.recourse.columns[name], frames, name) for f in frames])
        for name in first.recourse.columns
    }
    parts = {name: np.concatenate([getattr(f, name) for f in frames]) for name in PER_ROW}
    shared = {name: getattr(first, name) for name in SHARED}
    seconds = sum(f.seconds for f in frames)
    restrictions = Restrictions.join((f.restrictions, len(f)) for f in frames)
    person = parts["person"]
    factual = whole if np.array_equal(person, np.arange(whole.n_rows)) else whole.take(person)
    recourse = Table(columns, factual.n_rows, factual.native)
    followed = None
    if any(f.consequences is not None for f in frames):
        none = [np.zeros((len(f), len(first.schema)), bool) for f in frames]
        followed = np.concatenate(
            [n if f.consequences is None else f.consequences for f, n in zip(frames, none, strict=True)]
        )
    held = Held.join([f.held for f in frames])
    bounds = [f.bound for f in frames if f.bound is not None]
    bound = np.concatenate(bounds) if len(bounds) == len(frames) else None
    return RecourseFrame(
        factual, recourse, **parts, **shared, seconds=seconds, restrictions=restrictions, consequences=followed,
        held=held, bound=bound,
    )  # fmt: skip


def _loose(values: np.ndarray, frames: Sequence[RecourseFrame], name: str) -> np.ndarray:
    mixed = any(f.recourse.columns[name].dtype == object for f in frames)
    return values.astype(object) if mixed else values


def phrase(feature: Feature, before: Cell, after: Cell) -> str:
    """One change in words: "raise income from 31,000 to 35,500"."""
    old, new = about(before, feature), number(after, feature)
    if feature.kind in ("numeric", "integer") and before is not None and before == before:
        if np.sign(after - shortened(before, feature)) != np.sign(after - before):
            old = number(before, feature)  # shortened, it would lie on the other side of where the person is to go
        verb = "raise" if after > before else "lower"
        return f"{verb} {feature.title} from {old} to {new}"
    return f"change {feature.title} from {old} to {new}"


def iter_rows(n: int, size: int) -> Iterator[np.ndarray]:
    """Row numbers in consecutive chunks."""
    for start in range(0, n, size):
        yield np.arange(start, min(n, start + size))
