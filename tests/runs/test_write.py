"""CSV as it has always been written, to the byte."""

import datetime as dt
import decimal
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from holdtrue.runs._write import text_of

TABLE = pa.table(
    {
        "whole": pa.array([1, None, -3, 2**62]),
        "small": pa.array([1, 2, None, 4], pa.int8()),
        "number": pa.array([0.1, 1e16, None, -0.0]),
        "digits": pa.array([1 / 3, 0.30000000000000004, 1e-7, 123456789.125]),
        "odd": pa.array([float("nan"), float("inf"), float("-inf"), 5e-324]),
        "single": pa.array(np.array([0.1, 1e10, np.nan, 2.5], np.float32)),
        "truth": pa.array([True, False, True, False]),
        "maybe": pa.array([True, None, False, None]),
        "text": pa.array(["plain", 'with "quotes"', "a, comma", "two\nlines"]),
        "other, name": pa.array(["é ü 漢字 🙂", "", None, " space "]),
        "kind": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "day": pa.array([dt.date(2026, 11, 1), None, dt.date(1999, 1, 1), dt.date(2000, 2, 29)]),
        "moment": pa.array([dt.datetime(2026, 11, 1, 10), None, dt.datetime(1999, 1, 1, 0, 0, 7), None]),
        "midnight": pa.array([dt.datetime(2026, 11, 1), None, dt.datetime(1999, 1, 1), None]),
        "zone": pa.array([dt.datetime(2026, 11, 1, 10), None, None, None], pa.timestamp("us", tz="UTC")),
        "money": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("0.01"), decimal.Decimal("3.00")]),
        "nothing": pa.array([None, None, None, None]),
    }
)
TEXT = """\
whole,number,truth,maybe,text,"other, name"
1,0.1,True,True,plain,é ü 漢字 🙂
,1e+16,False,,"with ""quotes""\",
-3,,True,False,"a, comma",
4611686018427387904,-0.0,False,,"two
lines", space \n"""


def by_pandas(table: pa.Table, header: bool) -> bytes:
    whole = {t: pd.Int64Dtype() for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64())}
    frame = table.to_pandas(types_mapper=whole.get, ignore_metadata=True)
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, header=header, lineterminator="\n")
    return buffer.getvalue().encode()


def test_a_known_text():
    assert text_of(
        TABLE.select(["whole", "number", "truth", "maybe", "text", "other, name"]), "csv", header=True
    ) == (TEXT.encode())


@pytest.mark.parametrize("name", TABLE.column_names)
def test_every_kind_of_column_is_written_as_pandas_does(name):
    one = TABLE.select([name])
    assert text_of(one, "csv", header=True) == by_pandas(one, True)


def test_a_whole_table_in_pieces():
    pieces = [text_of(TABLE.slice(i, 2), "csv", header=i == 0) for i in (0, 2)]
    some = ["whole", "number", "odd", "single", "text", "kind"]
    assert text_of(TABLE.select(some), "csv", header=True) == by_pandas(TABLE.select(some), True)
    assert len(b"".join(pieces).splitlines()) == 6


def test_numbers_of_every_size():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=2000) * 10.0 ** rng.integers(-20, 20, 2000)
    table = pa.table({"a": numbers, "b": numbers.astype(np.float32), "c": rng.integers(-(2**62), 2**62, 2000)})
    assert text_of(table, "csv", header=False) == by_pandas(table, False)
