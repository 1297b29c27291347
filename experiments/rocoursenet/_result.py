"""What a run of one dataset finds."""

from dataclasses import dataclass, field
from typing import Any

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class OfSeed:
    """A method's recourse with one seed, judged by every subset's model; None where there was nobody to judge."""

    validity: float | None
    validity_std: float | None
    robust: float | None
    robust_std: float | None
    proximity: float | None
    proximity_std: float | None
    found: float
    towards: dict[str, float | None]
    patterns: float | None
    inside: float
    matrix: list[list[float]]
    n_people: int | None = None
    ms_per_person: float | None = None
    later: dict[str, float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Performance:
    """Accuracy and AUC of every subset's own model, and the share it predicts favourable."""

    accuracy: float
    auc: float
    accuracies: list[float]
    favourable: list[float]


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """What the oracle, which sees all models, finds; `front` has pairs of cost and robust validity."""

    n_people: int
    validity: float
    robust: float
    proximity: float | None
    under_all: float
    nearest: float | None
    front: list[list[float]]


@dataclass(frozen=True, kw_only=True)
class Times:
    """Of training all subsets with one seed, and of a person's recourse."""

    train_s: float | None = None
    ms_per_person: float | None = None


@dataclass(frozen=True, kw_only=True)
class Attacked:
    """Under one attack, by seed: recourse that survives, and the shifted model's accuracy."""

    survival: list[float]
    accuracy: list[float]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Settings of our own rows that were tried, each with its figures, and the one taken."""

    rows: list[dict[str, Any]]
    base_accuracy: float | None = None
    seeds: int | None = None
    n_updates: int | None = None
    earlier: list[dict[str, Any]] | None = None
    taken: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Result(AbstractResult):
    """One dataset: methods, their models' accuracy and the oracle by name and seed; sweeps, attacks and curves.

    `sweeps_of` has by title which of `methods` it varies, and what each is called in it; `whole`: on every subset.
    """

    subsets: list[str]
    n_learned: list[int]
    n_people: list[int]
    n_searched: int
    n_columns: int
    seeds: list[int]
    n_updates: int
    main: list[str]
    methods: dict[str, list[OfSeed]]
    performance: dict[str, list[Performance]]
    oracle: dict[str, list[Ceiling]]
    times: dict[str, Times]
    sweeps_of: dict[str, dict[str, str]]
    attacks: dict[str, dict[str, dict[str, Attacked]]] = field(default_factory=dict)
    losses: dict[str, list[list[float | None]]] = field(default_factory=dict)
    choice: Choice | None = None
    n_people_option: int | None = None
    device_of: dict[str, str] | None = None
    whole: bool | None = None
