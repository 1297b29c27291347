"""What a run of one dataset finds."""

from dataclasses import dataclass, field

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class Performance:
    """Of a model at a threshold; with the share of all people who are accepted or have recourse, where asked."""

    f1: float
    accuracy: float
    balanced_accuracy: float
    precision: float
    recall: float
    auc: float
    accepted: float
    threshold: float
    n: int
    recourse_all: float | None = None


@dataclass(frozen=True, kw_only=True)
class Counted:
    """People who are refused, and those of them for whom recourse is found."""

    refused: int
    found: int
    n: int | None = None


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Certified thresholds, the highest and that of the best F1 below it, and how often the promise is kept."""

    n: int
    k: int
    highest: Performance
    best_f1: Performance
    coverage: dict[str, float | None]
    pool: int


@dataclass(frozen=True, kw_only=True)
class AtThreshold:
    """A point of Figure 2: who of the refused has recourse by the linear step, and by the best search."""

    threshold: float
    f1: float
    accuracy: float
    linear: int
    best: int
    refused: int


@dataclass(frozen=True, kw_only=True)
class Watched:
    """Of the rows by which the epoch was chosen."""

    auc: float
    recourse: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """How many people a group has, how many of them are accepted or have recourse."""

    n: int
    has: int
    refused: int
    found: int


@dataclass(frozen=True, kw_only=True)
class Groups:
    """White people and others at one threshold."""

    threshold: float
    white: Group
    other: Group


@dataclass(frozen=True, kw_only=True)
class OnSplit:
    """One kind of model on one split."""

    performance: Performance
    recourse: dict[str, Counted]
    step_lowers_score: float
    watch: Watched | None = None
    as_published: Performance | None = None
    guarantee: dict[str, Guarantee] | None = None
    curve: list[AtThreshold] | None = None
    groups: Groups | None = None


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Recourses, and how many of them stay under noise."""

    kept: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Extras:
    """Robustness, telling recourse from people, and an example, on one split."""

    threshold: float
    recourse_robust: dict[str, Kept]
    model_robust: float | None
    deepfool_robust: float | None
    manifold_robust: float | None
    manifold_worst_robust: float | None
    told_apart: dict[str, float] | None
    example: dict[str, list[float]] | None
    linear_approximation: Counted | None = None
    told_apart_descent: dict[str, float] | None = None
    example_descent: dict[str, list[float]] | None = None


@dataclass(frozen=True, kw_only=True)
class Causal:
    """Refused people with recourse when actions have consequences, and when nothing follows from them."""

    refused: int
    found: int
    ignoring: int


@dataclass(frozen=True, kw_only=True)
class Sentences:
    """A model of sentences on one seed; `examples` are pairs of before and after."""

    performance: Performance
    recourse: dict[str, Counted]
    examples: list[list[str]]


@dataclass(frozen=True, kw_only=True)
class Result(AbstractResult):
    """One dataset: kinds of models by name and split; of sentences, by the weight of recourse and seed."""

    n_splits: int
    n_test: int | None = None
    n_calibrate: int | None = None
    n_train: int | None = None
    prevalence: float | None = None
    kinds: dict[str, list[OnSplit]] | None = None
    chosen: dict[str, list[str]] = field(default_factory=dict)
    extras: dict[str, list[Extras]] = field(default_factory=dict)
    causal: dict[str, list[Causal]] = field(default_factory=dict)
    n_words: int | None = None
    with_antonym: float | None = None
    weights: dict[str, list[Sentences]] | None = None
