"""What one person may not change."""

import numpy as np
import pytest

from holdtrue.errors import SchemaError
from holdtrue.schema import Feature, Restrictions, Schema, normalise_restrictions

SCHEMA = Schema(
    [
        Feature(name="age", kind="integer", bounds=(18, 90)),
        Feature(name="school", kind="ordinal", levels=("none", "some", "all")),
        Feature(name="home", kind="categorical", levels=("own", "rent", "free")),
    ]
)


def test_all_ways_to_say_it() -> None:
    fixed = {"age": {"direction": "fixed"}}
    assert normalise_restrictions(None, SCHEMA, 3) == {}
    assert normalise_restrictions({1: {"age": "fixed"}}, SCHEMA, 3) == {1: fixed}
    assert normalise_restrictions({np.int64(1): {"age": "fixed"}}, SCHEMA, 3) == {1: fixed}
    assert normalise_restrictions([None, {"age": "fixed"}, None], SCHEMA, 3) == {1: fixed}
    several = {"age": {"bounds": [20, np.int64(30)]}, "home": {"levels": ["own", "free"]}}
    assert normalise_restrictions({0: several}, SCHEMA, 1) == {
        0: {"age": {"bounds": (20.0, 30.0)}, "home": {"levels": ("own", "free")}}
    }


def test_what_was_checked_is_not_checked_again(monkeypatch) -> None:
    from holdtrue.schema import _restriction

    checked = normalise_restrictions({1: {"age": "fixed"}, 3: {"home": {"levels": ["own"]}}}, SCHEMA, 4)
    with monkeypatch.context() as patch:
        patch.setattr(_restriction, "_limits", None)
        assert normalise_restrictions(checked, SCHEMA, 4) is checked
        empty = normalise_restrictions(None, SCHEMA, 4)
        assert normalise_restrictions(empty, SCHEMA, 2) is empty
    with pytest.raises(SchemaError, match="row that is not there"):
        normalise_restrictions(checked, SCHEMA, 3)
    other = Schema([Feature(name="age", kind="integer", bounds=(18, 90))])
    with pytest.raises(SchemaError, match="home"):
        normalise_restrictions(checked, other, 4)


def test_parts_of_restrictions() -> None:
    fixed, own = {"age": {"direction": "fixed"}}, {"home": {"levels": ("own",)}}
    checked = normalise_restrictions({1: {"age": "fixed"}, 3: {"home": {"levels": ["own"]}}}, SCHEMA, 4)
    part = checked.take([3, 0, 1])
    assert (part, part.n_rows, part.schema) == ({0: own, 2: fixed}, 3, SCHEMA)
    assert checked.take(np.array([0, 2])) == {}
    joined = Restrictions.join([(Restrictions(), 2), (checked, 4), (part, 3)])
    assert (joined, joined.n_rows) == ({3: fixed, 5: own, 6: own, 8: fixed}, 9)
    assert normalise_restrictions(joined, SCHEMA, 9) is joined


@pytest.mark.parametrize(
    ("restrictions", "text"),
    [
        (5, "must be a mapping or a list"),
        ("fixed", "must be a mapping or a list"),
        ([None], "one entry per row"),
        ({3: {"age": "fixed"}}, "row that is not there"),
        ({-1: {"age": "fixed"}}, "row that is not there"),
        ({"0": {"age": "fixed"}}, "the table has no index"),
        ({True: {"age": "fixed"}}, "row that is not there"),
        ({0: "fixed"}, "must map features"),
        ([0, None, None], "must map features"),
        ({0: {"agee": "fixed"}}, "Did you mean 'age'?"),
        ({0: {"age": 5}}, "direction or a mapping"),
        ({0: {"age": "never"}}, "`direction` of feature 'age'"),
        ({0: {"home": "increase"}}, "'free' or 'fixed'"),
        ({0: {"age": {"bound": (1, 2)}}}, "Did you mean 'bounds'?"),
        ({0: {"age": {"bounds": 5}}}, "must be a pair"),
        ({0: {"age": {"bounds": (5, 1)}}}, "reversed"),
        ({0: {"age": {"bounds": None}}}, "must be given"),
        ({0: {"age": {"levels": [1]}}}, "Use `bounds`"),
        ({0: {"home": {"bounds": (0, 1)}}}, "Use `levels`"),
        ({0: {"home": {"levels": []}}}, "must be a list"),
        ({0: {"home": {"levels": "own"}}}, "must be a list"),
        ({0: {"home": {"levels": ["castle"]}}}, "unknown level of 'home'"),
        ({0: {"home": {"levels": [["own"]]}}}, "unknown level of 'home'"),
        ({0: {"school": {"levels": ["none", "all"]}}}, "Fill the gap"),
    ],
)
def test_restrictions_that_cannot_be(restrictions, text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        normalise_restrictions(restrictions, SCHEMA, 3)
    assert text in str(caught.value)
    assert "; got " in str(caught.value)


def test_by_index_label() -> None:
    import pandas as pd

    labels = ["app-7", "app-9", "app-7"]
    found = normalise_restrictions({"app-7": {"age": "fixed"}, 1: {"home": "fixed"}}, SCHEMA, 3, labels)
    assert {row: list(limit) for row, limit in found.items()} == {0: ["age"], 1: ["home"], 2: ["age"]}
    by_number = normalise_restrictions(pd.Series({53: {"age": "fixed"}}), SCHEMA, 2, [17, 53])
    assert list(by_number) == [1]
    with pytest.raises(
        SchemaError, match=r"not there; got 53 of 2\. .* For the label 53 of the index give a pandas"
    ):
        normalise_restrictions({53: {"age": "fixed"}}, SCHEMA, 2, [17, 53])
    with pytest.raises(SchemaError, match="label that the index does not have; got 'app-8'"):
        normalise_restrictions({"app-8": {"age": "fixed"}}, SCHEMA, 3, labels)
    with pytest.raises(SchemaError, match="the table has no index"):
        normalise_restrictions({"app-8": {"age": "fixed"}}, SCHEMA, 3)
