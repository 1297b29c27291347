"""Whatever a user hands in: an error of ours in the template, or a result; never a bare traceback."""

import copy
import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdtrue.errors import HoldtrueError
from holdtrue.schema import Feature, Schema, as_table, normalise_restrictions

QUICK = settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
TEMPLATE = re.compile(r"^[\w.]+: .+; got .+", re.DOTALL)


def only_ours(call, *arguments):
    """The result, or None after an error in the template."""
    try:
        return call(*arguments)
    except HoldtrueError as error:
        message = str(error)
    assert TEMPLATE.match(message), message
    assert len(message) < 5000
    return None


VALID = {
    "holdtrue_schema": 1,
    "features": [
        {
            "name": "age",
            "kind": "integer",
            "bounds": [18, 90],
            "direction": "increase",
            "step": 1,
            "unit": "years",
        },
        {"name": "income", "kind": "numeric", "missing": "median", "cost_weight": 2.0, "label": "Income"},
        {"name": "paid", "kind": "binary", "levels": [False, True], "missing": "most_frequent"},
        {"name": "school", "kind": "ordinal", "levels": ["no", "some", "all"]},
        {
            "name": "home",
            "kind": "categorical",
            "levels": ["own", "rent"],
            "transitions": [["own", ["rent"]]],
            "missing": "level",
        },
    ],
    "constraints": [
        {"coefficients": {"age": 1.0, "home=own": 2.0}, "bound": 90.0, "on": "change", "name": "slow"}
    ],
    "implications": [{"was": {"paid": [True]}, "when": {"home": ["own"]}, "then": {"school": ["some", "all"]}}],
}

words = st.sampled_from(
    [
        "age",
        "home",
        "paid",
        "numeric",
        "integer",
        "categorical",
        "level",
        "median",
        "fixed",
        "own",
        "=",
        "home=own",
        "",
    ]
)
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.floats(),
    words,
    st.text(max_size=5),
    st.binary(max_size=3),
    st.dates(),
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words | st.integers(), inner, max_size=4),
    max_leaves=12,
)


def paths(node, here=()):
    """Every place in a nested structure."""
    yield here
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in pairs:
        yield from paths(value, (*here, key))


@st.composite
def mutants(draw):
    """A valid schema with one to three places replaced, removed, renamed or doubled."""
    raw = copy.deepcopy(VALID)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from([p for p in paths(raw) if p]))
        parent = raw
        for key in place[:-1]:
            parent = parent[key]
        what = draw(st.sampled_from(["replace", "remove", "rename", "double"]))
        if what == "replace":
            parent[place[-1]] = draw(anything)
        elif what == "remove":
            del parent[place[-1]]
        elif what == "rename" and isinstance(parent, dict):
            parent[draw(words)] = parent.pop(place[-1])
        elif isinstance(parent, list):
            parent.append(copy.deepcopy(parent[place[-1]]))
    return raw


def test_the_seed_is_valid() -> None:
    assert Schema.from_dict(Schema.from_dict(VALID).to_dict()) == Schema.from_dict(VALID)


@QUICK
@given(anything)
def test_any_structure(raw) -> None:
    only_ours(Schema.from_dict, raw)
    only_ours(Schema.from_dict, {"features": [raw]})
    only_ours(Feature.from_dict, raw)


@settings(QUICK, max_examples=250)
@given(mutants())
def test_nearly_valid_structures(raw) -> None:
    schema = only_ours(Schema.from_dict, raw)
    if schema is not None:  # what is accepted can be written and read
        assert Schema.from_json(schema.to_json()) == schema
        assert Schema.from_yaml(schema.to_yaml()) == schema
        only_ours(
            schema.check, {"age": [20, 30], "income": [1.5, None], "paid": [True, False], "home": ["own", None]}
        )


@QUICK
@given(
    st.text()
    | anything.map(lambda raw: json.dumps(raw, default=str))
    | mutants().map(lambda r: json.dumps(r, default=str))
)
def test_any_json(text: str) -> None:
    only_ours(Schema.from_json, text)


@QUICK
@given(st.text() | st.text("[]{}:-&*!#|> \nabfetu0123.,'\"", max_size=40) | mutants().map(lambda r: yaml.dump(r)))
def test_any_yaml(text: str) -> None:
    only_ours(Schema.from_yaml, text)


@QUICK
@given(st.dictionaries(st.integers(0, 2) | words, anything, max_size=3) | anything)
def test_any_restriction(raw) -> None:
    only_ours(normalise_restrictions, raw, Schema.from_dict(VALID), 2)


# ---- tables ---------------------------------------------------------------------------------------------

cells = st.one_of(
    leaves,
    st.lists(st.integers(), max_size=2),
    st.complex_numbers(),
    st.decimals(),
    st.timedeltas(),
    st.datetimes(),
    st.just(pd.NA),
    st.just(pd.NaT),
    st.just(np.float32(0.5)),
    st.just(np.datetime64("2020-01-01")),
    st.just(Decimal("sNaN")),
    st.tuples(st.integers()),
    st.builds(object),
    st.just(np.arange(3)),
)
rows = st.integers(0, 4)


def column(n: int):
    """A column of n cells: of one simple type, or of anything."""
    same = [
        st.integers(),
        st.floats(),
        st.booleans(),
        st.sampled_from(["a", "b", "(missing)"]),
        st.floats(width=16),
        st.sampled_from([0, 1, None]),
        st.sampled_from(["a", None]),
        st.datetimes(),
        cells,
    ]
    return st.one_of([st.lists(s, min_size=n, max_size=n) for s in same])


@st.composite
def columns(draw):
    n = draw(rows)
    names = draw(
        st.lists(st.sampled_from(["age", "income", "paid", "school", "home", "y"]), unique=True, max_size=5)
    )
    return {name: draw(column(n)) for name in names}


def read_every_way(data) -> None:
    schema = Schema.from_dict(VALID)
    only_ours(as_table, data)
    only_ours(schema.check, data)
    only_ours(schema.resolve, data)
    inferred = only_ours(Schema.infer, data, "y") or only_ours(Schema.infer, data)
    if inferred is not None:  # a guess fits the table it was made from, and can be written
        inferred.check(data)
        inferred.resolve(data)
        assert Schema.from_yaml(inferred.to_yaml()) == inferred
        assert Schema.from_json(inferred.to_json()) == inferred


@settings(QUICK, max_examples=150)
@given(columns())
def test_any_mapping_of_columns(data) -> None:
    read_every_way(data)


@settings(QUICK, max_examples=150)
@given(columns(), st.booleans())
def test_any_pandas_frame(data, loose: bool) -> None:
    try:
        frame = pd.DataFrame({k: pd.Series(v, dtype=object) if loose else v for k, v in data.items()})
    except Exception:  # pandas itself cannot build it
        return
    read_every_way(frame)


@QUICK
@given(columns())
def test_any_polars_frame(data) -> None:
    try:
        frame = pl.DataFrame(data, strict=False)
    except BaseException:  # polars itself cannot build it (it may panic)
        return
    read_every_way(frame)


@QUICK
@given(
    anything
    | st.lists(st.lists(cells, max_size=3), max_size=3)
    | st.lists(cells, max_size=3).map(lambda v: np.array([v], object))
)
def test_anything_as_a_table(data) -> None:
    read_every_way(data)


@pytest.mark.parametrize(
    "dtype", ["float16", "longdouble", "uint64", "int8", "bool", "S3", "U3", "datetime64[s]", "O", "complex64"]
)
def test_arrays_of_every_type(dtype: str) -> None:
    read_every_way(np.zeros((3, 2), dtype))
    read_every_way({"age": np.ones(3, dtype)})
