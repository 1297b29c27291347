"""One case on the desk: a person's columns, and what they are not asked for, as a form holds them."""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from holdtrue._types import Cell, JsonObject
from holdtrue.errors import DataError
from holdtrue.ledger import check_subject
from holdtrue.schema import MISSING_LEVEL, Feature, Schema
from holdtrue.server._applicants import Applicants
from holdtrue.server._bodies import Bodies
from holdtrue.server.pages import _show
from holdtrue.server.pages._pages import Form

MOVES = {
    "": "may change",
    "fixed": "stays as it is",
    "increase": "may only rise",
    "decrease": "may only fall",
}
DAYS = "90"


@dataclass(frozen=True)
class Case:
    """What the form holds, as it was typed.

    Attributes
    ----------
    subject, days : str
        The caller's own key for the person, and how long an offer holds.
    texts : tuple of str
        Every column's value.
    moves : tuple of str
        For every column which way it may go, if not as the schema says: a key of `MOVES`.
    barred : tuple of frozenset of int
        For every category the levels, by position, that this person is not asked to take.
    errors : dict
        Column position to what is wrong with its text; `subject` and `days` likewise.
    row : int or None
        Position among the applicants that can be picked, of one who was.
    hidden : frozenset of int
        Columns that are not shown here: never sent to the browser, and never asked to change. Their values are
        those of `row`; of somebody who was entered by hand they are missing.
    """

    schema: Schema
    subject: str
    texts: tuple[str, ...]
    moves: tuple[str, ...]
    barred: tuple[frozenset[int], ...]
    days: str = DAYS
    errors: dict[Any, str] = field(default_factory=dict)
    row: int | None = None
    hidden: frozenset[int] = frozenset()

    @classmethod
    def blank(cls, schema: Schema, hidden: frozenset[int] = frozenset()) -> "Case":
        """A form that nobody has filled in."""
        n = len(schema.names)
        return cls(schema, "", ("",) * n, ("",) * n, (frozenset(),) * n, hidden=hidden)

    @classmethod
    def of(cls, row: JsonObject, subject: str, schema: Schema) -> "Case":
        """A person as they are."""
        texts = tuple(_show.typed(row[feature.name], feature) for feature in schema)
        return replace(cls.blank(schema), subject=subject, texts=texts)

    @classmethod
    def picked(cls, row: int, applicants: Applicants, schema: Schema, hidden: frozenset[int]) -> "Case":
        """An applicant as they are."""
        case = cls.of(applicants.rows[row], applicants.subjects[row], schema)
        return replace(case, row=row, hidden=hidden)

    @classmethod
    def sent(
        cls, form: Form, schema: Schema, applicants: Applicants | None = None, hidden: frozenset[int] = frozenset()
    ) -> "Case":
        """What a form sent: fields `c0`, `c1`, ... for values, `m0` for moves, `x0` for levels that are barred.

        The buttons beside a change add to it: `fix` a column, `bar` one level of it or one way ("3:2", "3:up"),
        or `free` it again.
        """
        features = list(schema)
        row = _row(form.text("row"), applicants)
        known = None if row is None or applicants is None else cls.picked(row, applicants, schema, hidden)
        own = ("",) * len(features) if known is None else known.texts
        texts = tuple(own[i] if i in hidden else form.text(f"c{i}") for i in range(len(features)))
        moves = [form.text(f"m{i}") for i in range(len(features))]
        moves = [move if move in choices(feature) else "" for move, feature in zip(moves, features, strict=True)]
        barred = [
            frozenset(int(text) for text in form.all(f"x{i}") if text in _positions(feature))
            for i, feature in enumerate(features)
        ]
        for text in form.all("fix"):
            moves[_column(text, features)] = "fixed"
        for text in form.all("free"):
            i = _column(text, features)
            moves[i], barred[i] = "", frozenset()
        for text in form.all("bar"):
            column, _, what = text.partition(":")
            i = _column(column, features)
            if what in ("up", "down"):
                moves[i] = "decrease" if what == "up" else "increase"
                moves[i] = moves[i] if moves[i] in choices(features[i]) else "fixed"
            elif what in _positions(features[i]):
                barred[i] |= {int(what)}
        return cls(schema, form.text("subject").strip(), texts, tuple(moves), tuple(barred),
                   form.text("days", DAYS).strip(), row=row, hidden=hidden)  # fmt: skip

    # ---- what it says -----------------------------------------------------------------------------------

    def read(self, bodies: Bodies) -> "tuple[JsonObject | None, Case]":
        """The person's columns by name; or None, and the case with what is wrong in it."""
        errors: dict[Any, str] = {}
        raw: JsonObject = {}
        for i, (feature, text) in enumerate(zip(self.schema, self.texts, strict=True)):
            try:
                raw[feature.name] = _value(feature, text)
            except ValueError as error:
                errors[i] = str(error)
        if not errors:
            try:
                return bodies.row(bodies.Person.model_validate(raw)), self
            except ValidationError as error:
                for one in error.errors():
                    name = str(one["loc"][0])
                    errors[self.schema.names.index(name)] = one["msg"].removeprefix("Value error, ")
        return None, replace(self, errors=errors)

    def restrictions(self) -> JsonObject | None:
        """What this person is not asked to change, as `recourse` takes it."""
        out: JsonObject = {}
        for i, feature in enumerate(self.schema):
            if i in self.hidden:
                if feature.direction != "fixed":
                    out[feature.name] = "fixed"
            elif self.moves[i]:
                out[feature.name] = self.moves[i]
            elif self.barred[i]:
                levels = list(feature.levels or ())
                kept = [level for j, level in enumerate(levels) if j not in self.barred[i]]
                out[feature.name] = {"levels": kept} if kept else "fixed"
        return out or None

    def offer(self) -> "tuple[str, float] | Case":
        """Key and days of an offer; or the case with what is wrong with them."""
        errors: dict[Any, str] = {}
        try:
            check_subject(self.subject)
        except DataError:
            errors["subject"] = "Write your own key for this person, of up to 200 characters."
        try:
            days = float(self.days)
            if not 0 < days <= 36500:
                raise ValueError
        except ValueError:
            days, errors["days"] = 0.0, "Write a number of days from 1 to 36,500."
        return replace(self, errors=errors) if errors else (self.subject, days)

    # ---- what the template asks ---------------------------------------------------------------------------

    @property
    def n_restrictions(self) -> int:
        """Columns with a restriction of this person's own."""
        return sum(bool(move or barred) for move, barred in zip(self.moves, self.barred, strict=True))

    def fields(self) -> list[JsonObject]:
        """Everything about each column that a form shows; `hidden` ones are for none."""
        out = []
        for i, feature in enumerate(self.schema):
            levels = [{"position": j, "text": _show.bare(level, feature), "barred": j in self.barred[i]}
                      for j, level in enumerate(feature.levels or ())]  # fmt: skip
            own = self.texts[i]
            for one in levels:
                one["reachable"] = str(one["position"]) != own and _reachable(feature, own, one["position"])
            out.append({
                "i": i, "feature": feature, "text": own, "levels": levels, "error": self.errors.get(i),
                "move": self.moves[i], "choices": choices(feature), "barred": self.barred[i],
                "fixed": feature.direction == "fixed", "step": "any",
                "missing": feature.missing is not None, "hidden": i in self.hidden,
            })  # fmt: skip
        return out


def choices(feature: Feature) -> dict[str, str]:
    """Which ways a column may be held to: the schema's own limits are never loosened."""
    if feature.direction == "fixed":
        return {}
    words = {"free": MOVES[""], "increase": "may rise", "decrease": "may fall"}
    moves = MOVES
    if feature.kind == "binary":  # of a yes and a no neither is higher
        low, high = (_show.bare(level, feature) for level in feature.levels or ())
        words |= {"increase": f"may become {high}", "decrease": f"may become {low}"}
        moves = MOVES | {"increase": f"may only become {high}", "decrease": f"may only become {low}"}
    both = feature.direction == "free" and feature.kind != "categorical"
    ways = ("fixed", "increase", "decrease") if both else ("fixed",)
    return {"": words[feature.direction]} | {way: moves[way] for way in ways}


def _value(feature: Feature, text: str) -> Cell:
    text = text.strip()
    if not text:
        if feature.missing is not None:
            return None
        raise ValueError("must be filled in")
    if feature.has_levels:
        if text not in _positions(feature):
            raise ValueError("must be one of the list")
        return (feature.levels or ())[int(text)]
    try:
        return float(text)
    except ValueError:
        raise ValueError("must be a number, such as 1250.5") from None


def _row(text: str, applicants: Applicants | None) -> int | None:
    """Who was picked, of those that can be."""
    if applicants is None or not (text.isascii() and text.isdigit() and len(text) < 7):
        return None
    return int(text) if int(text) < len(applicants) else None


def _positions(feature: Feature) -> list[str]:
    return [str(j) for j in range(len(feature.levels or ()))]


def _column(text: str, features: list[Feature]) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 7 and int(text) < len(features)):
        raise DataError("page: no such column.")
    return int(text)


def _reachable(feature: Feature, own: str, position: int) -> bool:
    """Whether somebody of this level may be asked to take another."""
    levels = list(feature.levels or ())
    if feature.kind != "categorical" or feature.direction == "fixed" or levels[position] == MISSING_LEVEL:
        return False
    if own not in _positions(feature) or feature.transitions is None:
        return True
    return levels[position] in feature.transitions.get(levels[int(own)], levels)
