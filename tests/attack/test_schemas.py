"""Answers in random worlds held against an independent checker; `benchmarks.attack.schemas` takes hundreds."""

from typing import Any

import pytest

from benchmarks.attack._checker import broken
from benchmarks.attack.schemas import WRONG, attack

FEATURES: list[dict[str, Any]] = [
    {"name": "n", "kind": "numeric", "bounds": [0, 10], "step": 0.5, "direction": "increase"},
    {"name": "o", "kind": "ordinal", "levels": ["a", "b", "c"], "missing": "a"},
    {"name": "c", "kind": "categorical", "levels": ["x", "y", "z"], "transitions": [["x", ["y"]]]},
]
SCHEMA = {
    "features": FEATURES,
    "constraints": [{"coefficients": {"n": 1, "o": 2, "c=y": 1}, "bound": 8}],
    "implications": [{"was": {"o": ["a"]}, "when": {"c": ["y"]}, "then": {"o": ["b", "c"]}}],
}
PERSON = {"n": 2.0, "o": "a", "c": "x"}


@pytest.mark.parametrize(
    ("change", "restriction", "n_broken"),
    [
        ({}, {}, 0),
        ({"n": 2.5}, {}, 0),
        ({"n": 2.2}, {}, 1),
        ({"n": 1.5}, {}, 1),
        ({"n": 10.5}, {}, 2),  # the bounds and the constraint
        ({"n": 8.0}, {}, 0),
        ({"n": 8.5}, {}, 1),
        ({"c": "z"}, {}, 1),
        ({"c": "y"}, {}, 1),  # the implication
        ({"c": "y", "o": "b"}, {}, 0),
        ({"c": "y", "o": "b", "n": 5.5}, {}, 1),
        ({"n": 2.5}, {"n": "fixed"}, 1),
        ({"n": 5.0}, {"n": {"bounds": [0, 4]}}, 1),
        ({"o": "c"}, {"o": {"levels": ["a", "b"]}}, 1),
    ],
)
def test_the_checker_itself(change, restriction, n_broken) -> None:
    assert len(broken(SCHEMA, PERSON, PERSON | change, restriction)) == n_broken


@pytest.mark.parametrize(
    ("seed", "mould", "kind", "names"),
    [
        (9, 1, "logistic", ["sparse_search", "flipset"]),  # read
        (12, 2, "linear", ["sparse_search"]),  # of the package's own
        (6, 1, "trees", ["sparse_search, held"]),  # nobody is found a way by which every guide is pleased
    ],
)
def test_no_answer_is_wrong(seed: int, mould: int, kind: str, names: list[str]) -> None:
    told = [line for name in names for line in attack(seed, name, people=60, mould=mould, kind=kind)]
    assert len(told) == len(names)
    assert sum(counts.get("people", 0) for counts in told) == 60 * len(names)
    for counts in told:
        assert {what: counts.get(what, 0) for what in WRONG} == dict.fromkeys(WRONG, 0)
