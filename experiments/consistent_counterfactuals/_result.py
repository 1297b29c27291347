"""What a run of one dataset finds."""

from dataclasses import dataclass, field

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class AbstractFigures:
    """Of some people's recourse: how many have one, its cost, and how often other models refuse it.

    Invalidation rates (`iv`) are under new seeds (`rs`) and, for the first base model alone, under models with one
    row left out (`loo`), in the same or a new order of rows. None where nobody has recourse.
    """

    n: int
    success: float
    l1: float | None
    l1_std: float | None
    l2: float | None
    l2_std: float | None
    iv_rs: float | None
    iv_rs_std: float | None
    iv_loo: float | None = None
    iv_loo_std: float | None = None
    iv_loo_new_order: float | None = None
    iv_loo_new_order_std: float | None = None


@dataclass(frozen=True, kw_only=True)
class Figures(AbstractFigures):
    """Figures of some of a method's people."""


@dataclass(frozen=True, kw_only=True)
class Hardened:
    """Of points that were hardened afterwards: whether they are still valid, and survive."""

    valid: float | None
    l2: float | None
    iv_rs: float | None
    accepted_by_unseen: float | None


@dataclass(frozen=True, kw_only=True)
class OfMethod(AbstractFigures):
    """Figures of a method: of all people, of whom all methods found, of whom the favourable decision is wanted."""

    common: Figures
    favourable: Figures
    hardened: Hardened


@dataclass(frozen=True, kw_only=True)
class WithinSchema:
    """Of searches in hardened points."""

    success: float | None
    l2: float | None
    iv_rs: float | None


@dataclass(frozen=True, kw_only=True)
class Bin:
    """Recourse of which between `low` and `high` of the models asked accept; `held`, of the further ones."""

    low: float = field(metadata={"key": "from"})
    high: float = field(metadata={"key": "to"})
    n: int
    told: float | None
    held: float | None


@dataclass(frozen=True, kw_only=True)
class ShelfLife:
    """Whether a fifth of the unseen models says what the rest will do."""

    mean_absolute_error: float | None
    bias: float | None
    held_where_all_accept: float | None
    bins: list[Bin]


@dataclass(frozen=True, kw_only=True)
class OfBase:
    """What was found for one base model."""

    relaxed: dict[str, OfMethod]
    n_common: int
    r2: dict[str, float | None]
    shelf_life: ShelfLife
    within_schema: dict[str, WithinSchema]


@dataclass(frozen=True, kw_only=True)
class Result(AbstractResult):
    """One dataset: base models, and every method for each of them."""

    n_models: int
    n_people: int
    n_columns: int
    accuracy: list[float]
    bases: list[OfBase]
