"""Short spellings for the tables of features in this folder."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.schema import Feature, Level, Schema

Move = Literal["free", "fixed", "increase", "decrease"]
UCI = "CC BY 4.0, as the UCI repository states"


def number(name: str, label: str | None = None, move: Move = "free", **rest: Any) -> Feature:
    """Return a numeric feature."""
    return Feature(name=name, kind="numeric", label=label, direction=move, **rest)


def whole(name: str, label: str | None = None, move: Move = "free", **rest: Any) -> Feature:
    """Return an integer feature."""
    return Feature(name=name, kind="integer", label=label, direction=move, **rest)


def flag(
    name: str,
    label: str | None = None,
    move: Move = "free",
    levels: Sequence[Level] = (0, 1),
    **rest: Any,
) -> Feature:
    """Return a binary feature; 0 and 1 unless other levels are named."""
    return Feature(name=name, kind="binary", label=label, direction=move, levels=tuple(levels), **rest)


def rank(
    name: str, levels: Iterable[Level], label: str | None = None, move: Move = "free", **rest: Any
) -> Feature:
    """Return an ordinal feature."""
    return Feature(name=name, kind="ordinal", label=label, direction=move, levels=tuple(levels), **rest)


def choice(
    name: str,
    label: str | None = None,
    move: Move = "free",
    levels: Iterable[Level] | None = None,
    **rest: Any,
) -> Feature:
    """Return a categorical feature; its levels are learned from the table unless listed."""
    known = None if levels is None else tuple(levels)
    return Feature(name=name, kind="categorical", label=label, direction=move, levels=known, **rest)


def fixed(features: Iterable[Feature]) -> list[Feature]:
    """Return the features with no way to change them."""
    return [f.replace(direction="fixed") for f in features]


def freed(schema: Schema, keep: Mapping[str, Move] | None = None) -> Schema:
    """Return a schema without actionability, for papers that let every input change.

    Parameters
    ----------
    schema : Schema
        The sensible description.
    keep : mapping, optional
        Moves that the paper does impose.
    """
    directions = dict(keep or {})
    features = [
        f.replace(direction=directions.get(f.name, "free"), transitions=None, cost_weight=1.0) for f in schema
    ]
    return Schema(features)


def only(schema: Schema, actionable: Mapping[str, Move]) -> Schema:
    """Return a schema in which the named features move as given and all others are fixed."""
    return Schema([f.replace(direction=actionable.get(f.name, "fixed"), transitions=None) for f in schema])


def is_one(values: ArrayLike, good: ArrayLike) -> np.ndarray:
    """Return 1 where a value is the good one, else 0."""
    return np.asarray(values == good).astype(np.int64)


def balanced(y: np.ndarray, random_state: int | None) -> np.ndarray:
    """Return positions of all rows of the rarer class and as many of the other, in the order of the table."""
    rng = np.random.default_rng(random_state)
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n = min(len(ones), len(zeros))
    picked = [rows if len(rows) == n else rng.choice(rows, n, replace=False) for rows in (ones, zeros)]
    return np.sort(np.concatenate(picked))
