"""What people whose promise breaks could do now: instead of what they were told, or on top of it."""

from collections.abc import Sequence

import numpy as np

from holdtrue._types import Cell, JsonObject
from holdtrue.batch import Predictor, distances
from holdtrue.encoding import broken_limits
from holdtrue.errors import DataError, SchemaError
from holdtrue.ledger import Record
from holdtrue.methods import AbstractMethod, RecourseFrame, join, phrase
from holdtrue.promises._cases import Case
from holdtrue.promises._read import label_key
from holdtrue.promises._report import Instead, summarise
from holdtrue.schema import Schema, Table, as_table, normalise_restrictions, plain
from holdtrue.search import Status

NOT_ASKED = "NOT_ASKED"


class Search:
    """Searches for the people of broken promises, and counts what it found.

    Parameters
    ----------
    predictor : Predictor
        The new model.
    method : AbstractMethod
        Fitted to it.
    most : int or None
        People to search for; everyone when None.
    beyond : bool
        Whether to search from the promised row, too.
    """

    def __init__(self, predictor: Predictor, method: AbstractMethod, most: int | None, beyond: bool) -> None:
        if most is not None and (not isinstance(most, int) or most < 0):
            raise DataError(f"gate: `alternatives` must be a whole number from 0 on; got {most!r}.")
        if getattr(method, "predictor_", None) is not predictor:
            raise DataError(f"gate: {type(method).__name__} is not fitted to this model. Call its `fit`.")
        self.predictor, self.method, self.left, self.beyond = predictor, method, most, beyond
        self._found: dict[str, list[tuple[str, float, float]]] = {"instead": [], "further": []}

    def run(self, cases: Sequence[Case]) -> None:
        """Fill in `instead`, and `further` where asked for, of each case."""
        if self.left is not None:
            cases = cases[: self.left]
            self.left -= len(cases)
        both = {"instead": self._search(cases, "factual")}
        if self.beyond:
            both["further"] = self._search(cases, "recourse")
            self._cheaper(cases, both["instead"], both["further"])
        for name, found in both.items():
            for case, answer in zip(cases, found, strict=True):
                setattr(case, name, answer)
                cost, extra = (np.nan if answer[part] is None else answer[part] for part in ("cost", "extra"))
                self._found[name].append((answer["status"], cost, extra))

    def _search(self, cases: Sequence[Case], start: str) -> list[JsonObject]:
        """What each person could do from where they start."""
        answers = [_nothing() for _ in cases]
        rows, table, targets, restrictions = self._askable(cases, start)
        if rows:
            plan = self.method.recourse(table, target=targets, restrictions=restrictions or None)
            paid = self._paid([cases[i] for i in rows], table) if start == "factual" else np.zeros(len(rows))
            for i, answer in zip(rows, _answers(plan, paid), strict=True):
                answers[i] = answer
        return answers

    def _cheaper(self, cases: Sequence[Case], instead: list[JsonObject], further: list[JsonObject]) -> None:
        """A search from the promised row may have found a better way for those who start at their own."""
        encoder = self.predictor.encoder
        names = encoder.schema.names
        rows, table, _, restrictions = self._askable(cases, "factual")
        some = [k for k, i in enumerate(rows) if further[i]["row"] is not None and instead[i]["cost"] != 0]
        if not some:
            return
        start = as_table({n: table.columns[n][some] for n in names})
        way = as_table({n: _objects([further[rows[k]]["row"][n] for k in some]) for n in names})
        own = {new: restrictions[k] for new, k in enumerate(some) if k in restrictions}
        broken = broken_limits(encoder, start, way, own or None)
        cost = distances(encoder, encoder.encode(start), encoder.encode(way), self.method.norm)
        paid = self._paid([cases[rows[k]] for k in some], start)
        for new, k in enumerate(some):
            old = instead[rows[k]]
            if not broken[new] and (old["cost"] is None or cost[new] < old["cost"]):
                row = further[rows[k]]["row"]
                instead[rows[k]] = {
                    "status": Status.FOUND.name,
                    "changes": _sentence(encoder.schema, _record(cases[rows[k]]).factual, row),
                    "row": row,
                    "cost": float(cost[new]),
                    "extra": float(cost[new] - paid[new]) if paid[new] == paid[new] else None,
                }

    def _askable(
        self, cases: Sequence[Case], start: str
    ) -> tuple[list[int], Table, np.ndarray, dict[int, JsonObject]]:
        """Those whose row, wanted class and restrictions the new model understands."""
        predictor = self.predictor
        schema = predictor.encoder.schema
        index = {label_key(label): i for i, label in enumerate(predictor.classes.tolist())}
        rows: list[int] = []
        for i, case in enumerate(cases):
            record = case.record
            known = record is not None and label_key(record.target) in index
            if known and all(name in getattr(record, start) for name in schema.names):
                rows.append(i)
        columns = {n: _objects([getattr(cases[i].record, start)[n] for i in rows]) for n in schema.names}
        table = as_table(columns, where="gate")
        refused = schema.refusals(table, where="gate") if rows else {}
        restrictions: dict[int, JsonObject] = {}
        for k, i in enumerate(rows):
            own = {n: limit for n, limit in _record(cases[i]).restrictions.items() if n in schema}
            try:
                normalise_restrictions({0: own} if own else None, schema, 1)
                restrictions[k] = own
            except SchemaError as error:  # a limit that the new schema has no words for is not left out
                refused.setdefault(k, str(error))
        kept = [k for k in range(len(rows)) if k not in refused]
        table = as_table({name: values[kept] for name, values in table.columns.items()}, where="gate")
        rows_kept = [rows[k] for k in kept]
        targets = np.array([index[label_key(_record(cases[i]).target)] for i in rows_kept], int)
        restricted = {new: restrictions[k] for new, k in enumerate(kept) if restrictions.get(k)}
        return rows_kept, table, predictor.classes[targets], restricted

    def _paid(self, cases: Sequence[Case], factual: Table) -> np.ndarray:
        """What the promised change costs, in the new model's units; NaN where it cannot read that row."""
        encoder = self.predictor.encoder
        paid = np.full(len(cases), np.nan)
        rows = np.array([k for k, case in enumerate(cases) if case.reason is None], int)
        if len(rows):
            promised = {n: _objects([_record(cases[k]).recourse[n] for k in rows]) for n in encoder.schema.names}
            before = encoder.encode(as_table({n: factual.columns[n][rows] for n in encoder.schema.names}))
            paid[rows] = distances(encoder, before, encoder.encode(as_table(promised)), self.method.norm)
        return paid

    def instead(self) -> Instead:
        """From where people were when they were refused."""
        return self._summary("instead")

    def further(self) -> Instead | None:
        """From where the promise would have them, where asked for."""
        return self._summary("further") if self.beyond else None

    def _summary(self, name: str) -> Instead:
        found = self._found[name]
        counts: dict[str, int] = {}
        for status, _, _ in found:
            counts[status] = counts.get(status, 0) + 1
        cost, extra = (np.array([row[k] for row in found], float) for k in (1, 2))
        return Instead(
            method=type(self.method).__name__,
            norm=self.method.norm,
            n_searched=len(found),
            counts=dict(sorted(counts.items())),
            cost=summarise(cost[~np.isnan(cost)]),
            extra=summarise(extra[~np.isnan(extra)]),
        )


def _answers(plan: RecourseFrame, paid: np.ndarray) -> list[JsonObject]:
    sentences = plan.changes()
    out = []
    for i in range(len(plan)):
        status = Status(plan.status[i])
        has = bool(plan.found[i]) or status == Status.ALREADY_FAVOURABLE
        cost = float(plan.cost[i]) if has else None
        extra = None if cost is None or np.isnan(paid[i]) else cost - float(paid[i])
        row = {n: _cell(plan.recourse.columns[n][i]) for n in plan.schema.names} if plan.found[i] else None
        out.append({"status": status.name, "changes": sentences[i], "row": row, "cost": cost, "extra": extra})
    return out


def _sentence(schema: Schema, before: JsonObject, after: JsonObject) -> str:
    moved = [f for f in schema if before[f.name] != after[f.name]]
    words = join([phrase(f, before[f.name], after[f.name]) for f in moved])
    return words[:1].upper() + words[1:] + "."


def _nothing() -> JsonObject:
    changes = "The model cannot be asked about this person."
    return {"status": NOT_ASKED, "changes": changes, "row": None, "cost": None, "extra": None}


def _cell(value: Cell) -> Cell:
    value = plain(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _record(case: Case) -> Record:
    """The record of a case that can be asked about: it was read, or the case would not be among them."""
    assert case.record is not None
    return case.record


def _objects(values: list[Cell]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out
