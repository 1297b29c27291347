"""A guarantee of recourse as a document: what was promised, from how many people, for which model."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from holdtrue._types import Json, JsonObject, Label
from holdtrue.errors import DataError
from holdtrue.metrics import allowed_failures, group_failure

FORMAT = "holdtrue-certificate"
VERSION = 1


@dataclass(frozen=True)
class Certificate:
    """With confidence ``1 - failure``, at most `miscoverage` of people like the calibration set lack recourse.

    Made by `certify`, re-checked by `verify`, carried in model files. It is plain data and holds no person's row.

    Attributes
    ----------
    threshold : float
        The classifier's: the favourable class is decided from this probability on.
    highest : float
        The largest threshold that keeps the guarantee.
    chosen : str
        Why `threshold` is what it is: ``present`` (the classifier's own, which stays), ``highest``, ``f1`` (best
        F1 up to `highest`) or ``given``.
    n, k, failures : int
        People calibrated on; how many of them may be without recourse; how many are, at `threshold`.
    miscoverage, failure : float
    method : dict
        `name` and `params` of the search whose recourse is meant.
    favourable : label
        The class that recourse leads to.
    model, schema, data : str
        SHA-256 of the model with its threshold, of the schema, and of the calibration rows (in any order).
    groups : dict or None
        `column`, `correction`, and `each`: per group `group`, `n`, `k`, `failures`, `threshold`, `failure`.
    drift : dict or None
        What the test against the people in use said: `auc`, `p_value`, `level`, `n_use`, `columns`, and
        `exchangeable`, which is False where the guarantee does not cover them.
    weighting : dict or None
        How calibration rows were thinned for a shift: `kind` (``given`` or ``estimated``), `n_before`, `seed`.
    measured : dict
        On the calibration set at `threshold`: `accepted` (share), `with_recourse` (share, the accepted included),
        and with labels `f1` and `accuracy`.
    notes : list of str
    date : str
        In UTC.
    software : str
    hold : dict or None
        The level at which the certified model searches for recourse that holds: `hold`, `term` (for how many
        periods, where that was asked of the past), `kept`, `lower`, `confidence`, `reached`, `vary`, `people` and
        `judges`. None where it has no guides.
    proposal : dict or None
        Of a certificate that was just made for the present threshold: another that keeps the promise
        (`threshold`, `chosen`), and the shares of the calibration set that it would accept (`accepted`) and that
        are accepted now (`accepted_now`). No part of the document.
    """

    threshold: float
    highest: float
    chosen: str
    n: int
    k: int
    failures: int
    miscoverage: float
    failure: float
    method: JsonObject
    favourable: Label
    model: str
    schema: str
    data: str
    groups: JsonObject | None
    drift: JsonObject | None
    weighting: JsonObject | None
    measured: dict[str, float]
    notes: list[str]
    date: str
    software: str
    hold: JsonObject | None = None
    proposal: JsonObject | None = field(default=None, compare=False)

    @property
    def covers_use(self) -> bool:
        """Whether no drift was found; True too where nobody looked."""
        return self.drift is None or bool(self.drift["exchangeable"])

    def statement(self) -> str:
        """The promise as a sentence."""
        whom = "people drawn like the calibration set"
        if self.weighting is not None:
            whom = "people as the weights describe them"
        if self.groups is not None:
            whom = f"{whom}, in each group of {self.groups['column']}"
        return (
            f"At least {1 - self.miscoverage:g} of {whom} have recourse at threshold {self.threshold:g} or are "
            f"accepted already; the procedure that says so errs in at most {self.failure:g} of calibration draws."
        )

    def to_dict(self) -> JsonObject:
        """Return plain types for JSON, with a checksum."""
        told = {name: value for name, value in asdict(self).items() if name != "proposal"}
        if self.hold is None:  # as certificates were written that knew of no level
            del told["hold"]
        body = {"format": FORMAT, "version": VERSION, **told}
        return {**body, "sha256": _digest(body)}

    def to_json(self) -> str:
        """Return JSON text."""
        import json

        return json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the certificate to a file."""
        try:
            Path(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            raise DataError(f"Certificate: cannot be written; got {str(path)!r} ({error}).") from error

    @classmethod
    def load(cls, path: str | Path) -> "Certificate":
        """Read a certificate file."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"Certificate: cannot be read; got {str(path)!r} ({error}).") from error
        return cls.from_json(text)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read JSON text; what is foreign, changed or contradicts itself is refused."""
        from holdtrue.ledger import parse

        return cls.from_dict(parse(text, "Certificate"))

    @classmethod
    def from_dict(cls, raw: Json) -> "Certificate":
        """Build a certificate from plain types."""
        if not isinstance(raw, Mapping) or raw.get("format") != FORMAT:
            raise DataError(
                f"Certificate: is not one of holdtrue's; got {str(raw)[:80]!r}. Its `format` would be {FORMAT!r}."
            )
        if raw.get("version") != VERSION:
            raise DataError(
                f"Certificate: has version {raw.get('version')!r}, this holdtrue reads {VERSION}. Upgrade it."
            )
        names = [f.name for f in fields(cls) if f.name != "proposal"]
        names = [name for name in names if name != "hold" or "hold" in raw]
        odd = sorted(set(names) ^ (set(raw) - {"format", "version", "sha256"}))
        if odd:
            raise DataError(f"Certificate: fields are absent or unknown; got {odd[:5]!r}. Copy it again.")
        body = {key: value for key, value in raw.items() if key != "sha256"}
        if raw.get("sha256") != _digest(body):
            raise DataError(
                "Certificate: was changed after it was made (its checksum differs). Ask whoever made it for the "
                "original, or certify again."
            )
        made = cls(**{name: raw[name] for name in names})
        wrong = made.contradictions()
        if wrong:
            raise DataError(f"Certificate: contradicts itself; got {wrong[0]}. Certify again.")
        return made

    def contradictions(self) -> list[str]:
        """What cannot be, whatever the model and the data: the arithmetic of the bound, done again."""
        try:
            return list(self._contradictions())
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            return [f"fields of the wrong kind ({error})"]

    def _contradictions(self) -> Any:
        if not 0 < self.threshold < 1:
            yield f"a threshold of {self.threshold!r}"
        if not (math.isfinite(self.highest) and self.threshold <= self.highest):
            yield f"a threshold of {self.threshold!r} above the highest that keeps the guarantee, {self.highest!r}"
        each = [] if self.groups is None else self.groups["each"]
        own = self.failure if self.groups is None else group_failure(
            len(each), self.failure, self.groups["correction"]
        )  # fmt: skip
        for part in each or [{"group": "everybody", "n": self.n, "k": self.k, "failures": self.failures}]:
            allowed = allowed_failures(part["n"], self.miscoverage, own)
            if allowed is None:
                yield f"{part['n']} people for {part['group']}, too few for any guarantee"
            elif part["k"] != allowed:
                yield f"{part['k']} allowed failures for {part['group']}, where {allowed} are"
            elif not 0 <= part["failures"] <= allowed:
                yield f"{part['failures']} failures for {part['group']}, where at most {allowed} are allowed"
        if each and sum(part["n"] for part in each) != self.n:
            yield f"groups that do not add up to {self.n} people"
        yield from self._odd_words()

    def _odd_words(self) -> Any:
        if self.chosen not in ("present", "highest", "f1", "given"):
            yield f"a threshold chosen as {self.chosen!r}"
        elif self.chosen == "highest" and self.threshold != self.highest:
            yield f"a threshold of {self.threshold!r} as the highest, which is {self.highest!r}"
        elif self.chosen == "f1" and "f1" not in self.measured:
            yield "a threshold chosen by an F1 that was not measured"
        shares = {name: float(value) for name, value in self.measured.items()}
        if not all(0 <= value <= 1 for value in shares.values()):
            yield f"shares beyond 0 and 1, {shares!r}"
        if abs(shares["with_recourse"] - (1 - self.failures / self.n)) > 1e-9:
            yield f"{shares['with_recourse']:g} with recourse, where {self.failures} of {self.n} are without"
        if self.hold is not None and not 0 < self.hold["hold"] < 1:
            yield f"a level of {self.hold['hold']!r}"
        if not all(isinstance(note, str) for note in self.notes):
            yield "notes that are no text"
        when = datetime.fromisoformat(self.date)
        if when.utcoffset() is None or when > datetime.now(UTC) + timedelta(days=1):  # clocks differ
            yield f"a date of {self.date!r}"

    def __str__(self) -> str:
        lines = [self.statement()]
        lines.append(
            f"Calibrated on {self.n:,} people; {self.failures:,} of them are without recourse, {self.k:,} may be. "
            f"Highest threshold that keeps the guarantee: {self.highest:g}; chosen: {self.chosen}."
        )
        shares = ", ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in self.measured.items())
        lines.append(f"On the calibration set: {shares}.")
        for part in [] if self.groups is None else self.groups["each"]:
            lines.append(
                f"  {part['group']}: {part['n']:,} people, {part['failures']:,} without recourse, {part['k']:,} "
                f"allowed; would bear a threshold of {part['threshold']:g}."
            )
        if self.drift is not None:
            found = "no drift was found" if self.covers_use else "DRIFT: the guarantee does not cover them"
            lines.append(
                f"Held against {self.drift['n_use']:,} people in use: {found} (AUC {self.drift['auc']:.3f}, p "
                f"{self.drift['p_value']:.3g}; largest in {', '.join(self.drift['columns'])})."
            )
        if self.hold is not None:
            lines.append(f"Recourse is searched for at {_level(self.hold)}.")
        lines += self.notes
        if self.proposal is not None:
            lines.append(f"The threshold stays {self.threshold:g}. {proposed(self.proposal)}")
        lines.append(
            f"Search: {self.method['name']}. Model {self.model[:12]}, schema {self.schema[:12]}. {self.date}."
        )
        return "\n".join(lines)


def _level(hold: JsonObject) -> str:
    """A level in words, with its term and what was measured."""
    term = hold["term"]
    ahead = "" if term is None else f", {term} period{'s' if term > 1 else ''} ahead"
    if hold["kept"] is None:
        return f"hold {100 * hold['hold']:g}%{ahead}, which was not measured"
    bound = f", at least {hold['lower']:.1%} with {hold['confidence']:.0%} confidence" if hold["lower"] else ""
    return f"hold {100 * hold['hold']:g}%{ahead}: {hold['kept']:.1%} kept{bound}"


def proposed(proposal: JsonObject) -> str:
    """Another threshold that keeps the promise, with what it would cost, as sentences."""
    why = "is the highest that keeps" if proposal["chosen"] == "highest" else "has the best F1 of those that keep"
    return (
        f"A threshold of {proposal['threshold']:g} {why} the promise: of the calibration set it accepts "
        f"{proposal['accepted']:.1%}, where {proposal['accepted_now']:.1%} are accepted now. Take it with "
        "move_threshold=True (--move-threshold), or name one with `threshold`."
    )


def _digest(body: Mapping[str, object]) -> str:
    from holdtrue.ledger import canonical, sha256

    return sha256(canonical(body))
