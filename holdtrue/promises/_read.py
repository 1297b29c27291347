"""Promises as columns: only what a model has to be asked, read from the records' JSON many at once.

A record is checked when it is issued. Here a million are read, so nothing of them becomes a Python object but the
columns that the model reads: pyarrow parses these and skips the rest. Where it cannot (a column of mixed kinds, a
damaged text), the batch is read again record by record, with the reason for each that cannot be used.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json

from holdtrue._types import Cell, JsonObject
from holdtrue.ledger import Promise
from holdtrue.schema import Feature, Schema, Table, as_table

NUMBER = pa.float64()


@dataclass(frozen=True)
class Asked:
    """A batch of promises.

    Attributes
    ----------
    rows : array of int
        Which promises of the batch the model can be asked about.
    table : Table
        Their promised rows.
    target : array of int
        Their wanted class, as its position among the model's classes.
    reasons : dict
        Why each of the others cannot be asked about, by position in the batch.
    stated : array of shape (n, 3)
        What every promise of the batch said of its chance to hold: estimate, lower, upper; NaN where nothing.
    group : array or None
        Value of the group's column (or the person's key), for all promises of the batch.
    """

    rows: np.ndarray
    table: Table
    target: np.ndarray
    reasons: dict[int, str]
    stated: np.ndarray
    group: np.ndarray | None


def read(
    batch: Sequence[Promise], schema: Schema, classes: np.ndarray, group: str | None = None, *, keys: bool = False
) -> Asked:
    """Read what a model with this schema and these classes is to be asked.

    Parameters
    ----------
    batch : sequence of Promise
    schema : Schema
        Of the new model. A column that a record has beyond it does not matter; one that it lacks does.
    classes : array
        Labels of the new model.
    group : str, optional
        A column of the person as they were.
    keys : bool, default=False
        Read the people's keys in the place of a group.
    """
    texts = [promise.text for promise in batch]
    columns, targets, stated, groups, reasons = _quick(texts, schema, classes, group, keys) or _one_by_one(
        texts, schema, group, keys
    )
    index: dict[Cell, int] = {label_key(label): i for i, label in enumerate(classes.tolist())}
    wanted = _positions(targets, index)
    for i in np.flatnonzero(wanted < 0).tolist():
        reasons.setdefault(i, f"the wanted class is not one of this model's; got {targets[i]!r}")
    table = as_table({name: columns[name] for name in schema.names})
    rows = np.array([i for i in range(len(batch)) if i not in reasons], int)
    if reasons:
        table = _some(table, rows)
    refused = schema.refusals(table, where="promise") if len(rows) else {}
    if refused:
        reasons |= {int(rows[i]): reason for i, reason in refused.items()}
        kept = np.array([i for i in range(len(rows)) if i not in refused], int)
        table, rows = _some(table, kept), rows[kept]
    return Asked(rows, table, wanted[rows], reasons, stated, groups)


def _some(table: Table, rows: np.ndarray) -> Table:
    """Rows read anew: without those that cannot be used, a column may be one of numbers."""
    return as_table({name: values[rows] for name, values in table.columns.items()})


Columns = tuple[JsonObject, Sequence[Cell], np.ndarray, np.ndarray | None, dict[int, str]]
STATED = ("estimate", "lower", "upper")


def _quick(
    texts: Sequence[str | None], schema: Schema, classes: np.ndarray, group: str | None, keys: bool
) -> Columns | None:
    """All records at once, or None where this cannot be done."""
    lines = [text for text in texts if text is not None and "\n" not in text]
    if len(lines) < len(texts):
        return None
    kinds = {feature.name: _kind(feature) for feature in schema}
    parts = {"recourse": kinds}
    if group is not None:
        parts["factual"] = {group: kinds.get(group) or _kind_of(_first(texts[0], group))}
    label = _kind_of(classes.tolist())
    if label is None or any(kind is None for part in parts.values() for kind in part.values()):
        return None
    structs = [(name, pa.struct(list(part.items()))) for name, part in parts.items()]
    survival = pa.struct([(name, NUMBER) for name in STATED])
    needed = [("target", label), *structs, *([("subject", pa.string())] if keys else [])]
    wanted = pa.schema([*needed, ("survival", survival)])
    try:
        data = "\n".join(lines).encode()
        found = pyarrow.json.read_json(
            io.BytesIO(data),
            # One block: the batch is what bounds memory.
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pyarrow.json.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, UnicodeError):
        return None
    if found.num_rows != len(texts) or any(found[name].null_count for name, _ in needed):
        return None
    rows = found["recourse"].combine_chunks()
    reasons = _absent(texts, rows, schema.names)
    columns = {name: _values(rows.field(name)) for name in schema.names}
    groups = None
    if group is not None:
        groups = _objects(found["factual"].combine_chunks().field(group).to_pylist())
    elif keys:
        groups = _objects(found["subject"].to_pylist())
    said = found["survival"].combine_chunks()
    there = said.is_valid().to_numpy(zero_copy_only=False)
    shares = np.stack([_values(said.field(name)).astype(float) for name in STATED], axis=1)
    stated = np.where(there[:, None], shares, np.nan)
    return columns, _values(found["target"].combine_chunks()).tolist(), stated, groups, reasons


def _absent(texts: Sequence[Cell], rows: pa.StructArray, names: Sequence[str]) -> dict[int, str]:
    """Records that lack a column. pyarrow reads it as missing, so those with a missing value are looked at."""
    blank = np.zeros(len(texts), bool)
    for name in names:
        column = rows.field(name)
        if column.null_count:
            blank |= column.is_null().to_numpy(zero_copy_only=False)
    reasons = {}
    for i in np.flatnonzero(blank).tolist():
        reason = _parsed(texts[i], names)[1]
        if reason is not None:
            reasons[i] = reason
    return reasons


def _values(values: pa.Array) -> np.ndarray:
    return values.to_numpy(zero_copy_only=False)


def _kind(feature: Feature) -> Any:
    return NUMBER if not feature.has_levels else _kind_of(list(feature.levels or ()))


def _kind_of(values: Sequence[Cell]) -> pa.DataType | None:
    kinds = {type(value) for value in values}
    if kinds and kinds <= {int, float}:
        return NUMBER
    return {frozenset({str}): pa.string(), frozenset({bool}): pa.bool_()}.get(frozenset(kinds))


def columns_of(text: str | None) -> list[str]:
    """The columns that a record speaks of."""
    raw, _ = _parsed(text)
    return [] if raw is None else list(raw["factual"])


def _first(text: str | None, group: str) -> list[Cell]:
    raw, _ = _parsed(text)
    return [] if raw is None or group not in raw["factual"] else [raw["factual"][group]]


# ---- record by record -------------------------------------------------------------------------------


def _one_by_one(texts: Sequence[str | None], schema: Schema, group: str | None, keys: bool) -> Columns:
    names = schema.names
    columns: dict[str, list[Cell]] = {name: [] for name in names}
    targets: list[Cell] = []
    groups: list[Cell] = []
    reasons: dict[int, str] = {}
    stated = np.full((len(texts), 3), np.nan)
    for i, text in enumerate(texts):
        raw, reason = _parsed(text, names)
        stated[i] = _stated(raw)
        if reason is not None:
            reasons[i] = reason
        for name in names:
            columns[name].append(None if raw is None or reason is not None else raw["recourse"][name])
        targets.append(None if raw is None else raw["target"])
        groups.append(None if raw is None else raw.get("subject") if keys else raw["factual"].get(group))
    as_arrays = {name: _objects(values) for name, values in columns.items()}
    return as_arrays, targets, stated, _objects(groups) if keys or group is not None else None, reasons


def _stated(raw: JsonObject | None) -> list[float]:
    survival = None if raw is None else raw.get("survival")
    said = survival if isinstance(survival, dict) else {}
    values = [said.get(name) for name in STATED]
    return [float(v) if isinstance(v, (int, float)) else np.nan for v in values]


def _objects(values: list[Cell]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _parsed(text: str | None, names: Sequence[str] = ()) -> tuple[JsonObject | None, str | None]:
    """A record's JSON, and why it cannot be used where it cannot."""
    if text is None:
        return None, "nothing is kept about it"
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError):
        return None, "its record is damaged"
    fits = isinstance(raw, dict) and all(isinstance(raw.get(part), dict) for part in ("factual", "recourse"))
    if not fits or "target" not in raw:
        return None, "its record is damaged"
    absent = [name for name in names if name not in raw["recourse"]]
    if absent:
        return raw, f"it says nothing about columns that this model reads; got no {absent[:5]!r}"
    return raw, None


def label_key(value: Cell) -> Cell:
    """What tells labels apart: 1 and 1.0 are one, True is another."""
    return (isinstance(value, bool), value)


def _positions(targets: Sequence[Cell], index: Mapping[Cell, int]) -> np.ndarray:
    known: dict[Cell, int] = {}
    out = np.empty(len(targets), int)
    for i, target in enumerate(targets):
        key = (type(target), target if not isinstance(target, (dict, list)) else repr(target))
        if key not in known:
            known[key] = index.get(label_key(target), -1) if not isinstance(target, (dict, list)) else -1
        out[i] = known[key]
    return out
