"""Hold a certificate against the model, the calibration rows and the people in use."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from holdtrue._types import JsonObject, Keywords
from holdtrue.classifier import AbstractClassifier, Certificate, rebuild
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod
from holdtrue.metrics import clopper_pearson, shift_weights, thinned
from holdtrue.schema import TableLike, hinted
from holdtrue.studies.certify._certify import (
    SEEN,
    certify,
    critical_thresholds,
    data_digest,
    drift_between,
    level_of,
)

AUTHORS = "when, with which software and for what reason the threshold was certified (its author's word)"
CLOSE = 1e-4  # thresholds are made of single-precision scores, which differ in the last digits between processors


class Finding(NamedTuple):
    """One thing that was checked."""

    what: str
    ok: bool
    said: str


@dataclass(frozen=True)
class CertificateCheck:
    """What `verify` found.

    Attributes
    ----------
    findings : list of Finding
        `what` was checked, whether it is `ok`, and what was `said`.
    unchecked : list of str
        What was not looked at, for want of data.
    """

    findings: list[Finding]
    unchecked: list[str]

    @property
    def ok(self) -> bool:
        """Whether everything that was checked is in order."""
        return all(finding.ok for finding in self.findings)

    def to_dict(self) -> JsonObject:
        """Return plain types for JSON."""
        return {"ok": self.ok, "findings": [f._asdict() for f in self.findings], "unchecked": self.unchecked}

    def __str__(self) -> str:
        head = "The certificate holds, as far as it was checked." if self.ok else "The certificate does not hold."
        lines = [f"{'ok  ' if f.ok else 'FAIL'} {f.what}: {f.said}" for f in self.findings]
        return "\n".join([head, *lines, *(f"--   {what}: not checked" for what in self.unchecked)])


@hinted()
def verify(
    certificate: Certificate,
    clf: AbstractClassifier,
    X_cal: TableLike | None = None,
    y_cal: ArrayLike | None = None,
    *,
    use: TableLike | None = None,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    drift_level: float = 0.01,
    random_state: int = 0,
) -> CertificateCheck:
    """Re-check a certificate: its arithmetic, the model, the calibration rows, and the people it is used on.

    Parameters
    ----------
    certificate : Certificate
    clf : RecourseClassifier or Adopted
        The model that it is shown with.
    X_cal, y_cal : dataframe and array, optional
        The calibration rows and labels. Everything is then computed again.
    use : dataframe, optional
        People whom the model decides about. With `X_cal` they are tested for drift. In any case everyone's
        recourse is looked for at the threshold, and the promise counts as broken where so many without it would
        be a coincidence of probability 0.01 or less.
    groups, weights
        As they were given to `certify`, where they were arrays.
    drift_level : float, default=0.01
    random_state : int, default=0
        Of the drift test.

    Returns
    -------
    CertificateCheck
        A drift is a finding that is not ok: the certificate may be genuine and still not cover these people.

    Examples
    --------
    >>> import holdtrue as ht
    >>> bank = ht.datasets.load("loanapp")
    >>> quick = ht.StandardTraining(n_epochs=5)
    >>> clf = ht.RecourseClassifier(schema=bank.schema, model=ht.Linear(), regime=quick, random_state=0)
    >>> clf = clf.fit(bank.X[:1000], bank.y[:1000])
    >>> certificate = ht.certify(clf, bank.X[1000:1200])
    >>> ht.verify(certificate, clf, bank.X[1000:1200]).ok
    True
    """
    check = _Check(certificate, clf)
    findings = [check.arithmetic(), *check.model()]
    unchecked = [AUTHORS]
    if X_cal is None:
        unchecked.append("calibration rows")
    else:
        same = check.rows(X_cal)
        findings.append(same)
        if same.ok:
            findings += check.again(X_cal, y_cal, groups, weights, use)
            unchecked += check.beyond(y_cal)
    if use is None:
        unchecked.append("people in use")
    else:
        if X_cal is not None:
            findings.append(check.drift(X_cal, use, weights, drift_level, random_state))
        else:
            unchecked.append("drift")
        findings.append(check.promise(use))
    return CertificateCheck(findings, unchecked)


def critical_of(certificate: Certificate, clf: AbstractClassifier, X_cal: TableLike) -> np.ndarray:
    """Of each calibration person the largest threshold at which the certificate's search gives them recourse."""
    method = _Check(certificate, clf).method()
    return critical_thresholds(clf, method, clf._read(X_cal), certificate.threshold)


class _Check:
    """One certificate and one model."""

    def __init__(self, certificate: Certificate, clf: AbstractClassifier) -> None:
        self.certificate, self.clf = certificate, clf

    def arithmetic(self) -> Finding:
        wrong = self.certificate.contradictions()
        c = self.certificate
        said = f"{c.failures} of {c.n:,} without recourse, {c.k} allowed"
        return Finding("arithmetic of the bound", not wrong, wrong[0] if wrong else said)

    def model(self) -> Iterator[Finding]:
        c, predictor = self.certificate, self.clf.predictor_
        for what, said, now in (
            ("schema", c.schema, predictor.encoder.schema.digest()),
            ("model and threshold", c.model, predictor.digest()),
            ("favourable class", str(c.favourable), str(predictor.favourable)),
        ):
            text = said[:12] if said == now else f"the certificate names {said[:12]}, this is {str(now)[:12]}"
            yield Finding(what, said == now, text)
        if c.hold is not None:
            same = level_of(self.clf) == c.hold
            said = f"{100 * c.hold['hold']:g}%" + ("" if c.hold["term"] is None else f", term {c.hold['term']}")
            yield Finding("hold level", same, said if same else f"the certificate names {said}, this is another")

    def rows(self, X_cal: TableLike) -> Finding:
        now = data_digest(self._encode(X_cal))
        same = now == self.certificate.data
        return Finding(
            "calibration rows", same, now[:12] if same else "these are not the rows that it was made from"
        )

    def again(
        self,
        X_cal: TableLike,
        y_cal: ArrayLike | None,
        groups: ArrayLike | None,
        weights: ArrayLike | None,
        use: TableLike | None,
    ) -> list[Finding]:
        """Certify once more, and compare."""
        c = self.certificate
        what = "computed again"
        weighted = None if c.weighting is None else c.weighting["kind"]
        if (weighted == "given" and weights is None) or (weighted == "estimated" and use is None):
            lacking = "the weights" if weighted == "given" else "the people in use"
            return [Finding(what, False, f"needs {lacking} too")]
        if c.groups is not None and c.groups["column"] == "given" and groups is None:
            return [Finding(what, False, "needs the groups too")]
        try:
            made = self._certified(X_cal, y_cal, groups, weights, use)
        except DataError as error:
            return [Finding(what, False, str(error))]
        pairs = [("n", c.n, made.n), ("k", c.k, made.k), ("highest", c.highest, made.highest)]
        settled = c.chosen != "f1" or y_cal is not None
        if settled:
            pairs += [("threshold", c.threshold, made.threshold), ("failures", c.failures, made.failures)]
        odd = [f"{name} was {a:g}, now {b:g}" for name, a, b in pairs if not _near(name, a, b, c.n)]
        found = [Finding(what, not odd, "; ".join(odd) or f"the same: highest threshold {made.highest:g}")]
        if settled and not odd:
            found.append(self._measured(made))
        return [*found, self._notes(made)]

    def beyond(self, y_cal: ArrayLike | None) -> list[str]:
        """What the calibration rows alone do not say."""
        c = self.certificate
        if y_cal is None and c.chosen == "f1":
            return ["the choice by F1 and what was measured, which need the labels"]
        return ["f1 and accuracy, which need the labels"] if y_cal is None and "f1" in c.measured else []

    def _certified(
        self,
        X_cal: TableLike,
        y_cal: ArrayLike | None,
        groups: ArrayLike | None,
        weights: ArrayLike | None,
        use: TableLike | None,
    ) -> Certificate:
        c = self.certificate
        column = None if c.groups is None else c.groups["column"]
        how: Keywords = {"groups": groups if groups is not None or column == "given" else column}
        if c.groups is not None:
            how["correction"] = c.groups["correction"]
        if c.weighting is not None:
            how |= {"weights": weights, "random_state": c.weighting["seed"]}
            if c.weighting["kind"] == "estimated":
                assert c.drift is not None
                how |= {"use": use, "on_drift": "weight", "drift_level": c.drift["level"]}
        clf = self.clf
        if c.chosen == "given":
            how["threshold"] = c.threshold
        elif c.chosen == "present":
            clf = clf if clf.threshold == c.threshold else clf.at_threshold(c.threshold)
        else:
            how["move_threshold"] = True
        return certify(
            clf, X_cal, None if c.chosen == "highest" else y_cal, method=self.method(), apply=False,
            miscoverage=c.miscoverage, failure=c.failure, **how,
        )  # fmt: skip

    def _measured(self, made: Certificate) -> Finding:
        c = self.certificate
        with_labels = {"f1", "accuracy"} if "f1" not in made.measured and c.chosen != "highest" else set()
        odd = [
            f"{name} is no measure of it" for name in sorted(set(c.measured) - set(made.measured) - with_labels)
        ]
        odd += [f"{name} is absent" for name in set(made.measured) - set(c.measured) - {"f1", "accuracy"}]
        for name in sorted(set(c.measured) & set(made.measured)):
            a, b = c.measured[name], made.measured[name]
            # As with `failures`: a person at the threshold may fall on either side on another processor.
            if not abs(a - b) <= max(2 / c.n, 2e-3):
                odd.append(f"{name} was {a:g}, now {b:g}")
        shares = ", ".join(f"{name} {value:.3f}" for name, value in made.measured.items())
        return Finding("measured on the calibration rows", not odd, "; ".join(odd) or shares)

    def _notes(self, made: Certificate) -> Finding:
        """Its remarks: none is missing and none is added. Training rows are looked at where the model has them."""
        unseen = self.clf.training_ is None
        written = [n for n in self.certificate.notes if not (unseen and SEEN.fullmatch(n))]
        odd = [f"{note[:60]!r} is added" for note in written if note not in made.notes]
        odd += [f"{note[:60]!r} is missing" for note in made.notes if note not in written]
        return Finding("notes", not odd, "; ".join(odd) or ("none" if not written else "the same"))

    def drift(
        self, X_cal: TableLike, use: TableLike, weights: ArrayLike | None, level: float, seed: int
    ) -> Finding:
        """Hold the people in use against the calibration rows, or against those that weighting left of them."""
        rows, people, weighting = self._encode(X_cal), self._encode(use), self.certificate.weighting
        if weighting is not None:
            if weighting["kind"] == "estimated":
                weights = shift_weights(rows, people, random_state=weighting["seed"])
            if weights is not None:
                rows = rows[thinned(weights, random_state=weighting["seed"])]
        found = drift_between(self.clf.predictor_, rows, people, level, seed)
        said = f"AUC {found['auc']:.3f}, p {found['p_value']:.3g}"
        if not found["exchangeable"]:
            said += f", largest in {', '.join(found['columns'])}: the guarantee does not cover these people"
        return Finding("drift between calibration and use", found["exchangeable"], said)

    def promise(self, use: TableLike) -> Finding:
        """Count who is without recourse among the people in use."""
        c, clf = self.certificate, self.clf
        table = clf._read(use)
        at = clf if clf.threshold == c.threshold else clf.at_threshold(c.threshold)
        plan = self.method().fit(at).recourse(table)
        already = at.predictor_.decide(table) == at.predictor_.decision.favourable
        n, without = len(plan), int((~(plan.found | already)).sum())
        low, high = clopper_pearson(without, n, 0.95, "both")
        chance = float(binom.sf(without - 1, n, c.miscoverage))
        said = (
            f"{without:,} of {n:,} are without recourse ({without / n:.1%}, 95% interval {float(low):.1%} to "
            f"{float(high):.1%}); {c.miscoverage:.1%} was promised at most"
        )
        return Finding("promise among the people in use", chance > 0.01, said)

    def method(self) -> AbstractMethod:
        named = self.certificate.method
        params = {k: float(v) if v in ("inf", "-inf", "nan") else v for k, v in named["params"].items()}
        return rebuild({"$method": named["name"], "params": params})

    def _encode(self, X: TableLike) -> np.ndarray:
        return self.clf.predictor_.encoder.encode(self.clf._read(X))


def _near(name: str, a: float, b: float, n: int) -> bool:
    if name in ("n", "k"):
        return a == b
    # A person at the threshold may fall on either side where a processor rounds otherwise.
    return abs(a - b) <= (max(1, 1e-3 * n) if name == "failures" else CLOSE)
