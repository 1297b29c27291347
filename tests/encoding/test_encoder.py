"""Known answers of the encoder: layout, scaling, missing values, grids, files."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdtrue.encoding import SCALINGS, Encoder
from holdtrue.errors import DataError, SchemaError
from holdtrue.schema import Feature, Schema, Table, as_table

SCHEMA = Schema(
    [
        Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
        Feature(name="age", kind="integer", missing="median"),
        Feature(name="school", kind="ordinal", levels=("none", "some", "all")),
        Feature(name="paid", kind="binary", levels=(True, False), missing="most_frequent"),
        Feature(name="town", kind="categorical", missing="level"),
        Feature(name="debt", kind="numeric", step=0.1),
    ]
)
TABLE = pd.DataFrame(
    {
        "home": ["own", "rent", "rent", "free"],
        "age": [20, 30, None, 60],
        "school": ["none", "all", "some", "all"],
        "paid": pd.array([True, False, None, False], dtype="boolean"),
        "town": ["x", None, "y", "x"],
        "debt": [0.3, 0.1, 0.7, 1.1],
    }
)


def test_layout_and_minmax_by_hand() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    assert encoder.layout.column_names(encoder.schema) == [
        *("age", "school", "paid", "debt", "home=own", "home=rent", "home=free"),
        *("town=x", "town=y", "town=(missing)", "age is missing", "paid is missing"),
    ]
    owners = [[4, 5, 6], [7, 8, 9]]  # of the columns of both categories; numbers have one, indicators are nobody's
    assert [np.flatnonzero(row).tolist() for row in encoder.layout.members] == [[0], [1], [2], [3], *owners]
    assert encoder.filled == {"age": 30.0, "paid": 1.0}
    np.testing.assert_allclose(
        encoder.encode(TABLE),
        [
            [0.00, 0.0, 0, 0.2, 1, 0, 0, 1, 0, 0, 0, 0],
            [0.25, 1.0, 1, 0.0, 0, 1, 0, 0, 0, 1, 0, 0],
            [0.25, 0.5, 1, 0.6, 0, 1, 0, 0, 1, 0, 1, 1],
            [1.00, 1.0, 1, 1.0, 0, 0, 1, 1, 0, 0, 0, 0],
        ],
    )


def test_standard_scores() -> None:
    numbers = Encoder.fit(SCHEMA, TABLE, "standard").encode(TABLE)
    np.testing.assert_allclose(numbers[:, :4].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(numbers[:, :4].std(axis=0), 1)
    assert set(np.unique(numbers[:, 4:])) == {0.0, 1.0}
    everything = Encoder.fit(SCHEMA, TABLE, "standard-all").encode(TABLE)
    np.testing.assert_allclose(everything[:, :10].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(everything[:, :10].std(axis=0), 1)
    assert set(np.unique(everything[:, 10:])) == {0.0, 1.0}


def test_weights_count_people() -> None:
    twice = Encoder.fit(SCHEMA, pd.concat([TABLE, TABLE.head(2)], ignore_index=True), "standard")
    weighted = Encoder.fit(SCHEMA, TABLE, "standard", np.array([2.0, 2.0, 1.0, 1.0]))
    np.testing.assert_allclose(twice.offset[1:4], weighted.offset[1:4])
    np.testing.assert_allclose(twice.scale[1:4], weighted.scale[1:4])


@pytest.mark.parametrize("scaling", SCALINGS)
def test_pandas_and_polars_agree(scaling) -> None:
    encoder = Encoder.fit(SCHEMA, TABLE, scaling)
    np.testing.assert_array_equal(encoder.encode(pl.from_pandas(TABLE)), encoder.encode(TABLE))


@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_table_comes_back(scaling) -> None:
    encoder = Encoder.fit(SCHEMA, TABLE, scaling)
    table = as_table(TABLE)
    columns = encoder.decode(encoder.encode(TABLE))
    out = table.like_native(columns)
    pd.testing.assert_frame_equal(out[["debt", "home"]], TABLE[["debt", "home"]], check_dtype=False)
    assert columns["paid"].tolist() == [True, False, None, False]
    assert columns["town"].tolist() == ["x", None, "y", "x"]
    np.testing.assert_array_equal(columns["age"], [20, 30, np.nan, 60])


def test_float32_is_read_at_its_own_precision() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    columns = encoder.decode(encoder.encode(TABLE).astype(np.float32))
    assert columns["debt"].tolist() == [0.3, 0.1, 0.7, 1.1]
    np.testing.assert_array_equal(columns["age"], [20, 30, np.nan, 60])


def test_people_off_the_grid_keep_their_value() -> None:
    schema = Schema([Feature(name="x", kind="numeric", step=1.0), Feature(name="n", kind="integer", step=5)])
    table = {"x": [30.0005, 12.0, 1234567.4], "n": [37, 40, 0]}
    encoder = Encoder.fit(schema, table)
    columns = encoder.decode(encoder.encode(table))
    np.testing.assert_allclose(columns["x"], table["x"], rtol=1e-15)
    assert columns["n"].tolist() == [37, 40, 0]


def test_a_lone_person_whose_number_is_missing() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    one = {"home": ["own"], "age": [None], "school": ["all"], "paid": [None], "town": [None], "debt": [0.2]}
    for data in (one, pd.DataFrame(one)):
        np.testing.assert_allclose(encoder.encode(data), [[0.25, 1, 1, 0.1, 1, 0, 0, 0, 0, 1, 1, 1]])


def test_levels_written_as_numbers_may_be_missing() -> None:
    schema = Schema([Feature(name="b", kind="binary", levels=(0, 1), missing="most_frequent")])
    table = as_table({"b": [0.0, 1.0, 1.0, np.nan]})
    encoder = Encoder.fit(schema, table)
    x = encoder.encode(table)
    for factual in (None, table):
        back = Table(encoder.decode(x, factual), 4)
        assert back.missing("b").tolist() == [False, False, False, True]
        np.testing.assert_array_equal(encoder.encode(back), x)


@pytest.mark.parametrize("missing", ["median", "mean", 31.4])
def test_a_filled_in_number_obeys_the_grid(missing) -> None:
    schema = Schema([Feature(name="n", kind="integer", missing=missing)])
    encoder = Encoder.fit(schema, {"n": [20, 30, 43, None]})
    assert encoder.filled["n"] == 31.0 if missing != "median" else 30.0


@pytest.mark.parametrize("scaling", SCALINGS)
def test_a_constant_column_with_bounds_has_a_sane_scale(scaling) -> None:
    schema = Schema([Feature(name="x", kind="numeric", bounds=(0, 1)), Feature(name="n", kind="integer")])
    encoder = Encoder.fit(schema, {"x": [0.1] * 7, "n": range(7)}, scaling)
    assert abs(encoder.encode({"x": [0.9], "n": [1]})[0, 0]) < 10
    assert (encoder.spread > 0).all()


def test_ranges_beyond_floating_point_are_refused() -> None:
    schema = Schema([Feature(name="x", kind="numeric")])
    for scaling in SCALINGS:
        with pytest.raises(DataError, match=r"column 'x' is beyond floating point; got .* Use other units"):
            Encoder.fit(schema, {"x": [-1.7e308, 1.7e308]}, scaling)


def test_arguments_that_cannot_be() -> None:
    with pytest.raises(SchemaError, match="`scaling` is not known; got 'robust'"):
        Encoder.fit(SCHEMA, TABLE, "robust")
    encoder = Encoder.fit(SCHEMA, TABLE)
    for shape in ((3,), (2, 3)):
        with pytest.raises(DataError, match=r"must be an array of shape \(n, 12\); got"):
            encoder.decode(np.zeros(shape))
    with pytest.raises(DataError, match="levels unseen at fit"):
        encoder.encode(TABLE.assign(town="z"))


def test_damaged_files_are_refused() -> None:
    encoder = Encoder.fit(SCHEMA, TABLE)
    good, arrays = encoder.to_dict(), {"scale": encoder.scale, "offset": encoder.offset, "spread": encoder.spread}
    Encoder.from_dict(good, arrays)
    bad_parts = [
        {"schema": 5},
        {"scaling": "x"},
        {"filled": {}},
        {"filled": 3},
        {"filled": {"age": "x", "paid": 0}},
    ]
    bad = [(good | part, arrays) for part in bad_parts] + [({}, arrays), (good, {})]
    bad += [(good, arrays | {"scale": v}) for v in (np.zeros(12), np.ones(3), np.full(12, np.nan), ["a"])]
    for raw, parts in bad:
        with pytest.raises(DataError, match=r"Encoder: .*; got .* Save it again"):
            Encoder.from_dict(raw, parts)
