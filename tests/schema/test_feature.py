"""One feature: what it accepts, what it refuses and in which words."""

import re

import numpy as np
import pytest

from holdtrue.errors import SchemaError
from holdtrue.schema import DIRECTIONS, KINDS, MISSING_LEVEL, Feature

TEMPLATE = re.compile(r"^[\w.]+: .+; got .+\. \S.*$", re.DOTALL)


def refused(text: str, **fields) -> str:
    """The message of a refused feature, which names the column and follows the template."""
    with pytest.raises(SchemaError) as caught:
        Feature(**{"name": "age", "kind": "numeric"} | fields)
    message = str(caught.value)
    assert TEMPLATE.match(message), message
    assert text in message
    assert "'age'" in message or "name" in fields
    return message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_kind_takes_the_directions_that_make_sense_for_it(kind: str, direction: str) -> None:
    fields = {"name": "f", "kind": kind, "direction": direction}
    if kind == "ordinal":
        fields["levels"] = ("lo", "mid", "hi")
    if kind == "categorical" and direction in ("increase", "decrease"):
        with pytest.raises(SchemaError, match="Use kind 'ordinal', or `transitions`"):
            Feature(**fields)
    else:
        assert Feature(**fields).direction == direction


def test_reversed_bounds_say_the_right_order() -> None:
    with pytest.raises(SchemaError) as caught:
        Feature(name="age", kind="integer", bounds=(90, 17))
    assert str(caught.value) == (
        "Schema: `bounds` of feature 'age' are reversed; got (90, 17). Write (17, 90), or omit `bounds` to learn "
        "them in fit."
    )


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((1,), "must be a pair"),
        ((1, 2, 3), "must be a pair"),
        ("12", "must be a pair"),
        (5, "must be a pair"),
        ((0, float("inf")), "two finite numbers"),
        ((float("nan"), 1), "two finite numbers"),
        ((0, 10**400), "two finite numbers"),
        (("a", "b"), "two finite numbers"),
        ((False, True), "two finite numbers"),
        ((None, 1), "two finite numbers"),
    ],
)
def test_bounds_that_are_no_interval(bounds, text: str) -> None:
    refused(text, bounds=bounds)


def test_numpy_scalars_are_numbers() -> None:
    feature = Feature(
        name=np.str_("age"),
        kind="integer",
        bounds=(np.int64(3), np.float32(4)),
        step=np.int64(1),
        cost_weight=np.float64(2),
    )
    assert feature.bounds == (3.0, 4.0)
    assert type(feature.name) is str
    assert {type(v) for v in (*feature.bounds, feature.step, feature.cost_weight)} == {float}


@pytest.mark.parametrize("step", [0, -1, float("nan"), float("inf"), "1", True, [1]])
def test_step_must_be_positive(step) -> None:
    refused("must be a positive number", step=step)


def test_step_of_an_integer_is_whole() -> None:
    assert "'numeric' for fractions" in refused("must be whole", kind="integer", step=0.5)
    assert Feature(name="n", kind="integer", step=5).grid == 5.0
    assert Feature(name="n", kind="integer").grid == 1.0
    assert Feature(name="n", kind="numeric").grid is None


@pytest.mark.parametrize("field", ["bounds", "step"])
@pytest.mark.parametrize("kind", ["binary", "ordinal", "categorical"])
def test_levels_have_no_bounds_and_no_step(kind: str, field: str) -> None:
    value = {"bounds": (0, 1), "step": 1}[field]
    refused("numeric and integer features", kind=kind, levels=("a", "b"), **{field: value})


@pytest.mark.parametrize(
    ("levels", "text"),
    [
        ("ab", "must be a list"),
        (5, "must be a list"),
        ((), "at least two"),
        (("a",), "at least two"),
        (("a", "a"), "repeat a value"),
        ((1, True), "repeat a value"),
        (("a", None), "text, finite numbers or booleans"),
        (("a", float("nan")), "text, finite numbers or booleans"),
        (("a", float("inf")), "text, finite numbers or booleans"),
        (("a", ["b"]), "text, finite numbers or booleans"),
        (("a", {"b": 1}), "text, finite numbers or booleans"),
        (("a", MISSING_LEVEL), "reserved name"),
    ],
)
def test_levels_that_cannot_be(levels, text: str) -> None:
    refused(text, kind="categorical", levels=levels)


def test_numbers_have_no_levels() -> None:
    refused("Use `bounds` for numbers", levels=(1, 2))


def test_binary_has_two_levels() -> None:
    assert "'categorical' or 'ordinal'" in refused("needs two `levels`", kind="binary", levels=("a", "b", "c"))


def test_ordinal_needs_its_order() -> None:
    assert "from lowest to highest" in refused("needs `levels` in order", kind="ordinal")


@pytest.mark.parametrize(
    ("transitions", "text"),
    [
        ({"a": "b"}, "must map a level to a list"),
        (["a"], "must map a level to a list"),
        (5, "must map a level to a list"),
        ({"a": ["z"]}, "unknown level"),
        ({"z": ["a"]}, "unknown level"),
        ({"a": [None]}, "text, finite numbers or booleans"),
        ({"a": [["b"]]}, "text, finite numbers or booleans"),
    ],
)
def test_transitions_that_cannot_be(transitions, text: str) -> None:
    refused(text, kind="categorical", levels=("a", "b"), transitions=transitions)


def test_transitions_are_for_categories() -> None:
    assert "Use `direction`" in refused("only fit categorical", kind="binary", levels=(0, 1), transitions={0: [1]})


def test_transitions_may_leave_a_missing_value_but_levels_need_not_list_it() -> None:
    feature = Feature(
        name="c", kind="categorical", levels=("a", "b"), missing="level", transitions={MISSING_LEVEL: ["a"]}
    )
    assert feature.transitions == {MISSING_LEVEL: ("a",)}


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "heavy", None, True])
def test_cost_weight_must_be_positive(weight) -> None:
    assert "direction='fixed'" in refused("must be a positive number", cost_weight=weight)


@pytest.mark.parametrize("field", ["label", "unit"])
def test_words_are_text(field: str) -> None:
    refused("must be a string", **{field: 3})


@pytest.mark.parametrize("name", ["", None, 3, ["a"]])
def test_a_name_is_text(name) -> None:
    refused("non-empty string", name=name)


def test_unknown_kind_and_direction_suggest_the_nearest() -> None:
    assert "Did you mean 'numeric'?" in refused("`kind`", kind="numerical")
    assert "Did you mean 'increase'?" in refused("`direction`", direction="increases")
    assert "Known are" in refused("`kind`", kind=["numeric"])


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("categorical", "median", "must be 'level'"),
        ("categorical", ["level"], "must be 'level'"),
        ("binary", "z", "'most_frequent' or a level"),
        ("ordinal", "median", "'most_frequent' or a level"),
        ("ordinal", {}, "'most_frequent' or a level"),
        ("numeric", "mode", "'median', 'mean' or a number"),
        ("integer", float("nan"), "'median', 'mean' or a number"),
        ("numeric", True, "'median', 'mean' or a number"),
    ],
)
def test_missing_rules(kind: str, value, text: str) -> None:
    levels = {} if kind in ("numeric", "integer") else {"levels": ("a", "b")}
    refused(text, kind=kind, missing=value, **levels)


@pytest.mark.parametrize(
    "feature",
    [
        Feature(
            name="x", kind="numeric", bounds=(0, 1), step=0.1, direction="increase", missing="mean", unit="k$"
        ),
        Feature(name="n", kind="integer", step=5, cost_weight=2, label="a number", missing=3),
        Feature(name="b", kind="binary", levels=(False, True), missing=True),
        Feature(name="o", kind="ordinal", levels=(3, 1, 2), direction="decrease", missing="most_frequent"),
        Feature(
            name="c",
            kind="categorical",
            levels=("a", 1, 2.5, "no"),
            missing="level",
            transitions={1: ("a",), "a": ()},
        ),
    ],
)
def test_a_feature_comes_back_from_plain_types(feature: Feature) -> None:
    assert Feature.from_dict(feature.to_dict()) == feature
    assert hash(Feature.from_dict(feature.to_dict())) == hash(feature)
    assert eval(repr(feature), {"Feature": Feature}) == feature


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (5, "must be a mapping"),
        ({"kind": "numeric"}, "lacks `name`"),
        ({"name": "x"}, "lacks `kind`"),
        ({"name": "x", "kind": "numeric", "bound": [0, 1]}, "Did you mean 'bounds'?"),
        ({"name": "x", "kind": "numeric", 3: 4}, "unknown field"),
        ({"name": "c", "kind": "categorical", "transitions": [["a"]]}, "pairs"),
        ({"name": "c", "kind": "categorical", "transitions": [[["a"], ["b"]]]}, "pairs"),
        ({"name": "c", "kind": "categorical", "transitions": [["a", ["b"]], ["a", ["c"]]]}, "twice"),
    ],
)
def test_plain_types_that_are_no_feature(raw, text: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(text)):
        Feature.from_dict(raw)


def test_title_prefers_the_label() -> None:
    assert Feature(name="x", kind="numeric").title == "x"
    assert Feature(name="x", kind="numeric", label="income").title == "income"
