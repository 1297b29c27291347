import gzip
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdtrue.errors import DataError
from holdtrue.runs import Source
from holdtrue.runs._text import typed
from holdtrue.schema import Feature, Schema

SCHEMA = Schema(
    [
        Feature(name="code", kind="categorical", levels=("33", "A34", "None")),
        Feature(name="flag", kind="binary", levels=(False, True)),
        Feature(name="grade", kind="ordinal", levels=(1, 2, 3)),
        Feature(name="income", kind="numeric", missing="median"),
    ]
)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_schema_decides_how_a_cell_is_read():
    # In this part of a file, `code` looks like numbers and `flag` like text; "None" is a level, not an absence.
    cells = {"code": ["33", "None"], "flag": ["True", "false"], "grade": ["1", "2.0"], "income": ["", "1e3"]}
    frame = typed(pa.table(cells), SCHEMA)
    assert frame["code"].tolist() == ["33", "None"]
    assert frame["flag"].tolist() == [True, False]
    assert frame["grade"].tolist() == [1, 2]
    assert np.isnan(frame["income"][0])
    assert frame["income"][1] == 1000
    SCHEMA.check(frame)


def test_what_is_no_level_or_number_stays_for_the_check_to_name():
    cells = {"code": ["B"], "flag": ["True"], "grade": ["1"], "income": ["5"]}
    with pytest.raises(DataError, match="'B'"):
        SCHEMA.check(typed(pa.table(cells), SCHEMA))
    cells |= {"code": ["33"], "income": ["lots"]}
    with pytest.raises(DataError, match="'lots'"):
        SCHEMA.check(typed(pa.table(cells), SCHEMA))


def test_without_a_schema_cells_are_guessed():
    cells = {"a": ["1", "2"], "b": ["1.5", ""], "c": ["x", "NA"], "d": ["true", "false"]}
    frame = typed(pa.table(cells), None)
    assert frame["a"].dtype == np.int64
    assert frame["b"].dtype == np.float64
    assert frame["c"].tolist() == ["x", None]
    assert frame["d"].dtype == bool


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_and_quotes(tmp_path, separator):
    path = write(tmp_path / "t.csv", f'a{separator}"b, and c"\r\n1{separator}"x\ny"\r\n')
    frame = Source(path).whole()
    assert frame.columns.tolist() == ["a", "b, and c"]
    assert frame.iloc[0].tolist() == [1, "x\ny"]


def test_byte_order_mark_and_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress("\ufeffa,b\n1,é\n".encode()))
    assert Source(str(path)).whole().to_dict("list") == {"a": [1], "b": ["é"]}


def test_chunks_have_one_size_however_a_file_is_cut(parquet, bank):
    chunks = list(Source(parquet).chunks(bank.schema, 128))
    assert [c.people.n_rows for c in chunks] == [128, 128, 44]
    assert [c.first_row for c in chunks] == [0, 128, 256]
    whole = pa.concat_tables([c.table for c in chunks])
    assert whole.equals(pa.Table.from_pandas(pd.read_parquet(parquet), preserve_index=False).cast(whole.schema))


def test_csv_and_parquet_chunks_agree(table, parquet, bank):
    one, two = (next(iter(Source(p).chunks(bank.schema, 50))).people for p in (table, parquet))
    for name in bank.schema.names:
        assert one.columns[name].dtype == two.columns[name].dtype
        assert one.columns[name].tolist() == two.columns[name].tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no header line"),
        ("\n\n", "no header line"),
        ("a,b\n", "is empty; got 0 rows"),
        ("a,a\n1,2\n", "appears more than once; got 'a' 2 times"),
        ("a,b\n1,2,3\n", "more values than the header"),
        ("a,b\n1,2\n1,2,3\n", "more values than the header has names; got 3 for 2"),
        ('a,b\n1,"2\n', "cannot be read; got .* .a quote is never closed"),
    ],
)
def test_bad_csv(tmp_path, text, words):
    with pytest.raises(DataError, match=words):
        Source(write(tmp_path / "t.csv", text)).whole()


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,\xff\xfe\n")
    with pytest.raises(DataError, match="cannot be read"):
        Source(str(tmp_path / "t.csv")).whole()


def test_bad_parquet(tmp_path, parquet):
    damaged = tmp_path / "t.parquet"
    with open(parquet, "rb") as whole:
        damaged.write_bytes(whole.read()[:-200])
    with pytest.raises(DataError, match=r"table: cannot be read; got .*t\.parquet"):
        Source(str(damaged))
    damaged.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="cannot be read"):
        Source(str(damaged))


def test_parquet_by_another_name(tmp_path, parquet):
    other = tmp_path / "people.data"
    with open(parquet, "rb") as whole:
        other.write_bytes(whole.read())
    assert Source(str(other)).n_rows == 300


def test_a_chunk_travels_with_its_own_rows_only(bank):
    chunks = list(Source("dataset:loanapp").chunks(bank.schema, 50))  # slices of one table
    blob = pickle.dumps(chunks[3])
    again = pickle.loads(blob)
    assert len(blob) < len(pickle.dumps(chunks[3].table)) / 5
    assert again.table.equals(chunks[3].table)
    assert again.first_row == 150
    for name, values in chunks[3].people.columns.items():
        assert again.people.columns[name].tolist() == values.tolist()


@pytest.mark.parametrize("noted", [b"{", b"[]", b'{"index_columns": 5, "columns": [{"name": 3}]}'])
def test_what_pandas_noted_of_a_table_may_be_damaged(tmp_path, noted):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2]}).replace_schema_metadata({b"pandas": noted}), path)
    assert Source(path).whole()["a"].tolist() == [1, 2]


def test_a_parquet_column_that_stands_twice_is_refused(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    with pytest.raises(DataError, match="more than once"):
        Source(path).whole()


def test_whole_numbers_beyond_two_to_the_63_are_read(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([2**63 + 5], pa.uint64())}), path)
    assert Source(path).whole()["a"].tolist() == [2**63 + 5]
