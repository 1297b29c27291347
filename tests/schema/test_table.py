"""Tables of every library in, plain numpy columns inside, the same library out."""

import datetime as dt
import json
import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from holdtrue.errors import DataError
from holdtrue.schema import Feature, Schema, Table, as_table

ROWS = {"n": [1, 2, 3], "x": [0.5, 1.5, 2.5], "b": [True, False, True], "c": ["u", "v", "u"]}
EXPECTED = {"n": np.int64, "x": np.float64, "b": np.bool_, "c": np.object_}


@pytest.mark.parametrize(
    "build", [dict, pd.DataFrame, pl.DataFrame, pa.table], ids=["dict", "pandas", "polars", "arrow"]
)
def test_the_same_table_from_every_library(build) -> None:
    table = as_table(build(ROWS))
    assert table.names == list(ROWS)
    assert table.n_rows == 3
    for name, values in ROWS.items():
        assert table.columns[name].dtype == EXPECTED[name]
        assert table.columns[name].tolist() == values
        assert not table.missing(name).any()


MISSING = {
    "pandas-numpy": pd.Series([1.0, None, 3.0]),
    "pandas-Int64": pd.Series([1, None, 3], dtype="Int64"),
    "pandas-Float64": pd.Series([1, None, 3], dtype="Float64"),
    "pandas-arrow": pd.Series([1, None, 3], dtype="int64[pyarrow]"),
    "pandas-object": pd.Series([1, None, 3], dtype=object),
    "pandas-NA-object": pd.Series([1, pd.NA, 3], dtype=object),
    "polars": pl.Series([1, None, 3]),
    "polars-nan": pl.Series([1.0, float("nan"), 3.0]),
    "polars-decimal": pl.Series([Decimal(1), None, Decimal(3)]),
    "arrow": pa.array([1, None, 3]),
}


@pytest.mark.parametrize("column", MISSING.values(), ids=MISSING)
def test_a_missing_number_is_nan_whatever_its_library_calls_it(column) -> None:
    build = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[
        type(column).__module__.split(".")[0]
    ]
    table = as_table(build({"x": column}))
    assert table.columns["x"].dtype == np.float64
    np.testing.assert_array_equal(table.columns["x"], [1.0, np.nan, 3.0])
    assert table.missing("x").tolist() == [False, True, False]


TEXTS = {
    "str": pd.Series(["a", None, "b"]),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "string[pyarrow]": pd.Series(["a", None, "b"], dtype="string[pyarrow]"),
    "object": pd.Series(["a", np.nan, "b"], dtype=object),
    "category": pd.Series(["a", None, "b"], dtype="category"),
    "polars": pl.Series(["a", None, "b"]),
    "polars-cat": pl.Series(["a", None, "b"], dtype=pl.Categorical),
    "polars-enum": pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
    "arrow": pa.array(["a", None, "b"]),
    "arrow-dict": pa.array(["a", None, "b"]).dictionary_encode(),
}


@pytest.mark.parametrize("column", TEXTS.values(), ids=TEXTS)
def test_a_missing_text_is_none(column) -> None:
    build = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[
        type(column).__module__.split(".")[0]
    ]
    table = as_table(build({"x": column}))
    assert table.columns["x"].tolist() == ["a", None, "b"]
    assert table.missing("x").tolist() == [False, True, False]


def test_booleans_with_gaps_stay_booleans() -> None:
    for frame in (pd.DataFrame({"x": pd.array([True, None], dtype="boolean")}), pl.DataFrame({"x": [True, None]})):
        assert as_table(frame).columns["x"].tolist() == [True, None]


def test_mixed_lists_keep_their_types() -> None:
    mixed = [1, "a", 2.5, None, True]
    for data in ({"x": mixed}, pd.DataFrame({"x": pd.Series(mixed, dtype=object)})):
        values = as_table(data).columns["x"].tolist()
        assert values == mixed
        assert [type(v) for v in values] == [type(v) for v in mixed]
    rows = as_table([[1, "a"], [2, "b"]])
    assert rows.columns["x0"].tolist() == [1, 2]
    assert rows.columns["x1"].tolist() == ["a", "b"]


def test_numbers_in_an_object_column_are_numbers() -> None:
    assert as_table({"x": np.array([1, np.int64(2)], object)}).columns["x"].dtype == np.int64
    assert as_table({"x": [Decimal("1.5"), Decimal("NaN")]}).columns["x"].tolist()[0] == 1.5
    assert as_table({"x": [Decimal("1.5"), None]}).missing("x").tolist() == [False, True]
    assert as_table({"x": [1.5, float("nan")]}).missing("x").tolist() == [False, True]


def test_numbers_too_large_for_int64_do_not_wrap_around() -> None:
    for data in (
        {"x": np.array([2**63 + 5, 1], np.uint64)},
        pl.DataFrame({"x": pl.Series([2**63 + 5, 1], dtype=pl.UInt64)}),
        {"x": [2**63 + 5, 1]},
    ):
        assert as_table(data).columns["x"].tolist() == [2.0**63, 1.0]
    assert as_table({"x": [10**400, 1]}).columns["x"].tolist() == [np.inf, 1.0]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "got NoneType"),
        (5, "got int"),
        ("abc", "rows and columns"),
        ([1, 2], "rows and columns"),
        (pd.Series([1, 2]), "rows and columns"),
        ([[1, 2], [3]], "rows of equal length"),
        (np.zeros((2, 2, 2)), "rows and columns"),
        (iter([1]), "Convert it first"),
        (pl.DataFrame({"a": [1]}).lazy(), r".collect()"),
        (np.ma.masked_array([[1, 2]], [[0, 1]]), ".filled(np.nan)"),
        ({"a": np.ma.masked_array([1, 2], [0, 1])}, ".filled(np.nan)"),
        ({"a": [1, 2], "b": [1]}, "differ in length; got [1, 2]"),
        ({"a": 5}, "column 'a' must be one-dimensional"),
        ({"a": [[1, 2], [3]]}, "column 'a' cannot be read"),
        ({"a": [1j]}, "Complex"),
        ({1: [1], "1": [2]}, "'1'"),
        (pd.DataFrame([[1]], columns=[0]), "column names must be text; got [0]"),
        (pd.DataFrame([[1]], columns=[("a", "b")]), "column names must be text"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])), "must be text"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "got 'a' 2 times"),
        (pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), "got 'a' 2 times"),
    ],
)
def test_what_is_no_table(data, text: str) -> None:
    with pytest.raises(DataError) as caught:
        as_table(data)
    assert text in str(caught.value)
    assert "; got " in str(caught.value)


def test_sparse_arrays_are_refused_with_the_way_out() -> None:
    from scipy.sparse import csr_matrix

    with pytest.raises(DataError, match=r"\.toarray\(\)"):
        as_table(csr_matrix(np.eye(2)))


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_what_comes_out_is_what_went_in(build) -> None:
    native = build(ROWS)
    table = as_table(native)
    out = table.like_native({**table.columns, "n": np.array([1.0, 2.0, 4.0]), "b": np.array([1, 0, 0], object)})
    assert type(out) is type(native)
    back = as_table(out)
    assert back.columns["n"].tolist() == [1, 2, 4]
    assert back.columns["n"].dtype == np.int64
    assert back.columns["b"].tolist() == [True, False, False]
    assert back.columns["c"].tolist() == ["u", "v", "u"]
    some = table.take(np.array([2, 0]))
    assert some.columns["n"].tolist() == [3, 1]
    assert as_table(some.native).columns["n"].tolist() == [3, 1]
    none = table.take(np.zeros(3, bool))
    assert (none.n_rows, as_table(none.native).n_rows) == (0, 0)


def test_the_index_of_pandas_is_kept() -> None:
    frame = pd.DataFrame(ROWS, index=["p", "q", "r"])
    table = as_table(frame).take(np.array([True, False, True]))
    assert list(table.like_native(table.columns).index) == ["p", "r"]


def test_missing_numbers_leave_as_each_library_writes_them() -> None:
    gap = {"x": np.array([1.0, np.nan])}
    assert as_table(pl.DataFrame({"x": [1, None]})).like_native(gap)["x"].null_count() == 1
    assert as_table(pa.table({"x": [1, None]})).like_native(gap)["x"].null_count == 1
    assert as_table(pd.DataFrame({"x": [1, 2]})).like_native(gap)["x"].isna().sum() == 1
    assert Table(gap, 2).like_native(gap)["x"].isna().tolist() == [False, True]


DATES = {
    "datetime": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])),
    "zoned": pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"]).tz_localize("UTC")),
    "timedelta": pd.Series(pd.to_timedelta([1, 2], unit="D")),
    "period": pd.Series(pd.period_range("2020", periods=2, freq="M")),
    "date": pd.Series([dt.date(2020, 1, 1), dt.date(2021, 1, 1)], dtype=object),
    "text-and-date": pd.Series(["a", dt.date(2021, 1, 1)], dtype=object),
    "time": pd.Series([dt.time(1), dt.time(2)], dtype=object),
    "python-timedelta": pd.Series([dt.timedelta(1), dt.timedelta(2)], dtype=object),
    "numpy-object": pd.Series([np.datetime64("2020-01-01"), None], dtype=object),
    "polars-date": pl.Series([dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
    "polars-datetime": pl.Series([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]),
    "polars-duration": pl.Series([dt.timedelta(1), None]),
    "polars-time": pl.Series([dt.time(1), dt.time(2)]),
    "arrow-date": pa.array([dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
    "numpy": np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"),
}


@pytest.mark.parametrize("column", DATES.values(), ids=DATES)
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_dates_are_refused_with_the_way_out(column, kind) -> None:
    from holdtrue.schema import Feature, Schema

    library = type(column).__module__.split(".")[0]
    build = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "numpy": dict}[library]
    table = build({"when": column})
    with pytest.raises(DataError, match=r"column 'when' holds dates; got .* Derive a number"):
        Schema([Feature(name="when", kind=kind)]).resolve(table)
    with pytest.raises(DataError, match=r"no feature column; got .*when: left out, it holds dates; derive"):
        Schema.infer(table)


def test_ten_thousand_columns_take_no_longer_each_than_a_hundred():
    """Names are looked up, not searched for: what is quadratic takes minutes here."""
    wide = pd.DataFrame(np.zeros((2, 10_000)), columns=[f"c{i}" for i in range(10_000)])
    schema = Schema([Feature(name=n, kind="numeric") for n in wide.columns])
    began = time.process_time()
    table = schema.check(wide)
    assert [schema[n].name for n in schema.names[::50]] == schema.names[::50]
    assert table.like_native(table.columns).shape == wide.shape
    assert time.process_time() - began < 20


def test_sixty_thousand_features_end():
    """Read, looked up and written: what goes through all of them for each does not end."""
    n = 60_000
    features = [{"name": f"c{i}", "kind": "numeric", "bounds": [0, 1]} for i in range(n)]
    schema = Schema.from_json(json.dumps({"holdtrue_schema": 1, "features": features}))
    assert len(schema.names) == n
    assert all(schema[name].bounds == (0, 1) for name in schema.names)
    assert len(json.loads(schema.to_json())["features"]) == n
