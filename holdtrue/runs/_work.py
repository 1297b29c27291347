"""One chunk of people: check, search, and the table that is written."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from holdtrue._types import JsonObject, Keywords
from holdtrue.errors import DataError
from holdtrue.runs._read import Chunk
from holdtrue.runs._write import numbers_or_null
from holdtrue.schema import Feature, Schema, did_you_mean, plain

INVALID = "INVALID_INPUT"
"""Status of a row that the schema does not allow, where such rows are reported instead of stopping the run."""
PREFIX = "holdtrue_"
WITH_RECOURSE = ("FOUND", "OPTIMAL")
SENT = (
    "target",
    "restrictions",
    "report_bad_rows",
    "only_refused",
    "n_recourses",
    "chunk_rows",
    "promise",
    "subject",
)
"""What a worker elsewhere needs of `Work`, beside the model and the time."""


class Done(NamedTuple):
    """A finished chunk: the table to write, what to note of it, and the records to issue."""

    table: pa.Table
    note: JsonObject
    records: list[Any]


@dataclass
class Work:
    """What holds for all chunks of a run."""

    classifier: Any
    method: Any
    target: Any = None
    restrictions: Mapping[int, Any] = field(default_factory=dict)
    until: float | None = None
    report_bad_rows: bool = False
    only_refused: bool = False
    n_recourses: int = 1
    chunk_rows: int = 16_384
    on_rows: Callable[[int], None] | None = None
    promise: "Callable[[Any, list[Any]], list[Any]] | None" = None
    """Makes records of a plan and its people's keys, where they are to be issued."""
    subject: str | None = None
    """The column with the keys."""

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.classifier.schema_

    def __call__(self, chunk: Chunk) -> "Done":
        """Find recourse for a chunk."""
        return self.run(chunk)

    def __reduce__(self) -> Any:
        # What a worker elsewhere is given: the model as a file and plain options, so that it answers as a run
        # there would. A moment of this machine's clock means nothing there, but the time of day does.
        from holdtrue.batch import to_bytes

        options = {name: getattr(self, name) for name in SENT}
        ends = None if self.until is None else time.time() + self.until - time.monotonic()
        return _work, (to_bytes(self.classifier, self.method), options, ends)

    def run(self, chunk: Chunk) -> "Done":
        """Find recourse for a chunk."""
        n, keys = len(chunk.frame), self._keys(chunk)
        rows, reasons = self._usable(chunk)
        plan = self._solve(chunk, rows) if len(rows) else None
        # Whose each written row is: a person has one row, or as many as there are options.
        whose = np.sort(np.concatenate([[] if plan is None else rows[plan.person], list(reasons)]).astype(int))
        as_given = np.array_equal(whose, np.arange(n))
        frame, given = (
            (chunk.frame, chunk.table) if as_given else (chunk.frame.iloc[whose], chunk.table.take(whose))
        )
        answer = _Answer.blank(len(whose), frame, self.schema)
        if plan is not None:
            answer.fill(np.flatnonzero(~np.isin(whose, list(reasons))), plan)
        for row, reason in reasons.items():
            answer.changes[whose == row] = reason
        first = np.concatenate([[True], whose[1:] != whose[:-1]])[: len(whose)]
        names, counts = np.unique(answer.status[first].astype(str), return_counts=True)
        note = {
            "rows": n,
            "counts": dict(zip(names.tolist(), counts.tolist(), strict=True)),
            "cost": float(np.nansum(answer.cost[first & np.isin(answer.status, WITH_RECOURSE)])),
        }
        table = answer.table(given, self.schema)
        if self.n_recourses > 1:
            start = np.flatnonzero(first)
            option = np.arange(len(whose)) - start[np.cumsum(first) - 1]
            for name, values in (("row", chunk.first_row + whose), ("option", option)):
                kept = [other for other in table.column_names if other != PREFIX + name]
                table = table.select(kept).append_column(PREFIX + name, pa.array(values))
        if self.only_refused:
            table = table.filter(pa.array(answer.status != "ALREADY_FAVOURABLE"))
        promised = []
        if keys is not None and plan is not None and self.promise is not None:
            promised = self.promise(plan, [keys[i] for i in rows[plan.person].tolist()])
        return Done(table, note | {"written": table.num_rows}, promised)

    def _keys(self, chunk: Chunk) -> list[str] | None:
        """The people's keys, where promises are to be made."""
        if self.promise is None:
            return None
        known = chunk.table.column_names
        if self.subject not in known:
            hint = did_you_mean(str(self.subject), known)
            raise DataError(f"--subject: no such column; got {self.subject!r}. {hint}")
        keys = chunk.table.column(self.subject).to_pylist()
        blank = [chunk.first_row + i for i, key in enumerate(keys) if key is None or key == ""]
        if blank:
            raise DataError(f"--subject: {self.subject!r} has no key in some rows; got rows {blank[:5]}.")
        return [str(key) for key in keys]

    def _solve(self, chunk: Chunk, rows: np.ndarray) -> Any:
        frame = chunk.frame if len(rows) == len(chunk.frame) else chunk.frame.iloc[rows]
        own = {
            i: self.restrictions[chunk.first_row + r]
            for i, r in enumerate(rows)
            if chunk.first_row + r in self.restrictions
        }
        options: Keywords = {
            "target": self.target, "restrictions": own or None,
            "on_rows": self.on_rows, "n_recourses": self.n_recourses,
        }  # fmt: skip
        if self.until is not None:
            options["deadline"] = max(self.until - time.monotonic(), 1e-9)
        return self.classifier.recourse(frame[self.schema.names], method=self.method, **options)

    def _usable(self, chunk: Chunk) -> tuple[np.ndarray, dict[int, str]]:
        """Rows that the schema allows, and the reason for each of the others."""
        n = len(chunk.frame)
        try:
            self.schema.check(chunk.frame, where="table")
        except DataError as error:
            if not self.report_bad_rows:
                first, last = chunk.first_row, chunk.first_row + n - 1
                raise DataError(
                    f"{error} (Among rows {first} to {last}; `--bad-rows report` goes on without them.)"
                ) from error
        else:
            return np.arange(n), {}
        reasons = self.schema.refusals(chunk.frame, where="table")
        return np.array([i for i in range(n) if i not in reasons], int), reasons


def _work(model: bytes, options: Keywords, ends: float | None) -> Work:
    from holdtrue.batch import from_bytes
    from holdtrue.batch._cache import use_cache
    from holdtrue.classifier import RecourseClassifier

    use_cache()
    classifier = from_bytes(RecourseClassifier, model)
    until = None if ends is None else time.monotonic() + ends - time.time()
    return Work(classifier=classifier, method=classifier.method_, until=until, **options)


@dataclass
class _Answer:
    """What is written of every row, in plain arrays."""

    columns: dict[str, np.ndarray]
    status: np.ndarray
    cost: np.ndarray
    valid: np.ndarray
    before: np.ndarray
    after: np.ndarray
    changes: np.ndarray

    @classmethod
    def blank(cls, n: int, frame: pd.DataFrame, schema: Schema) -> "_Answer":
        columns = {name: frame[name].to_numpy(dtype=object, na_value=None) for name in schema.names}
        cost, before, after = (np.full(n, np.nan) for _ in range(3))
        text = np.full(n, "", object)
        return cls(columns, np.full(n, INVALID, object), cost, np.zeros(n, bool), before, after, text)

    def fill(self, rows: np.ndarray, plan: Any) -> None:
        from holdtrue.search import Status

        whole = len(rows) == len(self.status)
        for name in self.columns:
            values = plan.recourse.columns[name]
            if whole:
                self.columns[name] = values
            else:
                self.columns[name] = self.columns[name].copy()
                self.columns[name][rows] = values
        names = np.array([s.name for s in sorted(Status)], object)
        self.status[rows] = names[np.asarray(plan.status)]
        self.cost[rows] = plan.cost
        self.valid[rows] = plan.valid
        self.before[rows], self.after[rows] = plan.before, plan.after
        self.changes[rows] = list(plan.changes())

    def table(self, original: pa.Table, schema: Schema) -> pa.Table:
        """All columns of the input, those of the schema as proposed, and how each was found."""
        out: JsonObject = {}
        for name in original.column_names:
            if name in schema:
                out[name] = _as_type(
                    self.columns[name], column_type(schema[name], original.schema.field(name).type)
                )
            elif not name.startswith(PREFIX):  # those of an earlier run would contradict this one's
                out[name] = original.column(name)
        out |= {
            "holdtrue_status": pa.array(self.status, pa.string()),
            "holdtrue_cost": numbers_or_null(self.cost),
            "holdtrue_valid": pa.array(self.valid, pa.bool_()),
            "holdtrue_probability_before": numbers_or_null(self.before),
            "holdtrue_probability_after": numbers_or_null(self.after),
            "holdtrue_changes": pa.array(self.changes, pa.string()),
        }
        return pa.table(out)


def column_type(feature: Feature, given: pa.DataType) -> pa.DataType:
    """Type of a feature's column in the output, the same in every chunk.

    It follows from the file and the schema, never from a chunk's values: a chunk may hold only missing ones. What
    was checked must be what is written, so numbers are not squeezed into fewer bits.
    """
    if pa.types.is_dictionary(given):
        given = given.value_type
    is_text = pa.types.is_string(given) or pa.types.is_large_string(given) or pa.types.is_string_view(given)
    if feature.has_levels:
        kinds = {type(v) for v in feature.levels or ()}
        if kinds <= {bool}:
            return pa.bool_()
        if kinds <= {int}:
            return pa.int64()
        return pa.float64() if kinds <= {int, float} else pa.string()
    if feature.kind == "integer" and (is_text or pa.types.is_integer(given)):
        return pa.int64()
    return pa.float64()


def _as_type(values: np.ndarray, wanted: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, wanted, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    # Only rows that were refused as input hold what the column cannot; they say so in `holdtrue_changes`.
    return pa.array([_cell(plain(v), wanted) for v in values], wanted)


def _cell(value: Any, wanted: pa.DataType) -> Any:
    if value is None or value != value:
        return None
    if pa.types.is_string(wanted):
        return str(value)
    try:
        return pa.scalar(value, wanted).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
