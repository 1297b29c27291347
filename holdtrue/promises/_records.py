"""From a plan to records of what was promised, and back: does a record come out the same again?"""

import importlib.metadata
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from holdtrue._types import JsonObject, Keywords
from holdtrue.classifier._certificate import Certificate
from holdtrue.classifier._classifier import RecourseClassifier
from holdtrue.classifier._objects import describe, rebuild
from holdtrue.classifier._rows import rows_of, table_of
from holdtrue.errors import DataError
from holdtrue.methods import METHODS, AbstractMethod, RecourseFrame
from holdtrue.reports import ShelfLife
from holdtrue.schema import plain

if TYPE_CHECKING:  # the ledger brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Record

SOFTWARE = ("holdtrue", "jax", "equinox", "optax", "numpy", "scipy")
CLOSE = 1e-5  # probabilities and costs are in single precision, which differs in the last digit between processors


def records(
    plan: RecourseFrame,
    subjects: Sequence[Any],
    *,
    valid_for: timedelta | float | None = None,
    model_version: str | None = None,
    life: ShelfLife | None = None,
    certificates: Certificate | Sequence[Any] | None = None,
    issued: datetime | None = None,
) -> "list[Record]":
    """Make a record of every recourse of a plan, to be issued: written into a ledger, or to a file.

    Parameters
    ----------
    plan : RecourseFrame
        What ``clf.recourse(X)`` returned. People without a recourse get no record.
    subjects : sequence of str
        Your own key for the person of each row of the plan. With several options per person:
        ``keys[plan.person]``.
    valid_for : timedelta or number of days, optional
        How long the promise holds; without an end when omitted.
    model_version : str, optional
        Your own name for the model.
    life : ShelfLife, optional
        What `shelf_life` says about this plan: each person's chance that the recourse holds.
    certificates : Certificate or sequence, optional
        The guarantee that the model carries (``clf.certificate_``), of which each record has the terms; or one
        object (or None) per row of the plan.
    issued : datetime, optional
        Now, when omitted.

    Returns
    -------
    list of Record

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8)
    >>> plan = clf.fit(bank.X, bank.y).recourse(bank.X[:50])
    >>> promised = ht.records(plan, [f"application {i}" for i in bank.X.index[:50]], valid_for=90)
    >>> len(promised) == int(plan.found.sum())
    True
    """
    from holdtrue.ledger import Record

    keys = _keys(subjects, len(plan))
    if isinstance(certificates, Certificate):
        certificates = [_terms(certificates, plan)] * len(plan)
    _check(plan, life, certificates)
    issued = datetime.now(UTC) if issued is None else issued
    length = timedelta(days=valid_for) if isinstance(valid_for, (int, float)) else valid_for
    predictor = plan.predictor
    before, after = (predictor.classes[predictor.decide(t)].tolist() for t in (plan.factual, plan.recourse))
    factual, recourse = (rows_of(t, plan.schema) for t in (plan.factual, plan.recourse))
    sentences, target, option = plan.changes(), np.asarray(plan.target).tolist(), plan.option.tolist()
    shared: JsonObject = {
        "threshold": predictor.threshold,
        "model": {"hash": predictor.digest(), "version": model_version},
        "schema": plan.schema.digest(),
        "software": _software(),
        "issued": issued,
        "valid_until": None if length is None else issued + length,
    }
    method = _method(plan)
    return [
        Record(
            subject=keys[i],
            factual=factual[i],
            recourse=recourse[i],
            changes=sentences[i],
            decision_before=before[i],
            decision_after=after[i],
            probability_before=float(plan.before[i]),
            probability_after=float(plan.after[i]),
            target=target[i],
            cost=float(plan.cost[i]),
            method=method | {"option": option[i]},
            restrictions=_listed(plan.restrictions.get(i, {})),
            survival=None if life is None else survival_of(life, i),
            certificate=None if certificates is None else certificates[i],
            **shared,
        )
        for i in np.flatnonzero(plan.found).tolist()
    ]


@dataclass(frozen=True)
class Replay:
    """Whether a record comes out the same when it is computed again.

    Attributes
    ----------
    differences : dict
        Field to what was recorded and what came out; empty where all is the same.
    notes : list of str
        What else may explain a difference.
    """

    differences: dict[str, tuple[Any, Any]]
    notes: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def __str__(self) -> str:
        lines = [f"{name}: recorded {old!r}, now {new!r}" for name, (old, new) in self.differences.items()]
        head = "The record comes out the same." if self.same else "The record does not come out the same."
        return "\n".join([head, *lines, *self.notes])


def replay(record: "Record", clf: RecourseClassifier, *, reference: Any = None) -> Replay:
    """Compute a record again, and say what differs.

    Parameters
    ----------
    record : Record
    clf : RecourseClassifier
        The model that the record names; with another one the differences say so.
    reference : dataframe, optional
        Training rows, for a method that learns from them and is not the classifier's own.
    """
    predictor = clf.predictor_
    old, new = record.to_dict(), {"schema": predictor.encoder.schema.digest(), "threshold": predictor.threshold}
    new["model hash"], old["model hash"] = predictor.digest(), record.model["hash"]
    table = table_of([record.factual], predictor.encoder.schema, where="replay")
    labels = predictor.classes.tolist()
    if record.target not in labels:
        raise DataError(f"replay: the record's target is not a class of this model; got {record.target!r}.")
    option = record.method["option"]
    plan = _again(record, clf, reference).recourse(
        table,
        target=labels[labels.index(record.target)],
        restrictions={0: record.restrictions} if record.restrictions else None,
        **({"n_recourses": option + 1} if option else {}),
    )
    made = records(plan, [record.subject] * len(plan), issued=record.issued) if plan.found.any() else []
    again = next((r for r in made if r.method["option"] == option), None)
    if again is None:
        new |= {"recourse": None, "changes": str(plan.changes()[0])}
    else:
        fields = ("recourse", "changes", "cost", "decision_before", "decision_after", "probability_before")
        new |= {name: getattr(again, name) for name in (*fields, "probability_after")}
    differences = {name: (old[name], value) for name, value in new.items() if not _same(old[name], value)}
    return Replay(differences, _notes(record))


def _again(record: "Record", clf: RecourseClassifier, reference: Any) -> AbstractMethod:
    """The method that the record names: the classifier's own with what it learned, or one made anew."""
    own = clf.method_
    name, params = record.method["name"], record.method["params"]
    if METHODS.get(name) is type(own) and _described(own.get_params(deep=False)) == params and reference is None:
        return own
    unwritten = [key for key, value in params.items() if isinstance(value, dict) and "$text" in value]
    if unwritten:
        raise DataError(
            f"replay: parameters of {name} could not be recorded; got {unwritten!r}. Replay it in Python."
        )
    method = rebuild({"$method": name, "params": params})
    if type(method).needs_rows and reference is None:
        raise DataError(
            f"replay: {type(method).__name__} learns from training rows, which the model file does not hold for "
            "it; got none. Give the table that the model learned from."
        )
    return method.fit(clf, reference)


def _keys(subjects: Sequence[Any], n: int) -> list[Any]:
    keys = [plain(key) for key in subjects]
    if len(keys) != n:
        raise DataError(
            f"records: `subjects` must have one key per row of the plan; got {len(keys)} for {n} rows. With "
            "several options per person give keys[plan.person]."
        )
    return keys


def _check(plan: RecourseFrame, life: ShelfLife | None, certificates: Sequence[Any] | None) -> None:
    if life is not None and life.plan is not plan:
        raise DataError("records: `life` is about another plan. Call shelf_life(plan, ...) with this one.")
    if certificates is not None and len(certificates) != len(plan):
        raise DataError(
            f"records: `certificates` must have one entry per row of the plan; got {len(certificates)} for "
            f"{len(plan)} rows."
        )


def _terms(certificate: Certificate, plan: RecourseFrame) -> JsonObject:
    """What a record says of a guarantee: enough to find it, and to read it."""
    if certificate.model != plan.predictor.digest():
        raise DataError(
            "records: the certificate was made for another model or threshold than the plan. Find recourse with "
            "the model that was certified."
        )
    names = ("threshold", "miscoverage", "failure", "n", "k", "date")
    terms = {name: getattr(certificate, name) for name in names}
    return {"kind": "guarantee", "sha256": certificate.to_dict()["sha256"], **terms}


def _method(plan: RecourseFrame) -> JsonObject:
    name = next((name for name, cls in METHODS.items() if cls.__name__ == plan.method), plan.method)
    seed = plain(plan.settings.get("random_state"))
    seed = seed if isinstance(seed, int) else None
    return {"name": name, "params": _described(plan.settings), "seed": seed, "norm": plan.norm}


def _described(settings: Keywords) -> JsonObject:
    """Parameters in plain types; one that cannot be written, such as a fitted model, as text for the reader."""
    out = {}
    for name, value in settings.items():
        try:
            out[name] = _listed(describe(value))
        except DataError:
            out[name] = {"$text": repr(value)[:1000]}
    return out


def _listed(value: Any) -> Any:
    """As it will be read back: lists for tuples, None for what is not a number."""
    if isinstance(value, dict):
        return {str(k): _listed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_listed(v) for v in value]
    value = plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def survival_of(life: ShelfLife, i: int) -> JsonObject:
    """What a record says of one row's chance to hold."""
    return {
        "estimate": float(life.survival[i]),
        "lower": float(life.lower[i]),
        "upper": float(life.upper[i]),
        "confidence": life.confidence,
        "n_models": life.n_models,
        "vary": life.vary,
    }


def _software() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in SOFTWARE}


def _same(a: Any, b: Any, close: float = CLOSE) -> bool:
    if isinstance(a, dict):  # a person's columns, which are in double precision
        return isinstance(b, dict) and a.keys() == b.keys() and all(_same(a[key], b[key], 1e-9) for key in a)
    if _is_number(a) and _is_number(b):
        return math.isclose(a, b, rel_tol=close, abs_tol=close)
    return type(a) is type(b) and a == b


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _notes(record: "Record") -> list[str]:
    notes = []
    if "random_state" in record.method["params"] and record.method["seed"] is None:
        notes.append("The method was run without a seed, so that another run may find another recourse.")
    now = _software()
    for name, version in record.software.items():
        if name in now and now[name] != version:
            notes.append(f"Recorded with {name} {version}; this is {now[name]}.")
    return notes
