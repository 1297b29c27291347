"""From a plan to records of what is promised, and into the ledger."""

import importlib.metadata
import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from holdtrue._types import JsonObject, Keywords
from holdtrue.classifier import Certificate, describe, rows_of
from holdtrue.errors import DataError
from holdtrue.methods import METHODS, RecourseFrame
from holdtrue.reports import ShelfLife
from holdtrue.schema import plain

if TYPE_CHECKING:  # the ledger brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Ledger, Record

SOFTWARE = ("holdtrue", "jax", "equinox", "optax", "numpy", "scipy")


class Terms(TypedDict, total=False):
    """What `records` may be told of promises, beside the plan and whose it is."""

    valid_for: timedelta | float | None
    model_version: str | None
    life: ShelfLife | None
    certificates: Certificate | Sequence[Any] | None
    ids: Sequence[str | None] | None
    issued: datetime | None


def promise(
    plan: RecourseFrame, subjects: Sequence[Any], ledger: "Ledger | None" = None, **terms: Unpack[Terms]
) -> "list[Record]":
    """Promise every recourse of a plan to its person: make the records and write them into a ledger.

    The command line, the service and Python promise by this, so that a record says the same whoever asked.

    Parameters
    ----------
    plan : RecourseFrame
        What ``clf.recourse(X)`` returned. People without a recourse are promised nothing.
    subjects : sequence of str
        Your own key for the person of each row of the plan. With several options per person:
        ``keys[plan.person]``.
    ledger : Ledger, optional
        Without one nothing is issued yet. Keep the records and give them to ``ledger.issue`` later, as often as
        it takes: by its id none is written twice.
    terms
        `valid_for`, `model_version`, `life`, `certificates`, `ids`, `issued`: see `records`.

    Returns
    -------
    list of Record

    Examples
    --------
    >>> import os, tempfile
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8)
    >>> plan = clf.fit(bank.X, bank.y).recourse(bank.X[:50])
    >>> with ht.Ledger.create(os.path.join(tempfile.mkdtemp(), "promises.db")) as ledger:
    ...     made = ht.promise(plan, [f"application {i}" for i in bank.X.index[:50]], ledger, valid_for=90)
    ...     ledger.counts()["live"] == len(made) == int(plan.found.sum())
    True
    """
    made = records(plan, subjects, **terms)
    if ledger is not None:
        ledger.issue(made)
    return made


def records(
    plan: RecourseFrame,
    subjects: Sequence[Any],
    *,
    valid_for: timedelta | float | None = None,
    model_version: str | None = None,
    life: ShelfLife | None = None,
    certificates: Certificate | Sequence[Any] | None = None,
    ids: Sequence[str | None] | None = None,
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
        The guarantee of which each record has the terms; the one that the model carries (``clf.certificate_``)
        when omitted. Or one object (or None) per row of the plan.
    ids : sequence of str, optional
        An id, 32 hexadecimal digits, for the record of each row of the plan; None is a new one.
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
    from holdtrue.ledger import Record, new_id

    keys, predictor = _keys(subjects, len(plan)), plan.predictor
    model, carried = predictor.digest(), predictor.certificate
    if certificates is None and isinstance(carried, Certificate):
        certificates = carried
    if isinstance(certificates, Certificate):
        certificates = [_terms(certificates, model)] * len(plan)
    _check(plan, life, certificates=certificates, ids=ids)
    issued = datetime.now(UTC) if issued is None else issued
    length = timedelta(days=valid_for) if isinstance(valid_for, (int, float)) else valid_for
    before, after = (predictor.classes[predictor.decide(t)].tolist() for t in (plan.factual, plan.recourse))
    factual, recourse = (rows_of(t, plan.schema) for t in (plan.factual, plan.recourse))
    sentences, target, option = plan.changes(), np.asarray(plan.target).tolist(), plan.option.tolist()
    shared: JsonObject = {
        "threshold": predictor.threshold,
        "model": {"hash": model, "version": model_version},
        "schema": plan.schema.digest(),
        "software": software(),
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
            id=(None if ids is None else ids[i]) or new_id(),
            **shared,
        )
        for i in np.flatnonzero(plan.found).tolist()
    ]


def _keys(subjects: Sequence[Any], n: int) -> list[Any]:
    keys = [plain(key) for key in subjects]
    if len(keys) != n:
        raise DataError(
            f"records: `subjects` must have one key per row of the plan; got {len(keys)} for {n} rows. With "
            "several options per person give keys[plan.person]."
        )
    return keys


def _check(plan: RecourseFrame, life: ShelfLife | None, **each: Sequence[Any] | None) -> None:
    if life is not None and life.plan is not plan:
        raise DataError("records: `life` is about another plan. Call shelf_life(plan, ...) with this one.")
    for name, values in each.items():
        if values is not None and len(values) != len(plan):
            raise DataError(
                f"records: `{name}` must have one entry per row of the plan; got {len(values)} for {len(plan)} "
                "rows."
            )


def _terms(certificate: Certificate, model: str | None) -> JsonObject:
    """What a record says of a guarantee: enough to find it, and to read it."""
    if certificate.model != model:
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
    return {"name": name, "params": described(plan.settings), "seed": seed, "norm": plan.norm}


def described(settings: Keywords) -> JsonObject:
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


def software() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in SOFTWARE}
