"""Every figure of a piece of evidence, from its tables alone: what is not in a table is not counted."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from holdtrue import metrics
from holdtrue._json import plain
from holdtrue._types import JsonObject
from holdtrue.handover._chain import ledger_figures
from holdtrue.handover._counts import column, share

GROUP = "group."
"""What a column of the table of people begins with that says which group each is in."""
STANDS = 0.8  # share of the guides that give a reason, too, from which on it stands


def figures_of(tables: Mapping[str, pa.Table], given: JsonObject) -> JsonObject:
    """The figures, as JSON has them.

    Parameters
    ----------
    tables : mapping of str to pyarrow.Table
    given : dict
        What was handed in: of it the confidence, the certificate and the ledger's name are used.
    """
    confidence = float(given["settings"]["confidence"])
    people = Crowd(tables["people"], tables.get("judges"), confidence)
    out: JsonObject = {"confidence": confidence, "everybody": people.measures(), "groups": people.groups()}
    out["reasons"] = None if "reasons" not in tables else _reasons(tables, confidence)
    out["backtest"] = None if "backtest" not in tables else _backtest(tables["backtest"], confidence)
    out["certificate"] = (
        None if "calibration" not in tables else _certificate(tables["calibration"], given["certificate"])
    )
    out["ledger"] = None if "ledger" not in tables else ledger_figures(tables, given["ledger"], confidence)
    return plain(out)


class Crowd:
    """The table of people, and what is counted of any part of them.

    Parameters
    ----------
    people : pyarrow.Table
    judges : pyarrow.Table or None
    confidence : float
    """

    def __init__(self, people: pa.Table, judges: pa.Table | None, confidence: float) -> None:
        self.confidence = confidence
        self.n = people.num_rows
        numbers = ("score", "accepted", "asked", "found", "proved_none", "proved_cheapest", "cost", "cheapest")
        self.of = {name: column(people, name) for name in (*numbers, "changed", "holds")}
        known = people.column("label")
        self.labelled = known.null_count < self.n
        self.good = column(people, "label") if self.labelled else None
        statuses = people.column("status").to_pylist()
        self.status = np.array(["" if one is None else one for one in statuses], object)
        self.judged = "survival" in people.column_names
        self.group_of = {
            name.removeprefix(GROUP): np.array(people.column(name).to_pylist(), object)
            for name in people.column_names
            if name.startswith(GROUP)
        }
        self.accepts = None if judges is None else self._answers(people, judges)

    def _answers(self, people: pa.Table, judges: pa.Table) -> np.ndarray:
        """Of shape (judges, people); people without a recourse have no answers."""
        place = {row: i for i, row in enumerate(column(people, "row").tolist())}
        rows = np.array([place[row] for row in column(judges, "row").tolist()], int)
        which = column(judges, "judge")
        out = np.zeros((int(which.max(initial=-1)) + 1, self.n), bool)
        out[which, rows] = column(judges, "accepts")
        return out

    def measures(self, part: np.ndarray | None = None) -> JsonObject:
        """What is counted of some people; of all when omitted."""
        part = np.ones(self.n, bool) if part is None else part
        of, c = self.of, self.confidence
        refused, asked = part & ~of["accepted"], part & of["asked"]
        found = asked & of["found"]
        n_found = found.sum()
        out: JsonObject = {"people": int(part.sum()), "refused": share(refused.sum(), part.sum(), c)}
        out["performance"] = self._performance(part)
        out["asked"] = int(asked.sum())
        out["found"] = share(n_found, asked.sum(), c)
        out["proved_none"] = share((asked & of["proved_none"]).sum(), asked.sum(), c)
        open_ = asked & ~of["found"] & ~of["proved_none"]
        out["open"] = share(open_.sum(), asked.sum(), c)
        out["proved_cheapest"] = share((found & of["proved_cheapest"]).sum(), n_found, c)
        kinds, counts = np.unique(self.status[asked].astype(str), return_counts=True)
        out["statuses"] = {str(kind): int(count) for kind, count in zip(kinds, counts, strict=True)}
        out["cost"] = self._spread(of["cost"][found])
        priced = found & np.isfinite(of["cheapest"])
        out["cheapest"] = self._spread(of["cheapest"][priced])
        out["changed"] = self._spread(of["changed"][found])
        out["survival"], out["holds"] = None, None
        if self.accepts is not None:
            value, lower, upper = metrics.survival_interval(self.accepts[:, found], c)
            out["survival"] = {"value": value, "lower": lower, "upper": upper, "judges": len(self.accepts)}
            out["holds"] = share((found & of["holds"]).sum(), n_found, c)
        return out

    def _performance(self, part: np.ndarray) -> JsonObject | None:
        if self.good is None:
            return None
        yes, good, score = self.of["accepted"][part], self.good[part], self.of["score"][part]
        c = self.confidence
        area = metrics.auc_interval(score, good, c)
        brier = metrics.mean_interval((score - good) ** 2, c)
        return {
            "accuracy": share((yes == good).sum(), len(yes), c),
            "accepted_of_good": share((yes & good).sum(), good.sum(), c),
            "accepted_of_bad": share((yes & ~good).sum(), (~good).sum(), c),
            "good_of_accepted": share((yes & good).sum(), yes.sum(), c),
            "auc": area._asdict(),
            "brier": brier._asdict(),
        }

    def _spread(self, values: np.ndarray) -> JsonObject:
        middle, high = np.quantile(values, [0.5, 0.9]) if len(values) else (None, None)
        return metrics.mean_interval(values, self.confidence)._asdict() | {"median": middle, "high": high}

    def groups(self) -> JsonObject:
        """The same of every group, and how far each is from all the others."""
        out: JsonObject = {}
        for name, labels in self.group_of.items():
            out[name] = {}
            for label in sorted({str(one) for one in labels}):
                mine = labels == label
                out[name][label] = {"measures": self.measures(mine), "difference": self._difference(mine)}
        return out

    def _difference(self, mine: np.ndarray) -> JsonObject:
        """A group less the others."""
        of, c, other = self.of, self.confidence, ~mine
        found = of["asked"] & of["found"]

        def shares(what: np.ndarray, among: np.ndarray) -> JsonObject:
            counts = [int((what & among & who).sum()) for who in (mine, other)]
            sizes = [int((among & who).sum()) for who in (mine, other)]
            return metrics.difference_of_shares(counts[0], sizes[0], counts[1], sizes[1], c)._asdict()

        everybody = np.ones(self.n, bool)
        out: JsonObject = {
            "refused": shares(~of["accepted"], everybody),
            "found": shares(of["found"], of["asked"]),
            "cost": metrics.difference_of_means(of["cost"][found & mine], of["cost"][found & other], c)._asdict(),
            "accuracy": None, "holds": None, "survival": None,
        }  # fmt: skip
        if self.good is not None:
            out["accuracy"] = shares(of["accepted"] == self.good, everybody)
        if self.accepts is not None:
            out["holds"] = shares(of["holds"], found)
            parts = self.accepts[:, found & mine], self.accepts[:, found & other]
            out["survival"] = metrics.difference_of_survival(*parts, c)._asdict()
        return out


def _reasons(tables: Mapping[str, pa.Table], confidence: float) -> JsonObject:
    named, shares = tables["reasons"], tables["contributions"]
    row, text, rank = (
        column(named, "row"),
        np.array(named.column("reason").to_pylist(), object),
        column(named, "rank"),
    )
    parts = column(shares, "contribution")
    whose, which = np.unique(column(shares, "row"), return_inverse=True)
    totals = np.bincount(which, parts, minlength=len(whose))
    gap = column(tables["gaps"], "gap")[np.searchsorted(column(tables["gaps"], "row"), whose)]
    out: JsonObject = {
        "people": len(whose),
        "largest_remainder": float(np.abs(totals - gap).max(initial=0.0)),
        "stands_from": STANDS,
        "in_recourse": None,
        "agreement": None,
        "first_agreement": None,
        "stands": None,
    }
    offered = ~np.array([one is None for one in named.column("in_recourse").to_pylist()])
    if offered.any():
        out["in_recourse"] = share(column(named, "in_recourse")[offered].sum(), offered.sum(), confidence)
    votes, models = column(named, "votes"), column(named, "models")
    stands = votes >= STANDS * models - 1e-9
    if "panel" in tables:
        panel = tables["panel"]
        for name, values in (("agreement", "overlap"), ("first_agreement", "first")):
            by = np.bincount(column(panel, "model"), column(panel, values).astype(float))
            counts = np.bincount(column(panel, "model"))
            found = metrics.mean_interval(by / counts, confidence)
            out[name] = {
                "value": found.value, "lower": max(found.lower, 0.0), "upper": min(found.upper, 1.0),
                "models": len(by),
            }  # fmt: skip
        out["stands"] = share(stands.sum(), len(stands), confidence)
    out["each"] = {}
    for name in sorted(set(text.tolist())):
        mine = text == name
        out["each"][name] = {
            "named": share(len(np.unique(row[mine])), len(whose), confidence),
            "first": int((rank[mine] == 1).sum()),
            "stands": share(stands[mine].sum(), mine.sum(), confidence) if "panel" in tables else None,
        }
    names, hidden = np.array(shares.column("name").to_pylist(), object), column(shares, "protected")
    out["contributions"] = {
        name: {
            "mean": metrics.mean_interval(parts[names == name], confidence)._asdict(),
            "protected": bool(hidden[names == name].any()),
        }
        for name in sorted(set(names.tolist()))
    }
    return out


def _backtest(table: pa.Table, confidence: float) -> JsonObject:
    people, kept = column(table, "people"), column(table, "kept")
    each = {
        period: share(k, n, confidence)
        for period, k, n in zip(table.column("period").to_pylist(), kept.tolist(), people.tolist(), strict=True)
    }
    return {"periods": each, "all": share(kept.sum(), people.sum(), confidence)}


def _certificate(table: pa.Table, certificate: JsonObject) -> JsonObject:
    critical, threshold = column(table, "critical"), certificate["threshold"]
    failures, n = int((critical < threshold).sum()), len(critical)
    allowed = metrics.allowed_failures(n, certificate["miscoverage"], certificate["failure"])
    _, upper = metrics.clopper_pearson(failures, n, 1 - certificate["failure"], "upper")
    return {"n": n, "failures": failures, "allowed": allowed, "without_recourse_at_most": float(upper)}
