"""Reasons for a table of any length, chunk by chunk."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from holdtrue._types import JsonObject
from holdtrue.attribution import CodeTable, Reasoner, Reasons
from holdtrue.classifier import AbstractClassifier
from holdtrue.methods import RecourseFrame
from holdtrue.runs._read import Chunk, Source
from holdtrue.runs._write import Sink, check_place, format_of, is_stream, open_stream, write_tables
from holdtrue.schema import Schema, Table, TableLike


@dataclass
class Told:
    """How many were asked about and refused, and whether retrained models give the same reasons."""

    rows: int = 0
    refused: int = 0
    holding: str = ""


def reasoner_of(
    clf: AbstractClassifier,
    reference: TableLike,
    codes: CodeTable | str | Path | None = None,
    schema: Schema | None = None,
    **options: Any,
) -> Reasoner:
    """What gives the reasons of a classifier's refusals, and asks its guides for theirs.

    Parameters
    ----------
    clf : RecourseClassifier or Adopted
    reference : dataframe
        Rows that the model knows.
    codes : CodeTable or path, optional
        Codes and sentences for the reasons.
    schema : Schema, optional
        Groups and protected columns, where they are not those of the classifier's own.
    options
        `n`, `n_reference` and `random_state` of `holdtrue.reasons`.
    """
    codes = codes if isinstance(codes, CodeTable | None) else CodeTable.load(codes)
    guides = getattr(clf.method_, "guides_", None)
    return Reasoner(clf.predictor_, reference, schema=schema, codes=codes, guides=guides, **options)


@dataclass(frozen=True)
class Grounds:
    """What the reasons of a run's promises rest on. Travels to workers elsewhere.

    Attributes
    ----------
    reference : Table
        Rows that the model knows.
    codes : CodeTable or None
    """

    reference: Table
    codes: CodeTable | None = None

    @classmethod
    def of(cls, clf: AbstractClassifier, reference: TableLike, codes: CodeTable | str | Path | None) -> "Grounds":
        """Grounds that can be used: what does not fit the classifier is refused here, before any work."""
        reasoner = reasoner_of(clf, reference, codes)
        return cls(clf.schema_.check(reference, where="run: `reference`"), reasoner.codes)

    def reasoner(self, clf: AbstractClassifier) -> Reasoner:
        """Give reasons for a classifier."""
        return reasoner_of(clf, self.reference, self.codes)

    def identity(self, clf: AbstractClassifier) -> JsonObject:
        """What tells these grounds from others."""
        rows = hashlib.sha256(clf.predictor_.encoder.encode(self.reference).astype(np.float32).tobytes())
        codes = {} if self.codes is None else {"codes": self.codes.digest()}
        return {"reference": rows.hexdigest(), **codes}


def of_plan(reasoner: Reasoner, plan: RecourseFrame) -> Reasons:
    """Reasons of the rows of a plan, whose people are asked about once however many options they have."""
    _, first, whose = np.unique(plan.person, return_index=True, return_inverse=True)
    why = reasoner.of(plan.factual.take(first), np.asarray(plan.target)[first])
    return plan.with_recourse(why.take(whose))


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
        kind = pa.float64() if values.dtype != object else pa.bool_() if name.endswith("_stands") else pa.string()
        table = table.select(kept).append_column(name, pa.array(values, kind, from_pandas=True))
    return table


def _records(chunk: Chunk, why: Reasons, rows: np.ndarray) -> pa.Table:
    made: list[JsonObject] = [{"row": chunk.first_row + i} | why.to_dict(i) for i in rows.tolist()]
    return pa.Table.from_pylist([json.loads(json.dumps(one)) for one in made])
