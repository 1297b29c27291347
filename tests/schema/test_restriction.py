"""What one person may not change."""

import numpy as np
import pytest

from holdtrue.errors import SchemaError
from holdtrue.schema import Feature, Schema, normalise_restrictions

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


@pytest.mark.parametrize(
    ("restrictions", "text"),
    [
        (5, "must be a mapping or a list"),
        ("fixed", "must be a mapping or a list"),
        ([None], "one entry per row"),
        ({3: {"age": "fixed"}}, "row that is not there"),
        ({-1: {"age": "fixed"}}, "row that is not there"),
        ({"0": {"age": "fixed"}}, "row that is not there"),
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
