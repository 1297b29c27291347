"""Tables in: CSV, Parquet, standard input or a named dataset, whole or chunk by chunk."""

import csv
import gzip
import io
import re
import sys
import tempfile
import uuid
import weakref
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.runs._text import typed
from holdtrue.schema import Schema, Table, as_table

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 16_384  # rows held at once
DATASET = "dataset:"


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table. Small to send: only the rows themselves travel.

    Attributes
    ----------
    first_row : int
        Position of the first of them in the whole table.
    table : pyarrow.Table
        All columns, as they are in the file.
    schema : Schema
        What the columns are.
    is_typed : bool
        Whether the columns have types of their own.
    """

    first_row: int
    table: pa.Table
    schema: Schema
    is_typed: bool

    @cached_property
    def people(self) -> Table:
        """The columns of the schema, as values."""
        cells = self.table.select([n for n in self.schema.names if n in self.table.column_names])
        columns = as_table(cells, where="table").columns if self.is_typed else typed(cells, self.schema)
        return Table(columns, cells.num_rows)

    def __reduce__(self) -> Any:
        # A slice of a table would be pickled with all rows of the table it was cut from.
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _chunk, (self.first_row, sink.getvalue().to_pybytes(), self.schema, self.is_typed)


def _chunk(first_row: int, table: bytes, schema: Schema, is_typed: bool) -> Chunk:
    return Chunk(first_row, pa.ipc.open_stream(table).read_all(), schema, is_typed)


class Source:
    """A table by its name, read chunk by chunk.

    Parameters
    ----------
    name : path
        A CSV file (also gzipped) or a Parquet file, ``-`` for standard input, or ``dataset:NAME``.
    """

    def __init__(self, name: str | Path) -> None:
        name = str(name)
        self.name = name
        self._table: pa.Table | None = None
        self._parquet: Any = None
        self._spool: Any = None
        self._once = uuid.uuid4().hex
        if name.startswith(DATASET):
            self._table = pa.Table.from_pandas(dataset(name).X, preserve_index=False)
            return
        if name == "-":
            self._open_standard_input()
            return
        path = Path(name)
        if not path.exists():
            raise DataError(f"table: no such file; got {name!r}. Give a CSV or Parquet file, `-` or dataset:NAME.")
        if path.is_dir():
            raise DataError(f"table: is a directory; got {name!r}. Give one CSV or Parquet file.")
        is_parquet = path.suffix.lower() in (".parquet", ".pq")
        if not is_parquet and path.is_file():
            with path.open("rb") as stream:
                is_parquet = stream.read(4) == b"PAR1"
        if is_parquet:
            self._parquet = _open_parquet(path, name)

    def _open_standard_input(self) -> None:
        stream = io.BufferedReader(sys.stdin.buffer, 1 << 20)  # type: ignore[type-var]
        if stream.peek(4)[:4] != b"PAR1":
            self._spool = stream
            return
        # A Parquet file ends with its table of contents, so it must be whole before it can be read.
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the source
        weakref.finalize(self, self._spool.close)
        while block := stream.read(1 << 20):
            self._spool.write(block)
        self._parquet = _open_parquet(self._spool, "-")

    @property
    def n_rows(self) -> int | None:
        """How many rows, where that is known beforehand."""
        if self._table is not None:
            return self._table.num_rows
        return None if self._parquet is None else self._parquet.metadata.num_rows

    @property
    def is_typed(self) -> bool:
        """Whether columns have types of their own; a CSV file's have not."""
        return self._table is not None or self._parquet is not None

    def identity(self) -> JsonObject:
        """What tells this table from another; standard input is another one every time."""
        if self.name == "-":
            return {"name": self.name, "read": self._once}
        if self.name.startswith(DATASET):
            return {"name": self.name}
        facts = Path(self.name).stat()
        return {"name": str(Path(self.name).resolve()), "bytes": facts.st_size, "changed": facts.st_mtime_ns}

    def chunks(self, schema: Schema, size: int = CHUNK) -> Iterator[Chunk]:
        """Read chunk by chunk; columns of the schema become values as it says."""
        first = 0
        for table in self.tables(size):
            if not first:
                _check_names(table.column_names, self.name)
                _require(schema, table.column_names)
            yield Chunk(first, table, schema, self.is_typed)
            first += table.num_rows
        if not first:
            raise DataError(f"table: is empty; got 0 rows in {self.name!r}. Give at least one person.")

    def tables(self, size: int = CHUNK) -> Iterator[pa.Table]:
        """Read chunk by chunk, all columns as they are in the file."""
        return self._typed_chunks(size) if self.is_typed else self._text_chunks(size)

    def whole(self, schema: Schema | None = None) -> "pd.DataFrame":
        """Read everything."""
        import pandas as pd

        if self._table is not None:
            frame = self._table.to_pandas()
        elif self._parquet is not None:
            with _reading(self.name):
                _check_names(self._parquet.schema_arrow.names, self.name)
                # What pandas notes of a table is read even where it is to be ignored, and may be damaged.
                frame = self._parquet.read().replace_schema_metadata(None).to_pandas(ignore_metadata=True)
        else:
            texts = list(self._text_chunks(CHUNK))
            frame = pd.DataFrame(typed(pa.concat_tables(texts), schema) if texts else {})
        if not len(frame):
            raise DataError(f"table: is empty; got 0 rows in {self.name!r}. Give at least one person.")
        return frame

    def _typed_chunks(self, size: int) -> Iterator[pa.Table]:
        """Chunks of exactly `size` rows, however the file is cut into row groups."""
        if self._table is not None:
            batches: Any = self._table.to_batches(max_chunksize=size)
        else:
            batches = self._parquet.iter_batches(batch_size=size)
        held: list[pa.RecordBatch] = []
        n_held = 0
        with _reading(self.name):
            for batch in batches:
                held.append(batch)
                n_held += batch.num_rows
                while n_held >= size:
                    table = pa.Table.from_batches(held)
                    yield table.slice(0, size)
                    held = table.slice(size).to_batches()
                    n_held -= size
            if n_held:
                yield pa.Table.from_batches(held)

    def _text_chunks(self, size: int) -> Iterator[pa.Table]:
        with _reading(self.name), _open_text(self.name, self._spool) as stream:
            names, separator = _header(stream, self.name)
            rows = _rows(stream, names, separator, self.name)
            while some := list(islice(rows, size)):
                cells = zip(*some, strict=True)
                yield pa.table({name: pa.array(c, pa.string()) for name, c in zip(names, cells, strict=True)})


def _rows(stream: io.TextIOWrapper, names: list[str], separator: str, name: str) -> Iterator[list[str | None]]:
    """Rows of cells, one for each name; a row that is too short has None for the rest."""
    ended = False

    def lines() -> Iterator[str]:
        nonlocal ended
        yield from stream
        ended = True

    for row in csv.reader(lines(), delimiter=separator):
        if ended:  # another line was asked for, to end this row
            raise csv.Error("a quote is never closed")
        if len(row) == len(names):
            yield row  # type: ignore[misc]
        elif len(row) > len(names):
            raise DataError(
                f"table: rows have more values than the header has names; got {len(row)} for {len(names)} names "
                f"in {name!r}. Check the separator and quotes."
            )
        elif row and not (len(row) == 1 and row[0].isspace()):  # an empty line is none
            yield [*row, *[None] * (len(names) - len(row))]


def dataset(name: str) -> Any:
    """Load ``dataset:NAME``."""
    from holdtrue.datasets import load

    return load(name.removeprefix(DATASET))


def _open_parquet(source: object, name: str) -> pq.ParquetFile:
    with _reading(name):
        return pq.ParquetFile(source)


@contextmanager
def _open_text(name: str, spool: BinaryIO | None) -> Iterator[io.TextIOWrapper]:
    raw: Any = spool if spool is not None else open(name, "rb")  # noqa: SIM115 - closed below
    buffered = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    if buffered.peek(2)[:2] == b"\x1f\x8b":
        buffered = gzip.GzipFile(fileobj=buffered)
    stream = io.TextIOWrapper(buffered, encoding="utf-8-sig", newline="")
    try:
        yield stream
    finally:
        if spool is None:
            stream.close()
            raw.close()
        else:
            stream.detach()  # standard input is not ours to close


def _header(stream: io.TextIOWrapper, name: str) -> tuple[list[str], str]:
    line = stream.readline()
    outside = re.sub(r'"[^"]*"', "", line)
    separator = max(",;\t|", key=outside.count)  # the comma where there is none of them
    lines = [line]
    while line and line.count('"') % 2:  # a name that runs over several lines
        line = stream.readline()
        lines.append(line)
    names = next(csv.reader(["".join(lines)], delimiter=separator), [])
    if not any(n.strip() for n in names):
        raise DataError(f"table: has no header line; got an empty start in {name!r}. Name the columns first.")
    names = [n if n.strip() else f"Unnamed: {i}" for i, n in enumerate(names)]
    _check_names(names, name)
    return names, separator


def _check_names(names: list[str], name: str) -> None:
    counts = Counter(names)
    twice = [n for n in names if counts[n] > 1]
    if twice:
        raise DataError(
            f"table: a column appears more than once; got {twice[0]!r} {counts[twice[0]]} times in {name!r}. "
            "Rename or drop the copies."
        )


def _require(schema: Schema, names: list[str]) -> None:
    from holdtrue.schema import did_you_mean

    absent = [n for n in schema.names if n not in names]
    if absent:
        raise DataError(
            f"table: columns that the model reads are absent; got no {absent[:5]!r}. "
            f"{did_you_mean(absent[0], names)}"
        )


_UNREADABLE = (
    pa.ArrowException,
    OSError,  # as pyarrow calls damaged pages too
    UnicodeDecodeError,
    zlib.error,
    EOFError,
    csv.Error,
)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Every reader has its own way to say that a file cannot be read; here it is said one way."""
    try:
        yield
    except _UNREADABLE as e:
        reason = str(e).strip().splitlines()[0].rstrip(".") if str(e).strip() else type(e).__name__
        raise DataError(
            f"table: cannot be read; got {name!r} ({reason}). Give an undamaged CSV (UTF-8) or Parquet file."
        ) from e
