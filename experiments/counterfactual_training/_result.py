"""What a run of one dataset finds."""

from dataclasses import dataclass, field
from typing import Any

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class OfKind:
    """Models of one regime, by seed: accuracy, plain and under attack; None for what was not asked."""

    accuracy: list[float]
    pgd: list[float]
    largest_logit: list[float]
    curve_pgd: list[list[float]] | None = None
    curve_fgsm: list[list[float]] | None = None
    pgd_restarts: list[float] | None = None
    nearest_l2: list[float] | None = None
    sensitivity: dict[str, list[float | None]] | None = None
    mature: list[float] | None = None
    transfer: list[float] | None = None


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Percent by which one regime lies below another, with its 99% interval."""

    gain: float
    low: float
    high: float
    error: float
    seeds: list[float | None]
    base: float
    other: float
    share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Against:
    """Gains over another regime: implausibility, by the search's energy weight, as a discrepancy, and cost."""

    ip: Gain | None = None
    ip_by_weight: list[Gain | None] | None = None
    ip_star: dict[str, Gain | None] | None = None
    cost: Gain | None = None


@dataclass(frozen=True, kw_only=True)
class Recourse:
    """Recourse under the models of one regime."""

    validity: float | None
    validity_seeds: list[float | None]
    implausibility: float | None
    cost: float | None
    against_plain: Against | None = field(default=None, metadata={"key": "against BL"})
    against_pgd: Against | None = field(default=None, metadata={"key": "against PGD"})
    unfaithful: list[float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A linear classifier of Figure 1, and recourse under it."""

    kind: str
    held: bool
    weight: list[float]
    bias: float
    recourse: list[list[float]]
    share: float


@dataclass(frozen=True, kw_only=True)
class Pictures:
    """What is drawn and not tabled: rows and panels of Figure 1 (LS), or images of Figures 3 and 4 (MNIST)."""

    x: list[list[float]] | None = None
    y: list[int] | None = None
    panels: list[Panel] | None = None
    factual: str | None = None
    recourse: dict[str, list[str]] | None = None
    saliency: dict[str, list[str]] | None = None


@dataclass(frozen=True, kw_only=True)
class Trained:
    """Which regimes were trained in one program, for how long, and on what."""

    group: str = field(metadata={"key": "with"})
    seconds: float
    device: str


@dataclass(frozen=True, kw_only=True)
class Result(AbstractResult):
    """One dataset: every regime's models, and recourse by protocol, by what is held, and by regime."""

    n_seeds: int
    n_people: int
    n_train: int
    n_test: int
    n_columns: int
    n_classes: int
    protected: list[str]
    ours: dict[str, Any]
    kinds: dict[str, OfKind]
    protocols: dict[str, dict[str, dict[str, Recourse]]]
    trained: dict[str, Trained] = field(default_factory=dict)
    pictures: Pictures | None = None
