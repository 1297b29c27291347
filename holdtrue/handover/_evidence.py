"""One file for a validator: gathered from a model and its people, and what it holds."""

import functools
import hashlib
import io
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from holdtrue import __version__
from holdtrue._json import plain, to_json
from holdtrue._types import JsonObject
from holdtrue.attribution import CodeTable
from holdtrue.classifier import AbstractClassifier, Certificate
from holdtrue.errors import CapabilityError, DataError
from holdtrue.handover._archive import FORMAT, VERSION, Archive, packed, read, write
from holdtrue.handover._figures import figures_of
from holdtrue.handover._gather import (
    Groups,
    backtest_table,
    calibration_table,
    drawn,
    grouped,
    groups_asked,
    ledger_tables,
    people_tables,
    reasons_tables,
    seeded,
)
from holdtrue.handover._page import page
from holdtrue.handover._words import limits
from holdtrue.hold import AS_FITTED, Holding
from holdtrue.ledger import Ledger
from holdtrue.methods import Level
from holdtrue.schema import Table, TableLike, hinted
from holdtrue.studies.certify import data_digest
from holdtrue.studies.certify import verify as verify_certificate

PACKAGES = (
    "numpy", "scipy", "pyarrow", "jax", "jaxlib", "equinox", "optax", "scikit-learn", "pandas", "llvmlite",
    "xgboost", "xgboost-cpu", "lightgbm", "catboost", "onnxruntime", "onnxruntime-gpu", "skops", "torch",
)  # fmt: skip
"""Distributions that figures may depend on; those that are installed are listed."""
JSON, HTML, TABLES = "evidence.json", "evidence.html", "tables/"


@dataclass(frozen=True)
class Evidence:
    """What a validator is handed: tables, every figure that follows from them, and what both rest on.

    Attributes
    ----------
    given : dict
        What was handed in: digests of model, schema and data, settings, certificate, level, versions, command.
    tables : dict of str to pyarrow.Table
        One row per person and per answer; no column of anybody but the groups.
    """

    given: JsonObject
    tables: dict[str, pa.Table]

    @functools.cached_property
    def figures(self) -> JsonObject:
        """Every number, computed from the tables."""
        return figures_of(self.tables, self.given)

    @property
    def limits(self) -> list[str]:
        """Limits and known weaknesses, in sentences; the owner's own first."""
        return [*self.given["notes"], *limits(self.given, self.figures)]

    def __str__(self) -> str:
        of = self.figures["everybody"]
        text = f"{of['people']:,} people, {of['refused']['k']:,} refused; of {of['asked']:,} asked about, "
        text += f"{of['found']['k']:,} have recourse"
        if of["proved_none"]["k"]:
            text += f" and {of['proved_none']['k']:,} are proved to have none"
        if of["survival"] is not None and of["survival"]["value"] is not None:
            text += f", which {of['survival']['value']:.0%} of {of['survival']['judges']} judges accept"
        return f"{text}. Tables: {', '.join(self.tables)}."

    def to_dict(self) -> JsonObject:
        """What `evidence.json` has."""
        return {
            "format": FORMAT, "version": VERSION, "given": self.given, "figures": self.figures,
            "limits": self.limits,
        }  # fmt: skip

    def html(self) -> str:
        """A page that loads nothing from elsewhere, and prints."""
        return page(self.given, self.figures, self.limits)

    def members(self) -> dict[str, bytes]:
        """The files of the archive, but for its manifest."""
        out = {JSON: to_json(self.to_dict()).encode() + b"\n", HTML: self.html().encode()}
        for name, table in self.tables.items():
            buffer = io.BytesIO()
            pq.write_table(table, buffer)
            out[f"{TABLES}{name}.parquet"] = buffer.getvalue()
        return out

    def save(self, path: str | Path, *, key: str | Path | None = None) -> str:
        """Write the file; return the digest of its manifest, to be noted elsewhere.

        Parameters
        ----------
        path : path
        key : path, optional
            An Ed25519 private key (PEM) to sign with.
        """
        archive = packed(self.members(), key)
        write(archive, path)
        return archive.digest

    @classmethod
    def load(cls, path: str | Path) -> "Evidence":
        """Read a file; one that was changed since it was made is refused. Figures are computed again."""
        return unpack(read(path))


def unpack(archive: Archive) -> Evidence:
    """Evidence from the members of an archive."""
    try:
        said = json.loads(archive.members[JSON])
        tables = {
            name.removeprefix(TABLES).removesuffix(".parquet"): pq.read_table(pa.BufferReader(raw))
            for name, raw in archive.members.items()
            if name.startswith(TABLES)
        }
        found = Evidence(said["given"], tables)
        found.html()  # all figures and words, while a fault can still be told for what it is
        return found
    except Exception as error:  # whatever members may raise that a stranger put together, with digests that fit
        raise DataError(
            f"evidence: the file's members do not fit together ({type(error).__name__}: {error}). Make it again."
        ) from error


class Inputs(NamedTuple):
    """What evidence is made from, beside the model and its people; see `evidence`."""

    ledger: Ledger | None = None
    reference: TableLike | None = None
    codes: CodeTable | None = None
    level: Level | None = None
    certificate: Certificate | None = None
    X_cal: TableLike | None = None
    y_cal: ArrayLike | None = None


@hinted()
def evidence(
    clf: AbstractClassifier,
    X: TableLike,
    y: ArrayLike | None = None,
    *,
    ledger: Ledger | str | Path | None = None,
    groups: Groups | None = None,
    reference: TableLike | None = None,
    codes: CodeTable | None = None,
    level: Level | None = None,
    certificate: Certificate | None = None,
    X_cal: TableLike | None = None,
    y_cal: ArrayLike | None = None,
    n_people: int | None = None,
    n_reasons: int = 500,
    confidence: float = 0.95,
    notes: Sequence[str] = (),
    files: Mapping[str, str | Path] | None = None,
    command: str | None = None,
    made: str | None = None,
    at: str | None = None,
    random_state: int = 0,
) -> Evidence:
    """Gather what a validator asks about a model, so that it can be computed again and cannot be changed unseen.

    Performance, who is refused and has recourse, what it costs and whether it holds, by group with intervals; the
    level and its backtest, the certificate and its check, what the ledger says of promises, reasons and whether
    guides give them too, and what none of this says.

    Parameters
    ----------
    clf : RecourseClassifier or Adopted
        Fitted. Its own method searches; where it holds, its judges and guides are asked.
    X : dataframe
        People; best those whom the model did not learn from.
    y : array, optional
        Their labels, without which performance is not measured.
    ledger : Ledger, path or URL, optional
        The promises that were made.
    groups : sequence of str, or mapping of str to sequence of float or None, optional
        Columns of `X` by which people are told apart, with the edges where a number is cut. The protected columns
        of the schema when omitted.
    reference : dataframe, optional
        Rows that reasons compare people with; `X` when omitted.
    codes : CodeTable, optional
        Of reasons.
    level : Level, optional
        What `holdtrue backtest` wrote: recourse is searched for at this level.
    certificate : Certificate, optional
        The one that the classifier carries when omitted. It is checked.
    X_cal, y_cal : dataframe and array, optional
        The rows that it was made from.
    n_people : int, optional
        At most so many of the refused are searched for, drawn by the seed; all when omitted.
    n_reasons : int, default=500
        At most so many of these are given reasons.
    confidence : float, default=0.95
        Of every interval.
    notes : sequence of str
        Known weaknesses, in your own words.
    files : mapping of str to path, optional
        Files that the inputs were read from: their names and digests are kept.
    command : str, optional
        How this was made, for whoever makes it again.
    made : str, optional
        The day; today when omitted.
    at : str, optional
        The time at which promises bind; that of the ledger's last event when omitted.
    random_state : int, default=0
        Of what is drawn, and of a method without a seed of its own.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), hold=None, random_state=0)
    >>> clf = clf.fit(bank.X[:1000], bank.y[:1000])
    >>> found = ht.evidence(clf, bank.X[1000:], bank.y[1000:], groups=["male"], n_people=20)
    >>> found.figures["everybody"]["people"], sorted(found.figures["groups"]["male"])
    (971, ['0', '1'])
    """
    settings = {
        "groups": groups_asked(groups, _checked(clf), X), "n_people": n_people, "n_reasons": n_reasons,
        "confidence": confidence, "random_state": random_state, "at": at, "up_to": None,
        "level_given": level is not None,
    }  # fmt: skip
    words = {
        "notes": list(notes), "files": _files(files or {}), "command": command,
        "made": datetime.now(UTC).date().isoformat() if made is None else made,
    }  # fmt: skip
    opened = ledger if isinstance(ledger, Ledger) or ledger is None else Ledger(ledger)
    inputs = Inputs(opened, reference, codes, level, certificate, X_cal, y_cal)
    try:
        return gathered(clf, X, y, inputs, settings, words)
    finally:
        if opened is not None and opened is not ledger:
            opened.close()


def gathered(
    clf: AbstractClassifier, X: TableLike, y: object, inputs: Inputs, settings: JsonObject, words: JsonObject
) -> Evidence:
    """Evidence from settings as a file keeps them, so that one that was made can be made again."""
    table = clf._read(X)
    labelled = grouped(settings["groups"], X)  # before the search: a name that is none is told at once
    good = None if y is None else _good(clf, y, table.n_rows)
    seed = settings["random_state"]
    method = seeded(clf.method_, seed)
    asking = clf.with_method(method)
    favourable = clf.predictor_.decision.favourable
    refused = np.flatnonzero(clf.predictor_.decide(table) != favourable)
    rows = drawn(refused, settings["n_people"], seed)
    hold = AS_FITTED if inputs.level is None else inputs.level
    # Where nobody is refused, somebody is asked about all the same: for what the method is called and set to.
    plan = asking.recourse(table.take(rows if len(rows) else np.zeros(1, int)), hold=hold).take(
        np.arange(len(rows))
    )
    tables = people_tables(clf, table, good, labelled, plan, rows)
    reasons: JsonObject | None = None
    if len(rows):
        some = drawn(np.arange(len(rows)), settings["n_reasons"], seed)
        against = table if inputs.reference is None else clf._read(inputs.reference)
        more, reasons = reasons_tables(plan.take(some), rows[some], against, inputs.codes, seed)
        tables |= more
    level = inputs.level if inputs.level is not None else (method.level_ if isinstance(method, Holding) else None)
    past = None if level is None else backtest_table(level)
    if past is not None:
        tables["backtest"] = past
    certificate = clf.certificate_ if inputs.certificate is None else inputs.certificate
    check = None
    if certificate is not None:
        found = verify_certificate(certificate, clf, inputs.X_cal, inputs.y_cal, use=X, random_state=seed)
        check = found.to_dict()
        critical = None if inputs.X_cal is None else calibration_table(certificate, clf, inputs.X_cal)
        if critical is not None:
            tables["calibration"] = critical
    promised = None
    if inputs.ledger is not None:
        more, promised = ledger_tables(clf, inputs.ledger, settings["at"], settings["up_to"])
        tables |= more
    given = plain(
        {
            "made": words["made"],
            "model": {
                "sha256": clf.predictor_.digest(), "kind": _kind(clf), "threshold": clf.predictor_.threshold,
                "favourable": clf.predictor_.favourable,
            },
            "schema": {"sha256": clf.schema_.digest(), "features": _features(clf)},
            "data": _data(clf, table, good, X, settings),
            "method": {
                "name": plan.method, "settings": plan.settings, "seed": plan.seed, "norm": plan.norm,
                "vary": None if plan.held is None else plan.held.vary,
            },
            "level": None if level is None else level.to_dict(),
            "certificate": None if certificate is None else certificate.to_dict(),
            "certificate_check": check,
            "ledger": promised,
            "reasons": reasons,
            "settings": settings,
            "notes": words["notes"],
            "files": words["files"],
            "command": words["command"],
            "software": _software(),
        }
    )  # fmt: skip
    return Evidence(given, tables)


def _checked(clf: object) -> AbstractClassifier:
    if not isinstance(clf, AbstractClassifier) or not hasattr(clf, "predictor_"):
        raise CapabilityError(
            f"evidence: `clf` must be a fitted RecourseClassifier or an adopted model; got {type(clf).__name__}. "
            "Fit one first, or use holdtrue.adopt."
        )
    return clf


def _good(clf: AbstractClassifier, y: Any, n: int) -> np.ndarray:
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    unknown = sorted(set(labels.tolist()) - set(clf.predictor_.classes.tolist()), key=str)
    if labels.shape != (n,) or unknown:
        raise DataError(
            f"evidence: `y` must have a label of the model's per row; got shape {labels.shape} for {n} rows"
            + (f" and labels {unknown[:3]!r}." if unknown else ".")
        )
    return labels == clf.predictor_.favourable


def _data(
    clf: AbstractClassifier, table: Table, good: np.ndarray | None, X: TableLike, settings: JsonObject
) -> JsonObject:
    encoded = clf.predictor_.encoder.encode(table)
    own = [f.name for f in clf.schema_ if f.protected and f.name not in settings["groups"]]
    seen = None
    if clf.training_ is not None:
        known = {row.tobytes() for row in np.ascontiguousarray(clf.training_.data.x, np.float32)}
        seen = sum(row.tobytes() in known for row in np.ascontiguousarray(encoded, np.float32))
    labels = None if good is None else hashlib.sha256(np.ascontiguousarray(good).tobytes()).hexdigest()
    return {
        "rows": table.n_rows, "sha256": data_digest(encoded), "labels_sha256": labels, "seen_in_training": seen,
        "protected_without_groups": own,
    }  # fmt: skip


def _kind(clf: AbstractClassifier) -> str:
    foreign = clf.predictor_.foreign
    model = clf.predictor_.decision.model if foreign is None else getattr(foreign, "estimator", foreign)
    return type(model).__name__


def _features(clf: AbstractClassifier) -> list[JsonObject]:
    return [
        {
            "name": f.name, "title": f.title, "kind": f.kind, "direction": f.direction, "protected": f.protected,
            "group": f.group,
        }
        for f in clf.schema_
    ]  # fmt: skip


def _files(files: Mapping[str, str | Path]) -> JsonObject:
    """Names without their folders, and digests."""
    out: JsonObject = {}
    for what, place in files.items():
        path = Path(place)
        if path.is_file():
            with path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            out[what] = {"name": path.name, "sha256": digest}
    return out


def _software() -> JsonObject:
    out: JsonObject = {"holdtrue": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            continue
    return out | {"system": platform.system(), "machine": platform.machine()}
