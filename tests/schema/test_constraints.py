"""Linear constraints and implications: what they accept, refuse, and write to a file."""

import numpy as np
import pytest

from holdtrue.errors import SchemaError
from holdtrue.schema import MISSING_LEVEL, Feature, Implication, LinearConstraint, Schema

FEATURES = [
    Feature(name="debt", kind="numeric"),
    Feature(name="school", kind="ordinal", levels=("none", "some", "all")),
    Feature(name="home", kind="categorical", levels=("own", "rent", 3), missing="level"),
    Feature(name="a=b", kind="categorical", levels=("x", "y=z")),
]


def test_a_constraint_comes_back_from_plain_types() -> None:
    for constraint in (
        LinearConstraint(coefficients={"debt": 1, "school": -0.5}, bound=3),
        LinearConstraint(coefficients={"debt": np.float64(1)}, bound=np.int64(3), on="change", name="slow"),
    ):
        assert LinearConstraint.from_dict(constraint.to_dict()) == constraint
        assert type(constraint.bound) is float


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"coefficients": {}}, "must map features"),
        ({"coefficients": ["debt"]}, "must map features"),
        ({"coefficients": {"debt": "1"}}, "finite number"),
        ({"coefficients": {"debt": True}}, "finite number"),
        ({"coefficients": {"debt": float("nan")}}, "finite number"),
        ({"coefficients": {"debt": 10**400}}, "finite number"),
        ({"coefficients": {3: 1}}, "finite number"),
        ({"bound": float("inf")}, "`bound` must be a finite number"),
        ({"bound": None}, "`bound` must be a finite number"),
        ({"on": "values"}, "'value' or 'change'"),
        ({"on": ["value"]}, "'value' or 'change'"),
        ({"name": 3}, "`name` of a constraint"),
    ],
)
def test_constraints_that_cannot_be(fields: dict, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        LinearConstraint(**{"coefficients": {"debt": 1.0}, "bound": 1.0} | fields)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("dept", "Did you mean 'debt'?"),
        ("home", "Write 'home=<level>'"),
        ("school=some", "Write 'school'"),
        ("home=castle", "unknown level"),
    ],
)
def test_terms_a_schema_does_not_know(key: str, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        Schema(FEATURES, [LinearConstraint(coefficients={key: 1}, bound=0)])


def test_terms_name_a_feature_or_a_level() -> None:
    schema = Schema(FEATURES)
    assert schema.term("debt") == (schema["debt"], None)
    assert schema.term("home=3") == (schema["home"], 3)
    assert schema.term(f"home={MISSING_LEVEL}") == (schema["home"], MISSING_LEVEL)
    assert schema.term("a=b=y=z") == (schema["a=b"], "y=z")


def test_an_implication_comes_back_from_plain_types() -> None:
    rule = Implication(was={"home": ["own"]}, when={"school": "all"}, then={"home": ["own", 3]}, name="keep")
    assert rule.when == {"school": ("all",)}
    assert Implication.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"then": {}}, "needs `then`"),
        ({"then": ["home"]}, "must map features"),
        ({"then": {"home": []}}, "at least one level"),
        ({"then": {3: ["own"]}}, "at least one level"),
        ({"then": {"home": [None]}}, "at least one level"),
        ({"then": {"home": {"own": 1}}}, "at least one level"),
        ({"then": {"home": ["own"]}, "when": 3}, "`when` of an implication"),
        ({"then": {"home": ["own"]}, "name": 3}, "must be text"),
    ],
)
def test_implications_that_cannot_be(fields: dict, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        Implication(**fields)


@pytest.mark.parametrize(
    ("then", "text"),
    [
        ({"debt": [1]}, "Use a linear constraint"),
        ({"home": ["castle"]}, "unknown level of 'home'"),
        ({"house": ["own"]}, "unknown feature"),
    ],
)
def test_implications_a_schema_does_not_know(then: dict, text: str) -> None:
    with pytest.raises(SchemaError, match=text):
        Schema(FEATURES, implications=[Implication(then=then)])


@pytest.mark.parametrize("build", [LinearConstraint.from_dict, Implication.from_dict])
@pytest.mark.parametrize("raw", [5, {}, {"thn": {}}, {"coefficient": {}}])
def test_plain_types_that_are_no_constraint(build, raw) -> None:
    with pytest.raises(SchemaError, match="a constraint"):
        build(raw)
