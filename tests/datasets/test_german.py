"""The German credit data in all their spellings."""

import numpy as np
import pandas as pd
import pytest

from holdtrue import datasets

pytestmark = pytest.mark.usefixtures("data_dir")


def width(schema: object) -> int:
    """Inputs once categorical features are one-hot and all others one column."""
    return sum(len(f.levels) if f.kind == "categorical" else 1 for f in schema)


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("german_credit", None),
        ("german_credit", "consistent-counterfactuals"),
        ("german_credit", "robustness-tradeoffs"),
        ("german_credit_raw", None),
        ("german_credit_roar_codes", None),
    ],
)
def test_sixty_one_inputs(name: str, variant: str | None) -> None:
    data = datasets.load(name, **({"variant": variant} if variant else {}))
    kinds = [f.kind for f in data.schema]
    assert (kinds.count("integer"), kinds.count("categorical")) == (7, 13)
    assert width(data.schema) == 61
    assert pd.get_dummies(data.X.astype({f.name: str for f in data.schema if f.has_levels})).shape[1] == 61


@pytest.mark.parametrize(
    ("decoded", "coded"),
    [
        ("german_credit", "german_credit_raw"),
        ("german_credit", "german_credit_roar_codes"),
        ("south_german_credit", "south_german_credit_codes"),
    ],
)
def test_codes_mean_what_the_text_says(decoded: str, coded: str) -> None:
    text, code = datasets.load(decoded), datasets.load(coded)
    assert (text.y == code.y).all()
    for a, b in zip(text.schema, code.schema, strict=True):
        assert (a.name, a.kind, a.direction) == (b.name, b.kind, b.direction)
        if not a.has_levels:
            assert (text.X[a.name] == code.X[a.name]).all()
            continue
        to_code = dict(zip(a.levels, b.levels, strict=True))
        assert (text.X[a.name].map(to_code) == code.X[b.name]).all(), a.name
        if a.transitions is not None:
            moved = {to_code[k]: tuple(to_code[v] for v in to) for k, to in a.transitions.items()}
            assert moved == b.transitions


def test_savings_only_grow() -> None:
    savings = datasets.load("german_credit").schema["savings"]
    assert savings.transitions[">= 1000 DM"] == ()
    assert "unknown/no savings account" not in {v for to in savings.transitions.values() for v in to}


def test_actionable_recourse_label_is_bad_credit() -> None:
    plain = datasets.load("german_credit")
    paper = datasets.load("german_credit", variant="actionable-recourse")
    assert (paper.y == 1 - plain.y).all()
    moves = {f.name: f.direction for f in paper.schema}
    assert moves == {"duration": "fixed", "amount": "free", "age": "increase", "personal_status_sex": "fixed"}


def test_rocoursenet() -> None:
    data = datasets.load("rocoursenet_german", variant="rocoursenet")
    assert width(data.schema) == 19
    assert all(f.direction == "free" for f in data.schema)
    by_version = pd.Series(data.y).groupby(data.groups["version"]).agg(["size", "sum"])
    assert np.array_equal(by_version.to_numpy(), [[1000, 700], [1000, 700]])
