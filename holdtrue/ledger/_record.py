"""One issued recourse, complete in itself: what was said to whom, by which model, found how, and until when."""

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from holdtrue._files import replaced
from holdtrue._types import Json, JsonObject, Label
from holdtrue.errors import DataError
from holdtrue.ledger._canonical import LARGEST, canonical, check_plain, parse, sha256
from holdtrue.schema import did_you_mean

FORMAT = "holdtrue-record"
FORMER = "holdfast-record"  # the same, as ledgers begun under the project's first name hold it
VERSION = 1
SUBJECT = 200  # characters of a subject's key
REASON = 2000  # characters of a reason
ADDED = ("reason", "reasons")  # fields that older records have not: one without them has the digest that it had
TIME = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6}Z")


def new_id() -> str:
    """A name for a promise that says nothing about anybody."""
    return secrets.token_hex(16)


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def aware(at: datetime | None) -> datetime:
    """A time with its zone; now, when omitted."""
    at = utc_now() if at is None else at
    if at.tzinfo is None:
        raise DataError(f"ledger: a time must have a time zone; got {at!r}. Write datetime.now(UTC).")
    return at


@dataclass(frozen=True)
class Record:
    """What was promised to one person.

    Attributes
    ----------
    subject : str
        The caller's own key for the person; never has to be a name.
    factual, recourse : dict
        The person as they were and as proposed: column to number, text, boolean or None.
    changes : str
        The difference in words.
    decision_before, decision_after : label
        What the model decides about each.
    probability_before, probability_after : float
        Of the wanted class.
    threshold : float or None
        From which probability on the favourable class is decided; None with more than two classes.
    target : label
        The wanted class.
    cost : float
        In the method's norm.
    method : dict
        `name`, `params`, `seed`, `norm`, `option` (which of several offered to the person, from 0).
    model : dict
        `hash` (None for a model made elsewhere) and `version`, the owner's own name for it.
    schema : str
        Digest of the schema.
    software : dict
        Package to version.
    restrictions : dict
        What this person was not asked to change, beyond the schema.
    survival, certificate : dict or None
        Estimated chance to hold after a retraining; the terms of a guarantee, or a proof that it does.
    issued : datetime
        In UTC.
    valid_until : datetime or None
        Until when the promise holds; None where no end was named.
    reason : str or None
        Why a recourse that is known not to hold was promised all the same. For whoever asks later; no letter
        prints it.
    reasons : dict or None
        Why the person was refused: what is named, every contribution, and whom and which models that rests on; see
        `holdtrue.Reasons.to_dict`. A letter prints what is named.
    id : str
        32 hexadecimal digits, random: the promise's name in a ledger.
    """

    subject: str
    factual: JsonObject
    recourse: JsonObject
    changes: str
    decision_before: Label
    decision_after: Label
    probability_before: float
    probability_after: float
    threshold: float | None
    target: Label
    cost: float
    method: JsonObject
    model: JsonObject
    schema: str
    software: dict[str, str]
    restrictions: JsonObject = field(default_factory=dict)
    survival: JsonObject | None = None
    certificate: JsonObject | None = None
    issued: datetime = field(default_factory=utc_now)
    valid_until: datetime | None = None
    reason: str | None = None
    reasons: JsonObject | None = None
    id: str = field(default_factory=new_id)

    def __post_init__(self) -> None:
        for name, (fits, wanted) in _FIELDS.items():
            value = getattr(self, name)
            if not fits(value):
                raise DataError(f"Record: `{name}` must be {wanted}; got {_short(value)}.")
            if not isinstance(value, datetime):
                check_plain(value, f"Record: `{name}`")
        if set(self.factual) != set(self.recourse):
            odd = sorted(set(self.factual) ^ set(self.recourse))
            raise DataError(
                f"Record: `factual` and `recourse` must have the same columns; got {odd[:5]!r} in one."
            )
        if self.valid_until is not None and self.valid_until <= self.issued:
            raise DataError(
                f"Record: `valid_until` must come after `issued`; got {to_text(self.valid_until)} and "
                f"{to_text(self.issued)}."
            )

    def to_dict(self) -> JsonObject:
        """Return plain types for JSON; without what came later (`ADDED`) where there is nothing to say of it."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        parts = {name: value for name, value in parts.items() if name not in ADDED or value is not None}
        times = {name: None if parts[name] is None else to_text(parts[name]) for name in ("issued", "valid_until")}
        return {"format": FORMAT, "version": VERSION, **parts, **times}

    def to_json(self) -> str:
        """Return canonical JSON: equal records give equal text, on every machine."""
        return canonical(self.to_dict())

    def digest(self) -> str:
        """SHA-256 of the canonical JSON."""
        return sha256(self.to_json())

    @classmethod
    def from_dict(cls, raw: Json) -> "Record":
        """Build a record from the plain types of a JSON text."""
        if not isinstance(raw, Mapping) or raw.get("format") not in (FORMAT, FORMER):
            raise DataError(
                f"Record: is not a record of issued recourse; got {_short(raw)}. Its `format` is {FORMAT!r}."
            )
        if raw.get("version") != VERSION or isinstance(raw.get("version"), bool):
            raise DataError(
                f"Record: has version {_short(raw.get('version'))}, this holdtrue reads {VERSION}. Upgrade "
                "holdtrue."
            )
        if raw["format"] == FORMER:  # restrictions were called limits then
            raw = {"restrictions" if name == "limits" else name: value for name, value in raw.items()}
        known = [f.name for f in fields(cls)]
        absent = [name for name in known if name not in raw and name not in ADDED]
        if absent:
            raise DataError(f"Record: fields are absent; got no {', '.join(absent[:5])}. Copy the record again.")
        for name in raw:
            if name not in (*known, "format", "version"):
                raise DataError(f"Record: unknown field; got {_short(name)}. {did_you_mean(name, known)}")
        parts = {name: raw[name] for name in known if name in raw}
        parts["issued"] = from_text(raw["issued"], "issued")
        if raw["valid_until"] is not None:
            parts["valid_until"] = from_text(raw["valid_until"], "valid_until")
        return cls(**parts)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Record":
        """Read JSON text. Nothing in it is run; size, depth and every field are checked."""
        return cls.from_dict(parse(text, "Record"))

    def save(self, path: str | Path) -> None:
        """Write the record as a file of one line."""
        write_records([self], path)

    @classmethod
    def load(cls, path: str | Path) -> "Record":
        """Read a file that holds one record."""
        return cls.from_json(_read(path))


def to_text(time: datetime) -> str:
    """A time as text, always of the same form, so that texts sort as times do."""
    return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_text(text: object, name: str = "time") -> datetime:
    """Read a time of that form."""
    try:
        if isinstance(text, str) and TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:  # the 31st of February
        pass
    raise DataError(
        f"Record: `{name}` must be a time in UTC such as 2026-01-31T12:00:00.000000Z; got {_short(text)}."
    )


def check_subject(subject: Any) -> str:
    """Return a subject's key, or say why it cannot be one."""
    if not _is_subject(subject):
        raise DataError(f"subject: must be {_FIELDS['subject'][1]}; got {_short(subject)}.")
    return subject


def write_records(records: Iterable[Record], path: str | Path) -> int:
    """Write records as JSON lines, beside the place and then moved there; return how many."""
    path, count = Path(path), 0
    try:
        with replaced(path, private=True) as stream:
            for record in records:
                stream.write(record.to_json().encode("ascii") + b"\n")
                count += 1
    except OSError as error:
        raise DataError(f"records: cannot be written; got {str(path)!r} ({error}).") from error
    return count


def read_records(path: str | Path) -> Iterator[Record]:
    """Read JSON lines one by one; an error names the line."""
    try:
        with Path(path).open("rb") as stream:
            number = 0
            while line := stream.readline(LARGEST + 2):
                number += 1
                if line.strip():
                    try:
                        yield Record.from_json(line)
                    except DataError as error:
                        raise DataError(f"line {number} of {str(path)!r}: {error}") from error
    except OSError as error:
        raise DataError(f"records: cannot be read; got {str(path)!r} ({error}).") from error


def _read(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"Record: the file cannot be read; got {str(path)!r} ({error}).") from error


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:  # a foreign __repr__, or a whole number of thousands of digits
        return f"<{type(value).__name__}>"
    return text if len(text) <= 120 else text[:117] + "..."


def _is_subject(value: object) -> bool:
    # Control characters would break lines in a letter or a log; half of a surrogate pair no database can hold.
    return (
        isinstance(value, str)
        and 0 < len(value) <= SUBJECT
        and not any(unicodedata.category(c) in ("Cc", "Cs") for c in value)
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_label(value: object) -> bool:
    return isinstance(value, (str, bool, int, float))


def _is_row(value: object) -> bool:
    return isinstance(value, dict) and len(value) > 0 and all(v is None or _is_label(v) for v in value.values())


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def _is_id(value: object) -> bool:
    return isinstance(value, str) and len(value) == 32 and set(value) <= set("0123456789abcdef")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_time(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _is_method(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"name", "params", "seed", "norm", "option"}
        and _is_text(value["name"])
        and isinstance(value["params"], dict)
        and (value["seed"] is None or (isinstance(value["seed"], int) and not isinstance(value["seed"], bool)))
        and _is_text(value["norm"])
        and isinstance(value["option"], int)
        and 0 <= value["option"] < 1000
    )


def _is_model(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"hash", "version"}
        and (value["hash"] is None or _is_hash(value["hash"]))
        and (value["version"] is None or _is_text(value["version"]))
    )


def _is_reason(value: object) -> bool:
    return (
        isinstance(value, str)
        and len(value.strip()) > 0
        and len(value) <= REASON
        and not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\r\t" for c in value)
    )


def _is_reasons(value: object) -> bool:
    named = value.get("named") if isinstance(value, dict) else None
    return isinstance(named, list) and all(
        isinstance(one, dict) and isinstance(one.get("text"), str) and len(one["text"]) <= REASON for one in named
    )


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_versions(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "subject": (_is_subject, f"a text of 1 to {SUBJECT} characters without control characters"),
    "factual": (_is_row, "columns with numbers, texts, booleans or None"),
    "recourse": (_is_row, "columns with numbers, texts, booleans or None"),
    "changes": (_is_text, "a text"),
    "decision_before": (_is_label, "a class label"),
    "decision_after": (_is_label, "a class label"),
    "probability_before": (_is_share, "a number from 0 to 1"),
    "probability_after": (_is_share, "a number from 0 to 1"),
    "threshold": (_or_none(_is_share), "a number from 0 to 1, or None"),
    "target": (_is_label, "a class label"),
    "cost": (_is_number, "a number"),
    "method": (_is_method, "an object with name, params, seed, norm and option"),
    "model": (_is_model, "an object with hash (SHA-256 or None) and version (text or None)"),
    "schema": (_is_hash, "a SHA-256 in hexadecimal"),
    "software": (_is_versions, "packages with their versions"),
    "restrictions": (_is_object, "an object"),
    "survival": (_or_none(_is_object), "an object or None"),
    "certificate": (_or_none(_is_object), "an object or None"),
    "issued": (_is_time, "a time with a time zone"),
    "valid_until": (_or_none(_is_time), "a time with a time zone, or None"),
    "reason": (_or_none(_is_reason), f"a text of 1 to {REASON} characters, or None"),
    "reasons": (_or_none(_is_reasons), "an object with what is `named`, a list of texts, or None"),
    "id": (_is_id, "32 hexadecimal digits"),
}
