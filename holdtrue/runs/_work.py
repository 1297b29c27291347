"""One chunk of people: check, search, and the table that is written."""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from holdtrue._types import JsonObject, Keywords
from holdtrue.attribution import Reasoner
from holdtrue.classifier import AbstractClassifier
from holdtrue.errors import DataError
from holdtrue.hold import AS_FITTED, Hold, Holding
from holdtrue.methods import COLUMNS, AbstractMethod, RecourseFrame
from holdtrue.runs._issue import Terms
from holdtrue.runs._read import Chunk
from holdtrue.runs._write import numbers_or_null
from holdtrue.schema import Feature, Schema, Table, as_table, did_you_mean, plain
from holdtrue.search import Status

if TYPE_CHECKING:  # brings SQLAlchemy along, which only those who keep promises need
    from holdtrue.ledger import Record

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
    "hold",
    "chunk_rows",
    "terms",
)
"""What a worker elsewhere needs of `Work`, beside the model and the time."""


class Done(NamedTuple):
    """A finished chunk: the table to write, what to note of it, and the records to issue."""

    table: pa.Table
    note: JsonObject
    records: "list[Record]"


@dataclass
class Work:
    """What holds for all chunks of a run."""

    classifier: AbstractClassifier
    method: AbstractMethod
    target: Any = None
    restrictions: Mapping[int, Any] = field(default_factory=dict)
    until: float | None = None
    report_bad_rows: bool = False
    only_refused: bool = False
    n_recourses: int = 1
    hold: Hold = AS_FITTED
    chunk_rows: int = 16_384
    on_rows: Callable[[int], None] | None = None
    terms: Terms | None = None
    """Of the promises that are made of what is found, where any are."""

    @property
    def schema(self) -> Schema:
        """What the columns are."""
        return self.classifier.schema_

    @functools.cached_property
    def reasoner(self) -> Reasoner | None:
        """What gives the reasons that promises keep, made where it is used."""
        grounds = None if self.terms is None else self.terms.grounds
        return None if grounds is None else grounds.reasoner(self.classifier)

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
        n, keys = chunk.table.num_rows, self._keys(chunk)
        rows, reasons = self._usable(chunk)
        plan = self._solve(chunk, rows) if len(rows) else None
        # Whose each written row is: a person has one row, or as many as there are options.
        whose = np.sort(np.concatenate([[] if plan is None else rows[plan.person], list(reasons)]).astype(int))
        answer = _Answer.of(chunk.people, whose, judged=isinstance(self.method, Holding))
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
        if plan is not None and plan.held is not None:
            note["holding"] = asdict(plan.held.tally(plan.found & (plan.option == 0), plan.cost))
        as_given = np.array_equal(whose, np.arange(n))
        table = answer.table(chunk.table if as_given else chunk.table.take(whose), self.schema)
        if self.n_recourses > 1:
            start = np.flatnonzero(first)
            option = np.arange(len(whose)) - start[np.cumsum(first) - 1]
            for name, values in (("row", chunk.first_row + whose), ("option", option)):
                kept = [other for other in table.column_names if other != PREFIX + name]
                table = table.select(kept).append_column(PREFIX + name, pa.array(values))
        if self.only_refused:
            table = table.filter(pa.array(answer.status != "ALREADY_FAVOURABLE"))
        promised: list[Record] = []
        if keys is not None and plan is not None and self.terms is not None:
            person = rows[plan.person]
            whom = [keys[i] for i in person.tolist()]
            promised = self.terms.records(plan, whom, chunk.first_row + person, self.reasoner)
            note["unpromised"] = int(plan.found.sum()) - len(promised)
        return Done(table, note | {"written": table.num_rows}, promised)

    def _keys(self, chunk: Chunk) -> list[str] | None:
        """The people's keys, where promises are to be made."""
        if self.terms is None:
            return None
        subject, known = self.terms.subject, chunk.table.column_names
        if subject not in known:
            raise DataError(f"run: `subject`: no such column; got {subject!r}. {did_you_mean(subject, known)}")
        keys = chunk.table.column(subject).to_pylist()
        blank = [chunk.first_row + i for i, key in enumerate(keys) if key is None or key == ""]
        if blank:
            raise DataError(
                f"run: `subject`: {subject!r} has no key in some rows; got rows {blank[:5]}. Give everyone one."
            )
        return [str(key) for key in keys]

    def _solve(self, chunk: Chunk, rows: np.ndarray) -> RecourseFrame:
        people = chunk.people
        if len(rows) < people.n_rows:  # read anew: what was refused may have hidden that a column holds numbers
            people = as_table({name: values[rows] for name, values in people.columns.items()}, where="table")
        own = {
            i: self.restrictions[chunk.first_row + r]
            for i, r in enumerate(rows.tolist())
            if chunk.first_row + r in self.restrictions
        }
        options: Keywords = {
            "target": self.target, "restrictions": own or None,
            "on_rows": self.on_rows, "n_recourses": self.n_recourses,
        }  # fmt: skip
        if self.until is not None:
            options["deadline"] = max(self.until - time.monotonic(), 1e-9)
        return self.classifier.recourse(people, method=self.method, hold=self.hold, **options)

    def _usable(self, chunk: Chunk) -> tuple[np.ndarray, dict[int, str]]:
        """Rows that the schema allows, and the reason for each of the others."""
        n = chunk.table.num_rows
        try:
            self.schema.check(chunk.people, where="table")
        except DataError as error:
            if not self.report_bad_rows:
                first, last = chunk.first_row, chunk.first_row + n - 1
                raise DataError(
                    f"{error} (Among rows {first} to {last}; `bad_rows='report'` goes on without them.)"
                ) from error
        else:
            return np.arange(n), {}
        reasons = self.schema.refusals(chunk.people, where="table")
        return np.array([i for i in range(n) if i not in reasons], int), reasons


def _work(model: bytes, options: Keywords, ends: float | None) -> Work:
    from holdtrue._cache import use_cache
    from holdtrue.batch import from_bytes
    from holdtrue.classifier import load

    use_cache()
    classifier = from_bytes(load, model)
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
    held: dict[str, np.ndarray] = field(default_factory=dict)
    """How sure each is to hold, by the column that says so; of a run whose answers judges are asked about."""

    @classmethod
    def of(cls, people: Table, whose: np.ndarray, *, judged: bool) -> "_Answer":
        """Nothing found yet: everyone as they are."""
        n = len(whose)
        columns = {name: values[whose] for name, values in people.columns.items()}
        cost, before, after = (np.full(n, np.nan) for _ in range(3))
        text = np.full(n, "", object)
        held = {
            name: np.zeros(n, bool) if part == "holds" else np.full(n, np.nan) for name, part in COLUMNS.items()
        }
        return cls(
            columns, np.full(n, INVALID, object), cost, np.zeros(n, bool), before, after, text,
            held if judged else {},
        )  # fmt: skip

    def fill(self, rows: np.ndarray, plan: RecourseFrame) -> None:
        """Put what was found in its rows."""
        for name, values in plan.recourse.columns.items():
            if len(rows) == len(self.status):
                self.columns[name] = values
            else:
                self.columns[name] = self.columns[name].astype(object)
                self.columns[name][rows] = values.tolist()
        names = np.array([s.name for s in sorted(Status)], object)
        self.status[rows] = names[np.asarray(plan.status)]
        self.cost[rows] = plan.cost
        self.valid[rows] = plan.valid
        self.before[rows], self.after[rows] = plan.before, plan.after
        self.changes[rows] = list(plan.changes())
        for name, values in self.held.items():
            values[rows] = getattr(plan.held, COLUMNS[name])

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
        for name, values in self.held.items():
            out[name] = pa.array(values, pa.bool_()) if values.dtype == bool else numbers_or_null(values)
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
        if pa.types.is_boolean(given) and set(feature.levels or ()) <= {0, 1}:
            return pa.bool_()  # True is 1, in the schema too
        if kinds <= {bool}:
            return pa.int64() if pa.types.is_integer(given) else pa.bool_()
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


def _cell(value: object, wanted: pa.DataType) -> Any:
    if value is None or value != value:
        return None
    if pa.types.is_string(wanted):
        return str(value)
    if isinstance(value, (bool, int, float)) and value in (0, 1):  # 1, 1.0 and True are one level
        value = bool(value) if pa.types.is_boolean(wanted) else int(value)
    try:
        return pa.scalar(value, wanted).as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
