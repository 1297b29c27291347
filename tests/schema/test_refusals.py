"""Which rows a schema refuses, and why: those left can be used."""

import numpy as np
import pandas as pd
import pytest

from holdtrue.errors import DataError, SchemaError
from holdtrue.schema import Feature, Schema, as_table

SCHEMA = Schema(
    [
        Feature(name="x", kind="numeric", bounds=(0, 9), missing="median"),
        Feature(name="n", kind="integer", bounds=(0, 9)),
        Feature(name="c", kind="categorical", levels=("a", "b")),
        Feature(name="flag", kind="binary", levels=(0, 1)),
    ]
)
GOOD = {"x": 0.5, "n": 3, "c": "a", "flag": 1}
BAD = {
    "must hold numbers": {"x": "lots"},
    "infinite": {"x": float("inf")},
    "missing values": {"n": None},
    "fractions": {"n": 2.5},
    "levels unseen": {"c": "z"},
    "text, finite numbers or booleans": {"c": [1]},
}


def test_each_bad_row_is_named_with_its_reason() -> None:
    rows = [GOOD, *(part for change in BAD.values() for part in (GOOD | change, GOOD)), GOOD | {"x": None}]
    columns = {}
    for name in SCHEMA.names:
        columns[name] = np.empty(len(rows), object)
        columns[name][:] = [row[name] for row in rows]
    table = as_table(columns)
    refused = SCHEMA.refusals(table)
    assert list(refused) == [1 + 2 * i for i in range(len(BAD))]
    for words, reason in zip(BAD, refused.values(), strict=True):
        assert words in reason
    kept = np.array([i for i in range(len(rows)) if i not in refused])
    left = as_table({name: values[kept] for name, values in table.columns.items()})
    assert SCHEMA.refusals(left) == {}
    assert SCHEMA.check(left).n_rows == len(BAD) + 2


def test_nothing_to_refuse_and_nothing_to_use() -> None:
    assert SCHEMA.refusals({name: [value] * 3 for name, value in GOOD.items()}) == {}
    with pytest.raises(DataError, match="absent"):
        SCHEMA.refusals({"x": [1.0]})
    dates = pd.DataFrame([GOOD] * 2).assign(x=pd.to_datetime(["2026-01-01", "2026-01-02"]))
    assert list(SCHEMA.refusals(dates)) == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "holdtrue_schema: 1\nfeatures:\n  - {name: a, kind: numeric, bounds: [0, 1], bounds: [0, 5]}\n",
        "holdtrue_schema: 1\nfeatures:\n  - {name: a, kind: numeric}\nfeatures: []\n",
    ],
)
def test_a_key_that_stands_twice_is_refused(text):
    with pytest.raises(SchemaError, match="stands twice"):
        Schema.from_yaml(text)


def test_a_key_that_stands_twice_in_json_is_refused():
    with pytest.raises(SchemaError, match="'features' stands twice"):
        Schema.from_json('{"holdtrue_schema": 1, "features": [], "features": []}')
