"""Tables out: CSV, JSON lines or Parquet, to a file or a stream, all with one set of columns."""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from holdtrue._files import replaced
from holdtrue._json import plain
from holdtrue._types import Cell
from holdtrue.errors import DataError

FORMATS = ("csv", "parquet", "jsonl")
ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def format_of(out: str, asked: str | None, where: str = "--out") -> str:
    """Format of an output: what was asked for, what the ending says, or CSV on standard output."""
    if asked is not None:
        return asked
    if out == "-":
        return "csv"
    ending = Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise DataError(
            f"{where}: the ending does not say the format; got {out!r}. End it in .csv, .parquet or .jsonl, or "
            "name the format."
        )
    return ENDINGS[ending]


def check_place(out: str, where: str = "--out") -> None:
    """Refuse an output that cannot be written, before any work is done."""
    if out == "-":
        return
    path = Path(out)
    if path.is_dir():
        raise DataError(f"{where}: is a directory; got {out!r}. Give a file name.")
    if not path.parent.is_dir():
        raise DataError(f"{where}: the folder is not there; got {str(path.parent)!r}. Make it first.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{where}: the folder cannot be written; got {str(path.parent)!r}. Choose another.")


def is_stream(out: str) -> bool:
    """Whether an output is written as it comes: standard output, a pipe, a device."""
    return out == "-" or (Path(out).exists() and not Path(out).is_file())


class Sink:
    """Writes tables one after another to a binary stream."""

    def __init__(self, stream: BinaryIO, format: str) -> None:
        self.stream, self.format = stream, format
        self._writer: pq.ParquetWriter | None = None
        self._begun = False

    def write(self, table: pa.Table) -> None:
        """Write some rows."""
        if self.format == "parquet":
            if self._writer is None:
                self._writer = pq.ParquetWriter(_Counted(self.stream), table.schema)
            self._writer.write_table(table)
        else:
            self.stream.write(text_of(table, self.format, header=not self._begun))
        self._begun = True

    def finish(self) -> None:
        """Write what a format needs at its end."""
        if self._writer is not None:
            self._writer.close()
        self.stream.flush()


class _Counted:
    """A stream that knows its position, which a pipe does not; Parquet asks for it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.position, self.closed = stream, 0, False

    def write(self, data: bytes) -> int:
        self.stream.write(data)
        self.position += len(data)
        return len(data)

    def tell(self) -> int:
        return self.position

    def flush(self) -> None:
        self.stream.flush()

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False


@contextmanager
def open_stream(out: str) -> Iterator[BinaryIO]:
    """Open standard output, a pipe or a device for bytes."""
    if out == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
    else:
        with Path(out).open("wb") as stream:
            yield stream


def text_of(table: pa.Table, format: str, *, header: bool) -> bytes:
    """Rows as CSV or JSON lines."""
    if format == "jsonl":
        lines = (json.dumps(plain(row), ensure_ascii=False) for row in table.to_pylist())
        return "".join(line + "\n" for line in lines).encode()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(table.column_names)
    writer.writerows(zip(*map(_cells, table.columns), strict=True))
    return text.getvalue().encode()


def _cells(column: pa.ChunkedArray) -> list[Cell]:
    """Cells of a column as `csv` writes them: a number as Python does, nothing for what is missing."""
    kind = column.type
    if pa.types.is_float64(kind):
        return [None if v != v else v for v in column.to_pylist()]
    if pa.types.is_floating(kind):  # in as many digits as tell it from its neighbours
        return [None if text == "nan" else text for text in column.to_numpy().astype(str).tolist()]
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        values = column.to_pandas()
        return [t if there else None for t, there in zip(values.astype(str), values.notna(), strict=True)]
    return column.to_pylist()


def write_table(table: pa.Table, path: Path, format: str, *, header: bool = True) -> None:
    """Write one table beside its place and move it there."""
    with replaced(path, private=True) as stream:
        if format == "parquet":
            pq.write_table(table, stream)
        else:
            stream.write(text_of(table, format, header=header))


def numbers_or_null(values: object) -> pa.Array:
    """Floats with NaN as null: a person without a recourse has no cost."""
    array = pa.array(values, pa.float64())
    return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array)  # type: ignore[attr-defined]


def write_tables(tables: Iterable[pa.Table], path: Path, format: str) -> None:
    """Write many tables as one file, beside its place, and move it there."""
    with replaced(path, private=True) as stream:
        sink = Sink(stream, format)
        for table in tables:
            sink.write(table)
        sink.finish()
