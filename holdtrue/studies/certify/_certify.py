"""From calibration rows to a threshold that keeps a promise of recourse."""

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from holdtrue import __version__
from holdtrue._registry import made
from holdtrue._types import Json, JsonObject, Label
from holdtrue.batch import Predictor
from holdtrue.classifier import AbstractClassifier, Certificate, describe, proposed
from holdtrue.errors import CapabilityError, DataError
from holdtrue.methods import AbstractMethod, HighestScore, Level, name_of
from holdtrue.metrics import (
    Correction,
    Guarantee,
    best_f1_threshold,
    drift_test,
    group_thresholds,
    guaranteed_threshold,
    people_needed,
    shift_weights,
    thinned,
)
from holdtrue.models import fresh
from holdtrue.schema import Table, TableLike, as_table, hinted, plain

OnDrift = Literal["refuse", "mark", "weight"]
Chosen = Literal["present", "highest", "f1", "given"]
_SEEN = (
    "Of the calibration rows, {} equal a training row. If they are the same people, the guarantee does not hold."
)
SEEN = re.compile(re.escape(_SEEN).replace(r"\{\}", r"\d+\.\d%"))
"""The note that only a model with its training rows can make."""
LEVEL = ("hold", "term", "kept", "lower", "confidence", "reached", "vary", "people", "judges")
"""What a certificate says of a level."""
DIGITS = 6  # of a threshold: rounded down, which keeps the guarantee


@hinted()
def certify(
    clf: AbstractClassifier,
    X_cal: TableLike,
    y_cal: ArrayLike | None = None,
    *,
    method: str | AbstractMethod | None = None,
    miscoverage: float = 0.05,
    failure: float = 0.05,
    threshold: float | None = None,
    move_threshold: bool = False,
    groups: ArrayLike | None = None,
    correction: Correction = "bonferroni",
    use: TableLike | None = None,
    on_drift: OnDrift = "refuse",
    drift_level: float = 0.01,
    weights: ArrayLike | None = None,
    random_state: int = 0,
    apply: bool = True,
) -> Certificate:
    r"""Certify that at least :math:`1 - \epsilon` of people have recourse at the classifier's threshold (PARE).

    Each calibration person's critical threshold, the largest at which they have recourse, is found by one search.
    The exact binomial tail then gives the largest threshold at which, with confidence :math:`1 - \alpha` over the
    draw of the calibration set, at most :math:`\epsilon` of the population is without recourse. People who are
    accepted as they are count as having it. The classifier's threshold is certified where it is no larger than
    that, and stays: another one decides otherwise about people. One that would do is proposed, with what it would
    cost (``certificate.proposal``), and taken only with `move_threshold`.

    Parameters
    ----------
    clf : RecourseClassifier or Adopted
        Fitted, with two classes.
    X_cal : dataframe
        People who had no part in training or in any choice about the model (epoch, penalty, architecture), drawn
        like those whom the promise is for.
    y_cal : array, optional
        Their labels. With them the threshold of the best F1 among those that keep the guarantee is proposed, else
        the highest that keeps it.
    method : str or AbstractMethod, optional
        The search whose recourse is promised; ``HighestScore()`` when omitted. Any other method says only whether
        a threshold keeps the promise, not which is the highest.
    miscoverage : float, default=0.05
        Share of people who may be without recourse (epsilon).
    failure : float, default=0.05
        Share of calibration draws that may break the promise (alpha).
    threshold : float, optional
        Certify this threshold, fixed beforehand, or refuse.
    move_threshold : bool, default=False
        Take the proposed threshold: the best F1's or the highest.
    groups : str or array, optional
        A column of `X_cal`, or a label per person: the promise is then made to every group.
    correction : {"bonferroni", "sidak", "none"}
        For several groups; see `holdtrue.metrics.group_thresholds`.
    use : dataframe, optional
        People whom the classifier will decide about. They are held against the calibration set.
    on_drift : {"refuse", "mark", "weight"}
        What to do where the two differ: raise an error; make a certificate that says it does not cover them; or
        thin the calibration set by estimated density ratios, so that it resembles them.
    drift_level : float, default=0.01
        p-value below which the sets count as different.
    weights : array, optional
        Known density ratios (in use over calibration) of the calibration people, up to a factor.
    random_state : int, default=0
        Of the drift test and of thinning.
    apply : bool, default=True
        Let the classifier carry the certificate, also into its file, and the threshold where another was asked
        for.

    Notes
    -----
    The promise speaks of the search named in the certificate: another one may find recourse for fewer. It says
    nothing about one person, about what recourse costs, or about the model after a retraining. With estimated
    weights it holds as far as the estimate is right.

    References
    ----------
    [1] Ross, Lakkaraju, Bastani (2021), *Learning models for actionable recourse*, Section 3.3. The bound there is
    the right one; the paper's public code takes the other side of it.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=quick, random_state=0)
    >>> clf = clf.fit(bank.X[:1000], bank.y[:1000])
    >>> certificate = ht.certify(clf, bank.X[1000:1200], move_threshold=True)
    >>> clf.threshold == certificate.threshold, certificate.failures <= certificate.k
    (True, True)
    """
    predictor = _checked(clf, on_drift)
    table = clf._read(X_cal)
    encoded = predictor.encoder.encode(table)
    n_before = len(encoded)
    accepted = None if y_cal is None else _accepted(predictor, y_cal, n_before)
    groups_of = None if groups is None else _groups(groups, X_cal, n_before)
    needed = people_needed(miscoverage, failure)
    rows, drift, weighting = _comparable(clf, encoded, use, weights, on_drift, drift_level, random_state, needed)
    if len(rows) < needed:
        left = "" if weighting is None else f" of {n_before} that are left after weighting"
        raise DataError(
            f"certify: too few calibration people; got {len(rows)}{left}. A guarantee with `miscoverage` "
            f"{miscoverage:g} and `failure` {failure:g} needs {needed} at least, more where some lack recourse."
        )
    chosen = _method(method, threshold, move_threshold)
    kept = table.take(rows)
    present = float(clf.threshold)
    # Fixed beforehand: what was asked for, or the present one where the search cannot say which is the highest.
    fixed = present if threshold is None and not hasattr(chosen, "critical") else threshold
    critical = critical_thresholds(clf, chosen, kept, fixed)
    made = _guarantee(critical, None if groups_of is None else groups_of[rows], miscoverage, failure, correction)
    least = min(g.threshold for g in made.values())
    highest = _down(least) if fixed is None else float(fixed)
    if not least >= highest > 0:
        raise DataError(_refusal(made, fixed))
    score = predictor.proba(kept)[:, predictor.decision.favourable]
    at, why, proposal = highest, "present" if threshold is None else "given", None
    if fixed is None:
        labels = None if accepted is None else accepted[rows]
        at, why, proposal = _chosen(score, labels, highest, present, least, made, move_threshold)
        highest = max(highest, at)
    target = clf if at == present else clf.at_threshold(at)
    if apply and at != present:
        target = clf.set_threshold(at)
    measured = {"accepted": (score >= at).mean(), "with_recourse": (critical >= at).mean()}
    if accepted is not None:
        yes, good = score >= at, accepted[rows]
        measured |= {
            "f1": 2 * (yes & good).sum() / max(1, yes.sum() + good.sum()),
            "accuracy": (yes == good).mean(),
        }
    each = [
        {"group": plain(name), "n": g.n, "k": g.k, "failures": _failures(critical, groups_of, rows, name, at)}
        | {"threshold": g.threshold, "failure": g.failure}
        for name, g in made.items()
    ]
    certificate = Certificate(
        threshold=at, highest=highest, chosen=why, n=len(critical), k=sum(g.k for g in made.values()),
        failures=int((critical < at).sum()), miscoverage=float(miscoverage), failure=float(failure),
        method={"name": name_of(type(chosen)), "params": _plain(describe(chosen)["params"])},
        favourable=plain(predictor.favourable), model=str(target.predictor_.digest()),
        schema=predictor.encoder.schema.digest(), data=data_digest(encoded),
        groups=None if groups_of is None else {
            "column": groups if isinstance(groups, str) else "given", "correction": correction, "each": each
        },
        drift=drift, weighting=weighting, measured={name: float(value) for name, value in measured.items()},
        notes=_notes(clf, encoded, weighting), date=datetime.now(UTC).isoformat(timespec="seconds"),
        software=f"holdtrue {__version__}", hold=level_of(clf), proposal=proposal,
    )  # fmt: skip
    if apply:
        clf.certificate_ = certificate
    return certificate


def level_of(clf: AbstractClassifier) -> JsonObject | None:
    """The level at which a classifier searches for recourse that holds, as a certificate has it."""
    level = getattr(getattr(clf, "method_", None), "level_", None)
    return {name: plain(getattr(level, name)) for name in LEVEL} if isinstance(level, Level) else None


def data_digest(encoded: np.ndarray) -> str:
    """SHA-256 of encoded rows, whatever their order."""
    rows = np.ascontiguousarray(encoded, np.float32)
    parts = sorted(hashlib.sha256(row.tobytes()).digest() for row in rows)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _checked(clf: object, on_drift: str) -> Predictor:
    if not isinstance(clf, AbstractClassifier) or not hasattr(clf, "predictor_"):
        raise CapabilityError(
            f"certify: `clf` must be a fitted RecourseClassifier or an adopted model; got {type(clf).__name__}. "
            "Fit one first, or use holdtrue.adopt."
        )
    if clf.predictor_.decision.n_classes != 2:
        raise CapabilityError(
            f"certify: needs two classes; got {clf.predictor_.decision.n_classes}. With more none has a threshold."
        )
    if on_drift not in ("refuse", "mark", "weight"):
        raise DataError(
            f"certify: `on_drift` is not known; got {on_drift!r}. Known are 'refuse', 'mark', 'weight'."
        )
    return clf.predictor_


def _chosen(
    score: np.ndarray, accepted: np.ndarray | None, highest: float, present: float, least: float,
    made: Mapping[Label, Guarantee], move: bool,
) -> tuple[float, Chosen, JsonObject | None]:  # fmt: skip
    """The threshold to certify and why it is that one; what else would do, where it is the present one."""
    best, why = highest, "highest"
    if accepted is not None:
        f1 = _down(best_f1_threshold(score, accepted, highest)[0])
        best, why = (f1, "f1") if f1 > 0 else (highest, "f1")
    if move:
        return best, why, None
    proposal = {"threshold": best, "chosen": why} | {
        name: float((score >= at).mean()) for name, at in (("accepted", best), ("accepted_now", present))
    }
    if present > least:
        short = ", ".join(str(name) for name, g in made.items() if g.threshold < present)
        raise DataError(
            f"certify: more people are without recourse at the present threshold, {present:g}, than may be; got "
            f"too many for {short}. {proposed(proposal)}"
        )
    return present, "present", None if best == present else proposal


def _method(method: str | AbstractMethod | None, threshold: float | None, move: bool) -> AbstractMethod:
    chosen = HighestScore() if method is None else made(AbstractMethod, method)
    if not hasattr(chosen, "critical") and threshold is None and move:
        raise CapabilityError(
            f"certify: {type(chosen).__name__} does not say up to which threshold it finds recourse, so that the "
            "largest cannot be found. Give the `threshold` to certify, leave `move_threshold` out, or use "
            "HighestScore."
        )
    if threshold is not None and move:
        raise DataError(
            f"certify: `threshold` and `move_threshold` are two ways to say which; got {threshold!r} and True. "
            "Give one of them."
        )
    if threshold is not None and not 0 < threshold < 1:
        raise DataError(f"certify: `threshold` must lie between 0 and 1; got {threshold!r}.")
    return chosen


def critical_thresholds(
    clf: AbstractClassifier, method: AbstractMethod, table: Table, threshold: float | None
) -> np.ndarray:
    """Each person's critical threshold; for a given threshold only whether they have recourse there."""
    if isinstance(method, HighestScore):
        return fresh(method).fit(clf).critical(table)
    assert threshold is not None
    at = clf.at_threshold(threshold)
    own = at.method_ if type(method) is type(at.method_) and not hasattr(method, "predictor_") else None
    plan = (own if own is not None and method.needs_rows else fresh(method).fit(at)).recourse(table)
    already = at.predictor_.decide(table) == at.predictor_.decision.favourable
    return np.where(plan.found | already, threshold, -np.inf)


def _guarantee(
    critical: np.ndarray, groups: np.ndarray | None, miscoverage: float, failure: float, correction: Correction
) -> Mapping[Label, Guarantee]:
    if groups is None:
        return {"everybody": guaranteed_threshold(critical, miscoverage, failure)}
    return group_thresholds(critical, groups, miscoverage, failure, correction=correction)


def _refusal(made: Mapping[Label, Guarantee], threshold: float | None) -> str:
    if threshold is None:
        return (
            "certify: no threshold above 0 keeps the promise; too many people cannot change their score at all. "
            "Train the model for recourse, let the schema permit more, or raise `miscoverage`."
        )
    short = [str(name) for name, g in made.items() if g.threshold < threshold]
    allowed = {str(name): g.k for name, g in made.items()}
    return (
        f"certify: more people are without recourse at `threshold` {threshold:g} than may be; got too many for "
        f"{', '.join(short)}, where {allowed!r} are allowed. Lower the threshold, or leave it out."
    )


def _accepted(predictor: Predictor, y: ArrayLike, n: int) -> np.ndarray:
    labels = np.asarray(y)
    unknown = sorted(set(labels.tolist()) - set(predictor.classes.tolist()), key=str)
    if labels.shape != (n,) or unknown:
        raise DataError(
            f"certify: `y_cal` must have a label of the model's per row; got shape {labels.shape} for {n} rows"
            + (f" and labels {unknown[:3]!r}." if unknown else ".")
        )
    return labels == predictor.favourable


def _groups(groups: str | ArrayLike, X: TableLike, n: int) -> np.ndarray:
    if isinstance(groups, str):
        columns = as_table(X, where="certify").columns
        if groups not in columns:
            raise DataError(f"certify: `groups` is not a column of the calibration table; got {groups!r}.")
        groups = columns[groups]
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise DataError(f"certify: `groups` must have a label per row; got shape {labels.shape} for {n} rows.")
    return labels.astype(str) if labels.dtype == object else labels


def _comparable(
    clf: AbstractClassifier, encoded: np.ndarray, use: TableLike | None, weights: ArrayLike | None,
    on_drift: OnDrift, level: float, seed: int, needed: int,
) -> tuple[np.ndarray, JsonObject | None, JsonObject | None]:  # fmt: skip
    """Calibration rows that stand for the people in use, what the drift test said, and how rows were thinned."""
    predictor = clf.predictor_
    rows, weighting = np.arange(len(encoded)), None
    if weights is not None:
        rows = np.flatnonzero(thinned(weights, random_state=seed))
        weighting = {"kind": "given", "n_before": len(encoded), "seed": seed}
    if use is None or len(rows) < needed:
        return rows, None, weighting
    people = predictor.encoder.encode(clf._read(use))
    drift = drift_between(predictor, encoded[rows], people, level, seed)
    if not drift["exchangeable"] and on_drift == "weight" and weighting is None:
        rows = np.flatnonzero(thinned(shift_weights(encoded, people, random_state=seed), random_state=seed))
        weighting = {"kind": "estimated", "n_before": len(encoded), "seed": seed}
        if len(rows) < needed:
            return rows, drift, weighting
        drift = drift_between(predictor, encoded[rows], people, level, seed)
    if not drift["exchangeable"] and on_drift != "mark":
        after, advice = (
            ("", ", or give on_drift='weight' or 'mark'.") if weighting is None else (" even after weighting", ".")
        )
        raise DataError(
            f"certify: calibration and use are not exchangeable{after}, so that no guarantee carries over; got a "
            f"p-value of {drift['p_value']:.3g} (AUC {drift['auc']:.2f}, largest difference in "
            f"{', '.join(drift['columns'])}). Calibrate on people like those in use{advice}"
        )
    return rows, drift, weighting


def drift_between(
    predictor: Predictor, calibration: np.ndarray, use: np.ndarray, level: float, seed: int
) -> JsonObject:
    """Test two sets of encoded rows for drift, and name the columns in which they differ most."""
    found = drift_test(calibration, use, random_state=seed)
    far = {
        slot.name: float(found.distances[slot.start : slot.stop].max()) for slot in predictor.encoder.layout.slots
    }
    return {
        "auc": found.auc,
        "p_value": found.p_value,
        "level": float(level),
        "n_use": found.n_use,
        "exchangeable": bool(found.p_value >= level),
        "columns": sorted(far, key=far.__getitem__, reverse=True)[:3],
    }


def _failures(critical: np.ndarray, groups: np.ndarray | None, rows: np.ndarray, name: object, at: float) -> int:
    mine = np.ones(len(critical), bool) if groups is None else groups[rows] == name
    return int((critical[mine] < at).sum())


def _down(value: float) -> float:
    """Rounded down to a few digits: a threshold that people can read, and a float32 can hold."""
    if not np.isfinite(value) or value <= 0:
        return float(value)
    unit = 10.0 ** (np.floor(np.log10(value)) - DIGITS + 1)
    return float(f"{np.floor(value / unit) * unit:.{DIGITS}g}")


def _plain(value: object) -> Json:
    """As JSON can hold it: an infinite radius is a text."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _notes(clf: AbstractClassifier, encoded: np.ndarray, weighting: JsonObject | None) -> list[str]:
    notes = []
    if clf.training_ is not None:
        known = {row.tobytes() for row in np.asarray(clf.training_.data.x, np.float32)}
        share = float(np.mean([row.tobytes() in known for row in np.ascontiguousarray(encoded, np.float32)]))
        if share > 0:
            notes.append(_SEEN.format(f"{share:.1%}"))
    if weighting is not None and weighting["kind"] == "estimated":
        notes.append("The weights are estimates; the guarantee holds as far as they are right.")
    return notes
