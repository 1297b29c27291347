"""What a run of one dataset finds."""

from dataclasses import dataclass, field
from typing import Literal

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class OfMethod:
    """A method's recourse in hardened points."""

    valid: float
    cost: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class OnSplit:
    """One model on one split; None where it refuses nobody, accepts nothing, or was not searched."""

    accuracy: float
    robust: float
    robust_common: float
    favourable: float
    n_people: int
    n_refused: int
    exists: Literal["yes", "no", "unknown"]
    slope: float
    on_fixed: float | None
    on_actionable_numbers: float | None
    near: float | None = None
    near_cost: float | None = None
    held: float | None = None
    held_hardened: float | None = None
    free_hardened: float | None = None
    scfe: list[float] | None = None
    scfe_without_cost: list[float] | None = None
    scfe_hardened: list[float] | None = None
    scfe_cost: float | None = None
    noise: float | None = None
    methods: dict[str, OfMethod] | None = None


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Mean cost of the same people under the plain model and another; None for too few."""

    n: int
    plain: float | None
    robust: float | None


@dataclass(frozen=True, kw_only=True)
class AtRadius:
    """Models of one radius, split by split; `others` say how many of the other splits' accept what SCFE found."""

    splits: list[OnSplit]
    paired: list[Paired]
    refused_by_all: list[Paired]
    others: list[float | None] | None = None
    others_half_more: list[float | None] | None = None
    others_twice: list[float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Form:
    """How often a form of a theorem applies and is violated; how tight a bound is, how often a condition holds."""

    cases: int
    applies: float
    violations: int
    median: float | None = field(default=None, metadata={"key": "tightness (median)"})
    largest: float | None = field(default=None, metadata={"key": "tightness (largest)"})
    concluded: float | None = field(default=None, metadata={"key": "conclusion true"})


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """Forms of a theorem, and some people's sides."""

    forms: dict[str, Form]
    people: dict[str, list[float | None]] | None = None


@dataclass(frozen=True, kw_only=True)
class Person:
    """Rows about one person, the first of them, in two dimensions; and which of them each model accepts."""

    xy: list[list[float]]
    accepted: list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Nearby:
    """Of the rows nearest to refused people, the share that each radius accepts."""

    n_rows: int
    n_people: int
    accepted: list[float]
    person: Person


ByRadius = dict[str, AtRadius]
"""Radii as they are printed: "0", "0.05"."""


@dataclass(frozen=True, kw_only=True)
class Result(AbstractResult):
    """One dataset: the sweep by model and radius, and what else was asked for."""

    radii: list[float]
    n_splits: int
    n_train: int
    n_columns: int
    n_fixed_columns: int
    collapse: dict[str, list[float]]
    models: dict[str, ByRadius]
    bounds: dict[str, dict[str, dict[str, Theorem]]] | None = None
    threats: dict[str, ByRadius] | None = None
    sizes: dict[str, ByRadius] | None = None
    kernel: dict[str, ByRadius] | None = None
    nearby: Nearby | None = None
    note: str | None = None
