"""A piece of evidence held against itself, against its key, and against what it was made from."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from holdtrue._json import to_json
from holdtrue._types import JsonObject
from holdtrue.attribution import CodeTable
from holdtrue.classifier import AbstractClassifier, Certificate
from holdtrue.errors import DataError
from holdtrue.handover._archive import public_key as key_of
from holdtrue.handover._archive import read
from holdtrue.handover._evidence import Evidence, Inputs, gathered, unpack
from holdtrue.ledger import Ledger
from holdtrue.methods import Level
from holdtrue.schema import TableLike, hinted
from holdtrue.studies.certify import Finding

FROM_LEDGER = ("ledger", "broken")
FROM_CALIBRATION = ("calibration",)


@dataclass(frozen=True)
class EvidenceCheck:
    """What `verify_evidence` found.

    Attributes
    ----------
    digest : str
        SHA-256 of the manifest: hold it against the one that was noted when the file was made.
    findings : list of Finding
        `what` was checked, whether it is `ok`, and what was `said`.
    unchecked : list of str
        What was not looked at, for want of inputs.
    """

    digest: str
    findings: list[Finding] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is in order."""
        return all(finding.ok for finding in self.findings)

    def to_dict(self) -> JsonObject:
        """Return plain types for JSON."""
        return {
            "ok": self.ok, "digest": self.digest, "findings": [f._asdict() for f in self.findings],
            "unchecked": self.unchecked,
        }  # fmt: skip

    def __str__(self) -> str:
        head = "The evidence holds, as far as it was checked." if self.ok else "The evidence does not hold."
        lines = [f"{'ok  ' if f.ok else 'FAIL'} {f.what}: {f.said}" for f in self.findings]
        return "\n".join([head, *lines, *(f"--   {what}: not checked" for what in self.unchecked)])


@hinted()
def verify_evidence(
    path: str | Path,
    clf: AbstractClassifier | None = None,
    X: TableLike | None = None,
    y: ArrayLike | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    reference: TableLike | None = None,
    codes: CodeTable | None = None,
    X_cal: TableLike | None = None,
    y_cal: ArrayLike | None = None,
    public_key: str | Path | None = None,
) -> EvidenceCheck:
    """Check a piece of evidence: every byte, every figure from the tables, and the tables from what they are of.

    Parameters
    ----------
    path : path
        The file. One that was changed after it was made is refused by a DataError.
    clf, X, y, ledger, reference, codes, X_cal, y_cal
        What it was made from, as it was given to `evidence`: everything is made again with the settings in the
        file and compared, byte for byte. Without `clf` and `X` the figures are computed from the file's tables.
    public_key : path, optional
        The Ed25519 public key (PEM) of who should have signed it.

    Examples
    --------
    >>> import holdtrue as ht, os, tempfile
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), hold=None, random_state=0)
    >>> clf = clf.fit(bank.X[:1000], bank.y[:1000])
    >>> place = os.path.join(tempfile.mkdtemp(), "evidence.zip")
    >>> noted = ht.evidence(clf, bank.X[1000:], n_people=10).save(place)
    >>> found = ht.verify_evidence(place, clf, bank.X[1000:])
    >>> found.ok, found.digest == noted
    (True, True)
    """
    archive = read(path)
    stored = unpack(archive)
    out = EvidenceCheck(archive.digest)
    size = sum(len(raw) for raw in archive.members.values())
    out.findings.append(Finding("every byte", True, f"{len(archive.members)} members, {size:,} bytes"))
    out.findings.append(_signature(archive.signature, public_key))
    # Tables are not written again: another version of pyarrow may put the same in other bytes.
    made = {"evidence.json": to_json(stored.to_dict()).encode() + b"\n", "evidence.html": stored.html().encode()}
    for name, raw in made.items():
        same = archive.members.get(name) == raw
        out.findings.append(Finding(f"{name} from the tables", same, "the same bytes" if same else "differs"))
    if clf is None or X is None:
        out.unchecked.append("the tables, which need the model and the people")
        return out
    opened = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    try:
        _again(stored, clf, X, y, Inputs(opened, reference, codes, None, None, X_cal, y_cal), out)
    finally:
        if opened is not None and opened is not ledger:
            opened.close()
    return out


def _signature(signed: JsonObject | None, public_key: str | Path | None) -> Finding:
    wanted = None if public_key is None else key_of(public_key)
    if signed is None:
        said = "none: whoever can change the file can make it fit again. Hold its digest against a noted one"
        return Finding("signature", wanted is None, said)
    key = signed["public_key"]
    if wanted is None:
        return Finding("signature", True, f"by the key {key}. Whose key it is, you must know")
    return Finding("signature", key == wanted, f"by the key {key}" if key == wanted else f"by another key, {key}")


def _again(
    stored: Evidence, clf: AbstractClassifier, X: TableLike, y: object, inputs: Inputs, out: EvidenceCheck
) -> None:
    given, settings = stored.given, stored.given["settings"]
    level = Level.from_dict(given["level"]) if settings["level_given"] else None
    raw = given["certificate"]
    certificate = None if raw is None else Certificate.from_dict(raw)
    spared: list[str] = []
    up_to = None
    if given["ledger"] is not None:
        if inputs.ledger is None:
            spared += FROM_LEDGER
            out.unchecked.append("what the ledger says, which needs the ledger")
        else:
            up_to = int(given["ledger"]["seq"])
            if inputs.ledger.head().seq != up_to:
                spared.append("broken")
                out.unchecked.append("what the model would break, since the ledger has gone on")
            settings = settings | {"up_to": up_to, "at": given["ledger"]["at"]}
    elif inputs.ledger is not None:
        raise DataError("evidence: was made without a ledger; got one. Leave `ledger` out.")
    if "calibration" in stored.tables and inputs.X_cal is None:
        spared += FROM_CALIBRATION
        out.unchecked.append("the certificate's calibration rows")
    words = {name: given[name] for name in ("notes", "files", "command", "made")}
    made = gathered(clf, X, y, inputs._replace(level=level, certificate=certificate), settings, words)
    out.findings.extend(_digests(given, made.given))
    for name in sorted({*stored.tables, *made.tables} - set(spared)):
        out.findings.append(_table(name, stored.tables.get(name), made.tables.get(name)))
    if not spared:
        same = to_json(stored.figures) == to_json(made.figures)
        out.findings.append(Finding("figures, made again", same, "the same bytes" if same else "differ"))
    if given["software"] != made.given["software"]:
        odd = [k for k, v in given["software"].items() if made.given["software"].get(k) != v]
        out.unchecked.append(f"other versions ({', '.join(odd)}) than it was made with, which may round otherwise")


def _digests(given: JsonObject, now: JsonObject) -> Iterator[Finding]:
    for what, keys in (
        ("model", ("model", "sha256")),
        ("schema", ("schema", "sha256")),
        ("rows", ("data", "sha256")),
    ):
        then, this = (part[keys[0]][keys[1]] for part in (given, now))
        said = str(then)[:12] if then == this else f"the evidence names {str(then)[:12]}, this is {str(this)[:12]}"
        yield Finding(what, then == this, said)
    labels = [part["data"]["labels_sha256"] for part in (given, now)]
    if labels[0] is not None:
        said = "the same" if labels[0] == labels[1] else "others, or none, were given"
        yield Finding("labels", labels[0] == labels[1], said)


def _table(name: str, then: pa.Table | None, now: pa.Table | None) -> Finding:
    what = f"table of {name}, made again"
    if then is None or now is None:
        return Finding(what, False, "is in one of the two only")
    if _same(then, now):
        return Finding(what, True, f"{then.num_rows:,} rows, the same")
    if then.column_names != now.column_names or then.num_rows != now.num_rows:
        return Finding(what, False, f"has {now.num_rows:,} rows in place of {then.num_rows:,}, or other columns")
    odd = [column for column in then.column_names if not _same(then.select([column]), now.select([column]))]
    return Finding(what, False, f"{', '.join(odd)} differ")


def _same(then: pa.Table, now: pa.Table) -> bool:
    """Equal to the last bit, a number that is none counting as equal to itself."""
    if then.schema.names != now.schema.names or then.schema.types != now.schema.types:
        return False
    for one, other in zip(then.columns, now.columns, strict=True):
        if pa.types.is_floating(one.type):
            if not np.array_equal(one.to_numpy(), other.to_numpy(), equal_nan=True):
                return False
        elif not one.equals(other):
            return False
    return True
