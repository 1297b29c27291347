"""What a person receives: the decision, what would change it, and how long that holds; from a template."""

import html
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from holdtrue._json import TURNING
from holdtrue._optional import need
from holdtrue.errors import DataError, NotLive
from holdtrue.ledger import LARGEST, Ledger, Record, to_text, utc_now
from holdtrue.schema import Schema, hinted

OPTIONS = 3  # in one letter, at most
NAMED = 4  # reasons in one letter, at most
PARTS = ("subject", "date", "until", "decided", "wanted", "measured")
TEMPLATES = Path(__file__).parent / "templates"
# Characters that turn the direction of what follows: a letter could be made to read otherwise than it is.


@dataclass(frozen=True)
class Letter:
    """What one person is told.

    Attributes
    ----------
    subject : str or None
        Your key for them.
    options : tuple of str
        What each would do, in words; one to three.
    date, until : str
        When the decision was made, and how long the offer holds (None without an end).
    decided, wanted : str or None
        The two decisions in your own words, where given.
    measured : str or None
        How often offers like this one were kept in the past, where that was asked.
    reasons : tuple of str
        The main reasons of the decision, where the records have them; at most four.
    unchanged : tuple of str
        Those of them that no option changes.
    """

    subject: str | None
    options: tuple[str, ...]
    date: str
    until: str | None
    decided: str | None
    wanted: str | None
    stationery: "Stationery" = field(repr=False)
    measured: str | None = None
    reasons: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()

    @cached_property
    def text(self) -> str:
        """The letter as plain text."""
        return self.stationery.render(self, html=False)

    @cached_property
    def html(self) -> str:
        """The letter as a page that loads nothing from elsewhere."""
        return self.stationery.render(self, html=True)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """What a notebook shows: the page, in a frame of its own, so that its style stays its own."""
        page = html.escape(self.html, quote=True)
        return f'<iframe title="Letter" srcdoc="{page}" sandbox width="100%" height="420"></iframe>'


class Stationery:
    """The templates of letters: holdtrue's own, or the owner's.

    A template is run in a sandbox: it sees plain texts only, can read no file and reach no object's inside, and a
    name that it misspells is an error.

    Parameters
    ----------
    text, html : path, optional
        Jinja2 templates in place of holdtrue's.
    """

    def __init__(self, text: str | Path | None = None, html: str | Path | None = None) -> None:
        self.places = {
            False: Path(text or TEMPLATES / "letter.txt"),
            True: Path(html or TEMPLATES / "letter.html"),
        }
        self._templates: dict[bool, Any] = {}

    def render(self, letter: Letter, *, html: bool) -> str:
        """Fill in a template."""
        if html not in self._templates:
            self._templates[html] = _template(self.places[html], html)
        parts = {name: getattr(letter, name) for name in PARTS}
        try:
            return self._templates[html].render(
                **parts, options=list(letter.options), reasons=list(letter.reasons),
                unchanged=list(letter.unchanged),
            )  # fmt: skip
        except Exception as error:  # whatever a template does wrong, down to dividing by zero
            raise _unusable(self.places[html], error) from error


@hinted()
def letters(
    records: Record | Iterable[Record],
    *,
    template: str | Path | None = None,
    html_template: str | Path | None = None,
    words: Mapping[Any, str] | None = None,
    schema: Schema | None = None,
    at: datetime | None = None,
) -> list[Letter]:
    """Write a letter to each person that some records are about.

    The records of one person become the options of one letter: at most three that differ, in their order. Nothing
    stands in a letter that is not in a record.

    Parameters
    ----------
    records : Record or iterable of Record
    template, html_template : path, optional
        Jinja2 templates in place of holdtrue's own.
    words : mapping, optional
        Class to what a letter calls it: ``{0: "declined", 1: "approved"}``.
    schema : Schema, optional
        Refuse to ask for what it does not allow; a record's own restrictions are held in any case.
    at : datetime, optional
        The time of writing, by which no offer may have ended; now, when omitted.
    """
    now = utc_now() if at is None else at
    people: dict[str, list[Record]] = {}
    for record in [records] if isinstance(records, Record) else records:
        if record.valid_until is not None and record.valid_until <= now:
            raise DataError(
                f"letter: the offer has ended; got {to_text(record.valid_until)} of record {record.id!r}. Issue "
                "a new one."
            )
        _check_askable(record, schema)
        people.setdefault(record.subject, []).append(record)
    stationery = Stationery(template, html_template)
    out = []
    for subject, some in people.items():
        some = sorted(some, key=lambda r: r.method["option"])
        ends = [r.valid_until for r in some if r.valid_until is not None]
        out.append(
            compose(
                [r.changes for r in some],
                subject=subject,
                issued=some[0].issued,
                until=min(ends) if ends else None,
                decided=(words or {}).get(some[0].decision_before),
                wanted=(words or {}).get(some[0].target),
                stationery=stationery,
                measured=_measured(some),
                reasons=[one["text"] for one in (some[0].reasons or {}).get("named", [])],
                unchanged=_unchanged(some),
            )
        )
    return out


def compose(
    sentences: Sequence[str],
    *,
    subject: str | None,
    issued: datetime,
    until: datetime | None,
    decided: str | None,
    wanted: str | None,
    stationery: Stationery,
    measured: str | None = None,
    reasons: Sequence[str] = (),
    unchanged: Sequence[str] = (),
) -> Letter:
    """One letter, of what would change the decision in words."""
    options = tuple(dict.fromkeys(_line(sentence) for sentence in sentences))[:OPTIONS]
    named = tuple(dict.fromkeys(_line(reason) for reason in reasons))[:NAMED]
    left = tuple(one for one in dict.fromkeys(_line(reason) for reason in unchanged) if one in named)
    end = None if until is None else f"{_day(until)}, {until.astimezone(UTC):%H:%M} UTC"
    name = None if subject is None else _line(subject)
    was, would = (None if word is None else _line(word) for word in (decided, wanted))
    return Letter(name, options, _day(issued), end, was, would, stationery, measured, named, left)


def _unchanged(some: Sequence[Record]) -> list[str]:
    """Reasons that none of a person's options changes, as far as every record says so."""
    said = [{one["text"]: one.get("in_recourse") for one in (r.reasons or {}).get("named", [])} for r in some]
    return [text for text in said[0] if all(one.get(text) is False for one in said)]


def _measured(some: Sequence[Record]) -> str | None:
    """How often such offers were kept when the model was renewed in the past, by the least sure of them."""
    levels = [(record.survival or {}).get("level") or {} for record in some]
    known = [level for level in levels if level.get("term") and level.get("kept") is not None]
    if len(known) < len(levels):
        return None
    least = min(known, key=lambda level: level["kept"])
    times = {1: "once", 2: "twice"}.get(least["term"], f"{least['term']} times")
    kept = math.floor(100 * least["kept"])
    periods = [_line(str(one["period"])) for one in least.get("periods") or ()]
    when = f", from {periods[0]} to {periods[-1]}" if len(periods) > 1 else ""
    return (
        f"We have checked how offers like this one fared in the past{when}: {kept} of 100 still held after our "
        f"rules had been renewed {times}."
    )


def offered(ledger: Ledger, id: str) -> list[Record]:
    """The live promise of this id, and those that were issued to the same person at the same time."""
    first = ledger.promise(id)
    if first.state != "live" or first.record is None:
        raise NotLive(f"letter: the promise is not live; got {id!r}, which is {first.state}.")
    ids = [event.promise for event in ledger.history(first.record.subject) if event.kind == "issue"]
    others = [ledger.promise(other) for other in ids if other is not None]
    live = [other.record for other in others if other.state == "live" and other.record is not None]
    return [one for one in live if one.issued == first.record.issued]


def offered_to(ledger: Ledger, subject: str) -> list[Record]:
    """The live promises that were made to a person last, all options of that moment."""
    issued = [e.promise for e in ledger.history(subject) if e.kind == "issue" and e.promise is not None]
    live = [id for id in issued if ledger.promise(id).state == "live"]
    if not live:
        what = "none is live any more" if issued else "nothing was promised to them"
        raise NotLive(f"letter: no live promise of this person; got {subject!r}: {what}.")
    return offered(ledger, live[-1])


def _check_askable(record: Record, schema: Schema | None) -> None:
    """Refuse a record that asks for what cannot be asked; what follows from an action is not asked for."""
    if " As a consequence, " in record.changes:
        return
    for name, before in record.factual.items():
        after = record.recourse[name]
        if after == before:
            continue
        limit = record.restrictions.get(name, {})
        direction = limit if isinstance(limit, str) else limit.get("direction")
        if schema is not None and name in schema and not _allowed(schema, name, before, after):
            direction = "fixed"
        if direction == "fixed":
            raise DataError(
                f"letter: the record asks for a change that cannot be asked of this person; got {name!r} in "
                f"record {record.id!r}. Search again with this restriction, and issue a new one."
            )


def _allowed(schema: Schema, name: str, before: Any, after: Any) -> bool:
    feature = schema[name]
    if feature.direction in ("free", "fixed") or before is None or after is None:
        return feature.direction == "free"
    levels = list(feature.levels or ())
    if feature.has_levels:
        if before not in levels or after not in levels:
            return False
        before, after = levels.index(before), levels.index(after)
    return after > before if feature.direction == "increase" else after < before


def _day(time: datetime) -> str:
    time = time.astimezone(UTC)
    return f"{time.day} {time:%B %Y}"


def _line(text: str) -> str:
    """Text that stays within its line: who wrote it may not begin a new paragraph of the letter."""
    kept = (" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") or c in TURNING else c for c in text)
    return " ".join("".join(kept).split())


def _template(place: Path, html: bool) -> Any:
    need("jinja2", extra="serve", what="letter:")
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    try:
        with place.open("rb") as stream:
            source = stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"letter: the template cannot be read; got {str(place)!r} ({error}).") from error
    if len(source) > LARGEST:
        raise DataError(f"letter: the template is too large; got more than {LARGEST:,} bytes in {str(place)!r}.")
    # No loader: a template cannot include, import or extend another file.
    environment = ImmutableSandboxedEnvironment(
        autoescape=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    try:
        return environment.from_string(source.decode("utf-8"))
    except Exception as error:  # a syntax error, bytes that are no text, nesting that is too deep
        raise _unusable(place, error) from error


def _unusable(place: Path, error: Exception) -> DataError:
    reason = f"{type(error).__name__}: {str(error)[:200]}"
    return DataError(
        f"letter: the template cannot be used; got {str(place)!r} ({reason}). It may use subject, date, options, "
        "until, decided, wanted, measured, reasons and unchanged."
    )
