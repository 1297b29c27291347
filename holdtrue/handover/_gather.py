"""From a model and a table to the tables of a piece of evidence: one row per person, no column of theirs."""

import copy
import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from holdtrue._types import Cell, JsonObject, Keywords
from holdtrue.attribution import CodeTable
from holdtrue.classifier import AbstractClassifier, Certificate
from holdtrue.errors import DataError
from holdtrue.handover._figures import GROUP
from holdtrue.hold import Holding
from holdtrue.ledger import Ledger, genesis
from holdtrue.methods import AbstractMethod, Level, RecourseFrame
from holdtrue.promises import Grouping, gate
from holdtrue.schema import Table, TableLike, as_table
from holdtrue.search import Status
from holdtrue.studies.certify import critical_of

MOST_VALUES = 10  # of a protected number, up to which its values are groups without edges
Groups = Sequence[str] | Mapping[str, Sequence[float] | None]


def groups_asked(groups: Groups | None, clf: AbstractClassifier, X: TableLike) -> dict[str, list[float] | None]:
    """Columns that people are grouped by, with the edges of bins; the schema's protected ones when None."""
    if groups is None:
        table = as_table(X, where="evidence")
        own = [f for f in clf.schema_ if f.protected and f.name in table.columns]
        few = [f.name for f in own if f.has_levels or len(set(table.columns[f.name].tolist())) <= MOST_VALUES]
        return dict.fromkeys(few)
    if isinstance(groups, str):
        groups = [groups]
    if not isinstance(groups, Mapping):
        return dict.fromkeys(groups)
    return {name: None if edges is None else [float(edge) for edge in edges] for name, edges in groups.items()}


def grouped(groups: Mapping[str, Sequence[float] | None], X: TableLike) -> dict[str, list[str]]:
    """Which group everybody is in, by column."""
    columns = as_table(X, where="evidence").columns
    out = {}
    for name, edges in groups.items():
        grouping = Grouping(name, edges, where="evidence")
        grouping.check(list(columns), "the people's table")
        out[name] = grouping.count(columns[name], np.zeros(len(columns[name]), bool)) or []
    return out


def drawn(rows: np.ndarray, n: int | None, seed: int) -> np.ndarray:
    """At most `n` of some rows, by a seed, in their order."""
    if n is None or len(rows) <= n:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, n, replace=False))


def seeded(method: AbstractMethod, seed: int) -> AbstractMethod:
    """A method whose randomness is known: its own, or the evidence's seed where it has none."""
    if method.random_state is not None:
        return method
    out = copy.copy(method)
    out.random_state = seed
    if isinstance(out, Holding):
        out._searching = None  # what was put together without a seed
    return out


def people_tables(
    clf: AbstractClassifier, table: Table, good: np.ndarray | None, groups: Mapping[str, Sequence[str]],
    plan: RecourseFrame, rows: np.ndarray,
) -> dict[str, pa.Table]:  # fmt: skip
    """Everybody's score, decision and group; of those who were searched for what was found; the judges' answers.

    Parameters
    ----------
    clf : AbstractClassifier
    table : Table
        Everybody.
    good : bool array or None
        Whose label is the favourable class.
    groups : mapping of str to sequence of str
    plan : RecourseFrame
        Of the people at `rows`.
    rows : int array
    """
    n, predictor = table.n_rows, clf.predictor_
    favourable = predictor.decision.favourable
    score = np.asarray(predictor.proba(table), np.float64)[:, favourable]
    accepted = predictor.decide(table) == favourable
    asked = np.zeros(n, bool)
    asked[rows] = True
    found, held, none = plan.found, plan.held, plan.proved_none
    changed = plan.acted().sum(axis=1)
    columns: Keywords = {
        "row": pa.array(np.arange(n)),
        "score": pa.array(score),
        "accepted": pa.array(accepted),
        "label": pa.array([None] * n, pa.bool_()) if good is None else pa.array(good),
        "asked": pa.array(asked),
        "status": _spread(n, rows, [Status(s).name for s in plan.status], pa.string()),
        "found": _spread(n, rows, found.tolist(), pa.bool_()),
        "proved_none": _spread(n, rows, none.tolist(), pa.bool_()),
        "proved_cheapest": _spread(n, rows, (plan.status == int(Status.OPTIMAL)).tolist(), pa.bool_()),
        "cost": _numbers(n, rows, np.where(found, plan.cost, np.nan)),
        "cheapest": _numbers(n, rows, np.where(found, np.nan if held is None else held.cheapest, np.nan)),
        "changed": _numbers(n, rows, np.where(found, changed, np.nan)),
        "holds": _spread(n, rows, [None] * len(plan) if held is None else held.holds.tolist(), pa.bool_()),
    }
    columns |= {f"{GROUP}{name}": pa.array(labels, pa.string()) for name, labels in groups.items()}
    out = {"people": pa.table(columns)}
    if isinstance(clf.method_, Holding) and held is not None and found.any():
        out["judges"] = _judges(clf.method_, plan, rows)
    return out


def _judges(method: Holding, plan: RecourseFrame, rows: np.ndarray) -> pa.Table:
    found = plan.found
    n = len(method.judges_)
    said = np.asarray(method.judges_.accepts(plan.recourse.take(found), plan.target[found]))
    return pa.table(
        {
            "row": np.tile(rows[found], n),
            "judge": np.repeat(np.arange(n), int(found.sum())),
            "accepts": said.ravel(),
        }
    )


def reasons_tables(
    plan: RecourseFrame, rows: np.ndarray, reference: TableLike, codes: CodeTable | None, seed: int
) -> tuple[dict[str, pa.Table], JsonObject]:
    """Reasons of the people of a plan, what the guides say of them, and whom they were compared with."""
    why = plan.reasons(reference=reference, codes=codes, random_state=seed)
    names, hidden = why.players.names, why.players.protected
    n, k = why.contributions.shape
    lists: dict[str, list[Cell]] = {
        name: [] for name in ("row", "rank", "reason", "contribution", "votes", "models", "in_recourse")
    }
    for i, ranked in enumerate(why.ranked):
        told = why.of(i)
        for rank, at in enumerate(ranked[ranked >= 0]):
            unit = why.units[at]
            lists["row"].append(int(rows[i]))
            lists["rank"].append(rank + 1)
            lists["reason"].append(unit.text if unit.code is None else f"{unit.code} {unit.text}")
            lists["contribution"].append(told[rank].contribution)
            lists["votes"].append(None if why.panel is None else int(why.panel.votes[i, at]))
            lists["models"].append(None if why.panel is None else why.panel.n_models)
            lists["in_recourse"].append(told[rank].in_recourse)
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.float64(), pa.int64(), pa.int64(), pa.bool_())
    out = {
        "contributions": pa.table(
            {
                "row": np.repeat(rows, k),
                "name": pa.array(np.tile(np.array(names, object), n), pa.string()),
                "protected": np.tile(hidden, n),
                "contribution": why.contributions.ravel(),
            }
        ),
        "gaps": pa.table({"row": rows, "gap": why.gap}),
        "reasons": pa.table(
            {name: pa.array(values, kind) for (name, values), kind in zip(lists.items(), kinds, strict=True)}
        ),
    }
    named = np.flatnonzero(why.ranked[:, 0] >= 0)
    if why.panel is not None and len(named):
        m = why.panel.n_models
        out["panel"] = pa.table(
            {
                "row": np.tile(rows[named], m),
                "model": np.repeat(np.arange(m), len(named)),
                "overlap": why.panel.overlap[:, named].ravel(),
                "first": why.panel.first[:, named].ravel(),
            }
        )
    given: JsonObject = {
        "how": why.how, "unit": why.unit, "n": why.n, "reference": [r.to_dict() for r in why.references],
        "codes": None if codes is None else {"name": codes.name, "sha256": codes.digest(), "sample": codes.sample},
    }  # fmt: skip
    return out, given


def backtest_table(level: Level) -> pa.Table | None:
    """What was kept in each past period, in people; None where the level was not measured on the past."""
    if not level.periods:
        return None
    people = [int(period["people"]) for period in level.periods]
    shares = [0.0 if period["kept"] is None else float(period["kept"]) for period in level.periods]
    return pa.table(
        {
            "period": [str(period["period"]) for period in level.periods],
            "people": people,
            "kept": [round(share * n) for share, n in zip(shares, people, strict=True)],
        }
    )


def calibration_table(certificate: Certificate, clf: AbstractClassifier, X_cal: TableLike) -> pa.Table | None:
    """Each calibration person's critical threshold; None where groups or weights make the bound another one."""
    if certificate.groups is not None or certificate.weighting is not None:
        return None
    critical = np.asarray(critical_of(certificate, clf, X_cal), np.float64)
    return pa.table({"row": np.arange(len(critical)), "critical": critical})


def ledger_tables(
    clf: AbstractClassifier, ledger: Ledger, at: str | None, up_to: int | None
) -> tuple[dict[str, pa.Table], JsonObject]:
    """The chain up to an event, and which live promises the model would break.

    The model is asked about promises as they stand now, so that what it would break is not said of an earlier
    event than the last.
    """
    head = ledger.head()
    end = head.seq if up_to is None else up_to
    events = [event for batch in ledger.chain(end) for event in batch]
    if end > head.seq or (end and (not events or events[-1]["seq"] != end)):
        raise DataError(f"evidence: the ledger has no event {end}; its last is {head.seq}.")
    kinds = {"seq": pa.int64()} | dict.fromkeys(
        ("kind", "promise", "at", "public", "commitment", "token", "hash"), pa.string()
    )
    out = {"ledger": pa.table({name: pa.array([e[name] for e in events], kind) for name, kind in kinds.items()})}
    moment = at if at is not None else (events[-1]["at"] if events else None)
    name_hash = {"name": head.ledger, "seq": end, "hash": events[-1]["hash"] if events else head.hash}
    given: JsonObject = name_hash | {"at": moment, "first": genesis(head.ledger)}
    if events and end == head.seq:
        out["broken"] = _broken(clf, ledger, moment)
    return out, given


def _broken(clf: AbstractClassifier, ledger: Ledger, moment: str | None) -> pa.Table:
    assert moment is not None
    with tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        gate(clf, ledger, alternatives=0, cases=cases, at=datetime.fromisoformat(moment))
        lines = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines()]
    return pa.table(
        {
            "promise": pa.array([line["id"] for line in lines], pa.string()),
            "unreadable": pa.array([line["probability"] is None for line in lines], pa.bool_()),
        }
    )


def _spread(n: int, rows: np.ndarray, values: Sequence[object], kind: pa.DataType) -> pa.Array:
    out: list[Cell] = [None] * n
    for row, value in zip(rows.tolist(), values, strict=True):
        out[row] = value
    return pa.array(out, kind)


def _numbers(n: int, rows: np.ndarray, values: np.ndarray) -> pa.Array:
    out = np.full(n, np.nan)
    out[rows] = values
    return pa.array(out)
