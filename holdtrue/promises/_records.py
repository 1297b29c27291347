"""From a plan to records of what is promised, and into the ledger."""

import importlib.metadata
import math
import platform
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from holdtrue._types import Cell, JsonObject, Keywords
from holdtrue.attribution import Reasons
from holdtrue.classifier import Certificate, describe, rows_of
from holdtrue.errors import DataError, DoesNotHold
from holdtrue.methods import METHODS, Held, RecourseFrame
from holdtrue.reports import ShelfLife
from holdtrue.schema import hinted, plain

if TYPE_CHECKING:  # the ledger brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Ledger, Record

# What a record says of a level: enough to search again, and to say what it rests on.
LEVEL = (
    "hold", "slack", "spared", "term", "kept", "lower", "confidence", "reached", "people", "judges", "guides",
    "periods", "note",
)  # fmt: skip
SOFTWARE = ("holdtrue", "jax", "equinox", "optax", "numpy", "scipy")


class Terms(TypedDict, total=False):
    """What `records` may be told of promises, beside the plan and whose it is."""

    valid_for: timedelta | float | None
    model_version: str | None
    life: ShelfLife | None
    certificates: Certificate | Sequence[Any] | None
    ids: Sequence[str | None] | None
    issued: datetime | None
    reason: str | Sequence[str | None] | None
    reasons: Reasons | None


@hinted(Terms)
def promise(
    plan: RecourseFrame,
    subjects: Sequence[object],
    ledger: "Ledger | None" = None,
    *,
    only_holding: bool = False,
    **terms: Unpack[Terms],
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
    only_holding : bool, default=False
        Leave out what is known not to hold and has no reason. Without it, that is refused.
    terms
        `valid_for`, `model_version`, `life`, `certificates`, `ids`, `issued`, `reason`, `reasons`: see `records`.

    Returns
    -------
    list of Record

    Examples
    --------
    >>> import os, tempfile
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8, random_state=0
    ... )
    >>> plan = clf.fit(bank.X, bank.y).recourse(bank.X[:50])
    >>> with ht.Ledger.create(os.path.join(tempfile.mkdtemp(), "promises.db")) as ledger:
    ...     keys = [f"application {i}" for i in bank.X.index[:50]]
    ...     made = ht.promise(plan, keys, ledger, valid_for=90, only_holding=True)
    ...     ledger.counts()["live"] == len(made) <= int(plan.found.sum())
    True
    """
    made = records(plan, subjects, only_holding=only_holding, **terms)
    if ledger is not None:
        ledger.issue(made)
    return made


@hinted(Terms)
def records(
    plan: RecourseFrame, subjects: Sequence[object], *, only_holding: bool = False, **terms: Unpack[Terms]
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
        What `shelf_life` says about this plan: each person's chance that the recourse holds. When omitted what
        the plan says itself (``plan.held``).
    certificates : Certificate or sequence, optional
        The guarantee of which each record has the terms; the one that the model carries (``clf.certificate_``)
        when omitted. Or one object (or None) per row of the plan.
    ids : sequence of str, optional
        An id, 32 hexadecimal digits, for the record of each row of the plan; None is a new one.
    issued : datetime, optional
        Now, when omitted.
    reason : str or sequence, optional
        Why what is known not to hold is promised all the same: one text, or one (or None) per row of the plan. It
        is kept in the records of those rows, and in no letter.
    reasons : Reasons, optional
        What ``plan.reasons(...)`` returned: why each person was refused. Records keep them, letters name them.
    only_holding : bool, default=False
        Leave out what is known not to hold and has no reason. Without it, that is refused.

    Returns
    -------
    list of Record

    Raises
    ------
    DoesNotHold
        Where a recourse is known not to hold and no reason is given.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(
    ...     schema=bank.schema, model=ht.Linear(), regime=quick, threshold=0.8, random_state=0
    ... )
    >>> plan = clf.fit(bank.X, bank.y).recourse(bank.X[:50])
    >>> keys = [f"application {i}" for i in bank.X.index[:50]]
    >>> promised = ht.records(plan, keys, valid_for=90, reason="a demonstration")
    >>> len(promised) == int(plan.found.sum())
    True
    """
    made = drafts(plan, subjects, **terms)
    if only_holding:
        return [record for record in made if not lacks_reason(record)]
    check_holding(made)
    return made


def lacks_reason(record: "Record") -> bool:
    """Whether a record promises what is known not to hold, and gives no reason."""
    return _fails(record.survival) and record.reason is None


def check_holding(made: "Sequence[Record]") -> None:
    """Refuse to promise what is known not to hold, unless somebody has written why."""
    bad = [record for record in made if lacks_reason(record)]
    if bad:
        survival: JsonObject = bad[0].survival or {}
        first = f"{survival['estimate']:.0%} of {survival['n_models']} retrained models accept it"
        which = "the recourse is" if len(made) == 1 else f"{len(bad)} of {len(made)} recourses are"
        raise DoesNotHold(
            f"promise: {which} known not to hold at {100 * survival['level']['hold']:g}%; got {bad[0].subject!r}, "
            f"{first}. Write a `reason`, or promise what holds only."
        )


def drafts(
    plan: RecourseFrame,
    subjects: Sequence[object],
    *,
    valid_for: timedelta | float | None = None,
    model_version: str | None = None,
    life: ShelfLife | None = None,
    certificates: Certificate | Sequence[Any] | None = None,
    ids: Sequence[str | None] | None = None,
    issued: datetime | None = None,
    reason: str | Sequence[str | None] | None = None,
    reasons: Reasons | None = None,
) -> "list[Record]":
    """Records to be looked at: what `records` makes, and refuses where it may not be issued."""
    from holdtrue.ledger import Record, new_id

    keys, predictor = _keys(subjects, len(plan)), plan.predictor
    model, carried = predictor.digest(), predictor.certificate
    if certificates is None and isinstance(carried, Certificate):
        certificates = carried
    if isinstance(certificates, Certificate):
        certificates = [_terms(certificates, model)] * len(plan)
    why = [reason] * len(plan) if isinstance(reason, str) else reason
    _check(plan, life, certificates=certificates, ids=ids, reason=why)
    if reasons is not None and len(reasons) != len(plan):
        raise DataError(
            f"records: `reasons` must be those of the plan; got {len(reasons)} for {len(plan)} rows. Give "
            "plan.reasons()."
        )
    stated = stated_survival(plan, life)
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
            survival=stated[i],
            reason=None if why is None or not _fails(stated[i]) else why[i],
            reasons=None if reasons is None else _listed(reasons.to_dict(i)),
            certificate=None if certificates is None else certificates[i],
            id=(None if ids is None else ids[i]) or new_id(),
            **shared,
        )
        for i in np.flatnonzero(plan.found).tolist()
    ]


def _keys(subjects: Sequence[Cell], n: int) -> list[Cell]:
    keys = [plain(key) for key in subjects]
    if len(keys) != n:
        raise DataError(
            f"records: `subjects` must have one key per row of the plan; got {len(keys)} for {n} rows. With "
            "several options per person give keys[plan.person]."
        )
    return keys


def _check(plan: RecourseFrame, life: ShelfLife | None, **each: Sequence[object] | None) -> None:
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
    if certificate.hold is not None:
        terms["hold"] = {name: certificate.hold[name] for name in ("hold", "term", "kept", "lower")}
    return {"kind": "guarantee", "sha256": certificate.to_dict()["sha256"], **terms}


def _method(plan: RecourseFrame) -> JsonObject:
    name = next((name for name, cls in METHODS.items() if cls.__name__ == plan.method), plan.method)
    return {"name": name, "params": described(plan.settings), "seed": plan.seed, "norm": plan.norm}


def described(settings: Keywords) -> JsonObject:
    """Parameters in plain types; one that cannot be written, such as a fitted model, as text for the reader."""
    out = {}
    for name, value in settings.items():
        try:
            out[name] = _listed(describe(value))
        except DataError:
            out[name] = {"$text": repr(value)[:1000]}
    return out


def _listed(value: Cell) -> Cell:
    """As it will be read back: lists for tuples, and what JSON has no number for by its name."""
    if isinstance(value, dict):
        return {str(k): _listed(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_listed(v) for v in value]
    value = plain(value)
    return {"$float": str(value)} if isinstance(value, float) and not math.isfinite(value) else value


def stated_survival(plan: RecourseFrame, life: ShelfLife | None = None) -> list[JsonObject | None]:
    """What is told and recorded of each row's chance to hold; None where nothing is known.

    By the judges of the plan, or by those that `life` asked; it `holds` where the share of them that accept is
    what the plan's level wants.
    """
    held = plan.held
    asked = life if life is not None else held
    if asked is None:
        return [None] * len(plan)
    shares = zip(*(getattr(asked, name).tolist() for name in ("survival", "lower", "upper")), strict=True)
    out: list[JsonObject | None] = []
    for i, (estimate, lower, upper) in enumerate(shares):
        told: JsonObject = {
            "estimate": estimate, "lower": lower, "upper": upper, "confidence": asked.confidence,
            "n_models": asked.n_models, "vary": asked.vary,
        }  # fmt: skip
        out.append(told if held is None else told | _of_level(held, i, estimate))
    return out


def _of_level(held: Held, i: int, estimate: float) -> JsonObject:
    cheapest, wanted = float(held.cheapest[i]), held.level.hold
    return {
        "holds": estimate >= wanted - 1e-9,
        "cheapest": cheapest if math.isfinite(cheapest) else None,
        "guided": held.guided,
        "level": {name: _listed(getattr(held.level, name)) for name in LEVEL},
    }


def _fails(stated: JsonObject | None) -> bool:
    """Whether a recourse is known not to hold."""
    return stated is not None and stated.get("holds") is False


def software() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: importlib.metadata.version(name) for name in SOFTWARE}
