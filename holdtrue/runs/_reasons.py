"""Reasons for a table of any length, chunk by chunk."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from holdtrue._types import JsonObject
from holdtrue.attribution import Reasoner, Reasons
from holdtrue.runs._read import Chunk, Source
from holdtrue.runs._write import Sink, check_place, format_of, is_stream, open_stream, write_tables


@dataclass
class Told:
    """How many were asked about and refused, and whether retrained models give the same reasons."""

    rows: int = 0
    refused: int = 0
    holding: str = ""


def reasons_of(
    reasoner: Reasoner, source: Source, out: str, *, format: str | None = None, as_record: bool = False
) -> Told:
    """Write the reasons of everybody whom the model refuses.

    Parameters
    ----------
    reasoner : Reasoner
    source : Source
        The people.
    out : str
        Where to write; ``-`` is standard output.
    format : {"csv", "parquet", "jsonl"}, optional
        By default what `out` ends in.
    as_record : bool, default=False
        As a record keeps them, a JSON object each, in place of columns.
    """
    told, format = Told(), format_of(out, format)
    tables = _tables(reasoner, source, told, as_record)
    if is_stream(out):
        with open_stream(out) as stream:
            sink = Sink(stream, format)
            for table in tables:
                sink.write(table)
            sink.finish()
    else:
        check_place(out)
        write_tables(tables, Path(out), format)
    return told


def _tables(reasoner: Reasoner, source: Source, told: Told, as_record: bool) -> Iterator[pa.Table]:
    for chunk in source.chunks(reasoner.predictor.encoder.schema):
        why = reasoner.of(chunk.people)
        told.rows += len(why)
        told.refused += int(why.refused.sum())
        told.holding = why.holding()
        refused = np.flatnonzero(why.refused)
        yield _records(chunk, why, refused) if as_record else _columns(chunk, why.take(refused), refused)


def _columns(chunk: Chunk, why: Reasons, rows: np.ndarray) -> pa.Table:
    table = chunk.table.take(pa.array(rows))
    for name, values in why.columns().items():
        kept = [other for other in table.column_names if other != name]
        text = pa.string() if values.dtype == object else pa.float64()
        table = table.select(kept).append_column(name, pa.array(values, text, from_pandas=True))
    return table


def _records(chunk: Chunk, why: Reasons, rows: np.ndarray) -> pa.Table:
    made: list[JsonObject] = [{"row": chunk.first_row + i} | why.to_dict(i) for i in rows.tolist()]
    return pa.Table.from_pylist([json.loads(json.dumps(one)) for one in made])
