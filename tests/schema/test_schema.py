"""The whole schema: files, and tables held against it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from holdtrue.errors import DataError, SchemaError
from holdtrue.schema import MISSING_LEVEL, Feature, Implication, LinearConstraint, Schema, sorted_levels

SCHEMA = Schema(
    [
        Feature(name="age", kind="integer", bounds=(18, 90), direction="increase", unit="years"),
        Feature(name="income", kind="numeric", step=0.1, missing="median", cost_weight=2, label="Einkommen ≥"),
        Feature(name="paid", kind="binary", levels=(False, True)),
        Feature(name="school", kind="ordinal", levels=("no", "yes", "1e3", "~"), direction="increase"),
        Feature(name="home", kind="categorical", levels=("own", 1, 2.5), transitions={1: ["own"], "own": []}),
        Feature(name="town", kind="categorical", missing="level"),
    ],
    [
        LinearConstraint(
            coefficients={"age": 1, "home=1": -2, "town=x": 1e-7}, bound=1e16, on="change", name="ok: #1"
        )
    ],
    [Implication(was={"paid": [True]}, when={"home": [1, 2.5]}, then={"school": ["yes", "~"]})],
)
GOOD = {
    "age": [20, 30],
    "income": [1.5, None],
    "paid": [True, False],
    "school": ["no", "~"],
    "home": ["own", 1],
    "town": ["x", None],
}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_files_round_trip(form: str, tmp_path) -> None:
    back = Schema.from_json(SCHEMA.to_json()) if form == "json" else Schema.from_yaml(SCHEMA.to_yaml())
    assert back == SCHEMA
    assert back.digest() == SCHEMA.digest()
    assert hash(back) == hash(SCHEMA)
    assert back["home"].transitions == SCHEMA["home"].transitions
    assert [type(v) for v in back["home"].levels] == [str, int, float]
    SCHEMA.save(tmp_path / f"s.{form}")
    assert Schema.load(tmp_path / f"s.{form}") == SCHEMA
    assert Schema.load(str(tmp_path / f"s.{form}")) == SCHEMA


def test_equal_schemas_have_equal_hashes() -> None:
    ints = Schema([Feature(name="b", kind="binary", levels=(0, 1))])
    bools = Schema([Feature(name="b", kind="binary", levels=(False, True))])
    assert ints != bools
    assert Schema([Feature(name="x", kind="numeric", step=5)]) == Schema(
        [Feature(name="x", kind="numeric", step=5.0)]
    )
    assert SCHEMA != 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "[1, 2",
        "{a: b",
        "features: 5",
        "!!bool x",
        "!!timestamp x",
        "!!python/object:os.system x",
        "2020-99-99",
    ],
)
def test_yaml_that_is_no_schema(text: str) -> None:
    with pytest.raises(SchemaError, match="; got "):
        Schema.from_yaml(text)


@pytest.mark.parametrize(
    "text", ["", "5", "[1, 2", '{"features": 5}', "9" * 5000, "[" * 100_000, None, 5, b"\xff"]
)
def test_json_that_is_no_schema(text) -> None:
    with pytest.raises(SchemaError, match="; got "):
        Schema.from_json(text)


def test_a_yaml_file_that_multiplies_itself_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    with pytest.raises(SchemaError) as caught:
        Schema.from_yaml("\n".join([*lines, "features: *a11"]))
    assert len(str(caught.value)) < 2000
    with pytest.raises(SchemaError):
        Schema.from_yaml("features: &a [*a]")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (None, "mapping with `features`"),
        ({}, "mapping with `features`"),
        ({"features": []}, "`features` is empty"),
        ({"features": {}}, "`features` must be a list"),
        ({"features": "x"}, "`features` must be a list"),
        ({"features": [], "constraint": []}, "Did you mean 'constraints'?"),
        ({"features": [], "holdtrue_schema": 99}, "Upgrade holdtrue"),
        ({"features": [], "implications": 3}, "`implications` must be a list"),
        ({"features": [{"name": "x", "kind": "numeric"}] * 2}, "described twice; got 'x'"),
    ],
)
def test_plain_types_that_are_no_schema(raw, text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(raw)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        (5,),
        ("ab",),
        ([5],),
        ([{"name": "x", "kind": "numeric"}],),
        (SCHEMA.features, [5]),
        (SCHEMA.features, (), ["x"]),
    ],
)
def test_parts_of_the_wrong_type(arguments) -> None:
    with pytest.raises(SchemaError, match=r"must be a list of .* objects; got"):
        Schema(*arguments)


def test_files_that_are_not_there(tmp_path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"\xff\xfe\x00x")
    for path in (tmp_path / "no.yaml", tmp_path, tmp_path / "latin.yaml", "a\0b", 5):
        with pytest.raises(SchemaError, match="cannot read the file"):
            Schema.load(path)
    with pytest.raises(SchemaError, match="cannot write the file"):
        SCHEMA.save(tmp_path / "no" / "s.yaml")


def test_access_by_name() -> None:
    assert len(SCHEMA) == 6
    assert [f.name for f in SCHEMA] == SCHEMA.names
    assert "age" in SCHEMA
    assert SCHEMA.replace(age={"direction": "fixed"})["age"].direction == "fixed"
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        SCHEMA["incme"]
    with pytest.raises(SchemaError, match="unknown feature"):
        SCHEMA.replace(incme={})


# ---- tables ---------------------------------------------------------------------------------------------


def refused(text: str, data=None, schema: Schema = SCHEMA, **columns) -> None:
    with pytest.raises(DataError) as caught:
        schema.resolve({**GOOD, "income": [1.5, 2.5], **columns} if data is None else data)
    message = str(caught.value)
    assert text in message, message
    assert "; got " in message
    for name in columns:
        assert repr(name) in message


def test_a_good_table_passes_and_teaches() -> None:
    schema = SCHEMA.resolve(GOOD | {"more": ["carried", "along"], "income": [1.5, 2.5]})
    assert schema["income"].bounds == (1.5, 2.5)
    assert schema["town"].levels == ("x", MISSING_LEVEL)
    assert schema["age"].bounds == (18.0, 90.0)
    for build in (pd.DataFrame, lambda d: pl.DataFrame(d, strict=False)):
        assert schema.check(build({k: v for k, v in GOOD.items() if k != "home"} | {"home": [1, 2.5]})).n_rows == 2


def test_missing_values_name_the_column_the_count_and_the_way_out() -> None:
    refused(
        "column 'age' has missing values (NaN); got 1 of 2. Fill them, or set missing='median'", age=[20, None]
    )
    refused("got 1 of 2. Fill them, or set missing='most_frequent'", school=["no", None])
    refused("got 2 of 2. Fill them, or set missing='level'", home=[None, None])


def test_columns_that_cannot_be_used() -> None:
    refused("'age' has infinite values; got 1 of 2", age=[20, np.inf])
    refused("'income' has infinite values; got 1 of 2", income=[20.0, 10**400])
    refused("'age' has fractions; got 20.5", age=[20, 20.5])
    refused("'age' has numbers beyond 2**53", age=[20, 2**60])
    refused("'age' must hold numbers; got 'x'", age=[20, "x"])
    refused("'age' must hold numbers; got True", age=pd.Series([True, 20], dtype=object))
    refused("'school' has levels unseen at fit; got ['maybe']", school=["no", "maybe"])
    refused("'home' has levels unseen at fit; got ['rent']", home=["own", "rent"])
    refused("'paid' has levels unseen at fit; got ['x']", paid=[True, "x"])
    refused(
        "'home' must hold text, finite numbers or booleans; got ['own']",
        home=pd.Series([["own"], 1], dtype=object),
    )
    refused("'town' must hold text, finite numbers or booleans; got inf", town=[np.inf, 1.0])
    refused(f"'town' uses a reserved text; got '{MISSING_LEVEL}'", town=["x", MISSING_LEVEL])
    refused("'income' has no value at all; got 2 missing", income=[None, None])
    refused("the table is empty; got 0 rows", {name: [] for name in GOOD})
    refused("absent; got ['age']. Did you mean 'aged'?", {k if k != "age" else "aged": v for k, v in GOOD.items()})


def test_constant_columns_are_refused_unless_described() -> None:
    for kind in ("numeric", "integer", "binary", "categorical"):
        with pytest.raises(DataError, match=r"column 'x' is constant; got .*1.* in every row\. Drop it"):
            Schema([Feature(name="x", kind=kind)]).resolve({"x": [1, 1, 1]})
    assert Schema([Feature(name="x", kind="numeric", bounds=(0, 2))]).resolve({"x": [1, 1]})["x"].bounds == (0, 2)
    with pytest.raises(DataError, match="must have two levels"):
        Schema([Feature(name="x", kind="binary")]).resolve({"x": [1, 2, 3]})


def test_a_level_unseen_at_fit_is_refused_later() -> None:
    schema = SCHEMA.resolve(GOOD | {"income": [1.5, 2.5]})
    with pytest.raises(DataError, match=r"recourse: column 'town' has levels unseen at fit; got \['z'\]"):
        schema.check(GOOD | {"town": ["x", "z"]}, where="recourse")


def test_a_lone_missing_number_can_be_read() -> None:
    schema = SCHEMA.resolve(GOOD | {"income": [1.5, 2.5]})
    one = {name: values[1:] for name, values in GOOD.items()}
    assert schema.check(one).missing("income").tolist() == [True]
    assert schema.check(pd.DataFrame(one)).missing("town").tolist() == [True]


def test_levels_sort_within_their_type() -> None:
    assert sorted_levels(np.array(["b", 2, "a", 0, 1.5], object)) == (1.5, 0, 2, "a", "b")
    assert sorted_levels(np.array([3, 1, 2])) == (1, 2, 3)
