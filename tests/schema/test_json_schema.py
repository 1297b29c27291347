"""The JSON Schema of schema files says what the parser says."""

from dataclasses import fields

import jsonschema
import pytest
import yaml

import holdtrue as ht
from holdtrue.errors import SchemaError
from holdtrue.schema import DIRECTIONS, KINDS, Feature, Implication, LinearConstraint, Schema, json_schema
from holdtrue.schema._feature import COST_SCALES

CHECK = jsonschema.Draft202012Validator(json_schema())


def test_it_knows_every_field_and_every_word():
    parts = json_schema()["$defs"]
    for name, kind in (("feature", Feature), ("constraint", LinearConstraint), ("implication", Implication)):
        assert set(parts[name]["properties"]) == {f.name for f in fields(kind)}
    known = parts["feature"]["properties"]
    assert known["kind"]["enum"] == list(KINDS)
    assert known["direction"]["enum"] == list(DIRECTIONS)
    assert known["cost"]["enum"] == list(COST_SCALES)
    for field in fields(Feature):
        if "default" in known[field.name]:
            assert known[field.name]["default"] == field.default


@pytest.mark.parametrize("name", ["loanapp", "recid", "breast_cancer"])
def test_what_is_written_is_valid_and_reads_back(name):
    schema = ht.datasets.load(name).schema
    for text in (schema.to_yaml(), schema.to_yaml(annotated=True)):
        CHECK.validate(yaml.safe_load(text) if "on: change" not in text else Schema.from_yaml(text).to_dict())
        assert Schema.from_yaml(text) == schema


NUMBER, LEVELS = {"name": "x", "kind": "numeric"}, {"name": "x", "kind": "categorical", "levels": ["a", "b"]}


@pytest.mark.parametrize(
    "entry",
    [
        NUMBER
        | {"bounds": [0, 1], "step": 0.1, "direction": "increase", "missing": "median", "cost": "percentile"},
        NUMBER | {"missing": 3.5, "label": "income", "unit": "$", "group": "money", "protected": True},
        LEVELS | {"missing": "level", "transitions": [["a", ["b"]]], "cost_weight": 2},
        LEVELS | {"transitions": {"a": ["b"]}, "direction": "fixed"},
        {"name": "x", "kind": "ordinal", "levels": [1, 2, 3], "direction": "decrease", "missing": "most_frequent"},
        {"name": "x", "kind": "binary", "levels": [False, True], "missing": True},
        {"name": "x", "kind": "integer", "step": 5},
    ],
)
def test_both_accept(entry):
    Schema.from_dict({"features": [entry]})
    CHECK.validate({"features": [entry]})


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"features": []},
        {"features": {}},
        {"features": [NUMBER], "holdtrue_schema": 2},
        {"features": [NUMBER], "extra": 1},
        {"features": [{"name": "x"}]},
        {"features": [{"name": "", "kind": "numeric"}]},
        {"features": [NUMBER | {"kind": "number"}]},
        {"features": [NUMBER | {"direction": "up"}]},
        {"features": [NUMBER | {"cost": "rank"}]},
        {"features": [NUMBER | {"bounds": [0]}]},
        {"features": [NUMBER | {"bounds": [0, "a"]}]},
        {"features": [NUMBER | {"step": 0}]},
        {"features": [NUMBER | {"levels": ["a", "b"]}]},
        {"features": [NUMBER | {"missing": "level"}]},
        {"features": [NUMBER | {"cost_weight": 0}]},
        {"features": [NUMBER | {"protected": "yes"}]},
        {"features": [NUMBER | {"colour": "red"}]},
        {"features": [{"name": "x", "kind": "integer", "step": 0.5}]},
        {"features": [LEVELS | {"bounds": [0, 1]}]},
        {"features": [LEVELS | {"step": 1}]},
        {"features": [LEVELS | {"cost": "percentile"}]},
        {"features": [LEVELS | {"direction": "increase"}]},
        {"features": [LEVELS | {"levels": ["a"]}]},
        {"features": [LEVELS | {"levels": ["a", "a"]}]},
        {"features": [LEVELS | {"missing": "median"}]},
        {"features": [{"name": "x", "kind": "ordinal"}]},
        {"features": [{"name": "x", "kind": "binary", "levels": [1, 2, 3]}]},
        {"features": [NUMBER], "constraints": [{"coefficients": {"x": 1}}]},
        {"features": [NUMBER], "constraints": [{"coefficients": {}, "bound": 1}]},
        {"features": [NUMBER], "constraints": [{"coefficients": {"x": 1}, "bound": 1, "on": "level"}]},
        {"features": [LEVELS], "implications": [{"when": {"x": ["a"]}}]},
        {"features": [LEVELS], "implications": [{"then": {"x": []}}]},
    ],
)
def test_both_refuse(raw):
    with pytest.raises(SchemaError):
        Schema.from_dict(raw)
    assert not CHECK.is_valid(raw)
