"""What a cell of the study found."""

from dataclasses import dataclass

from experiments._results import AbstractResult


@dataclass(frozen=True, kw_only=True)
class Offers:
    """Recourse by one search, person by person.

    Attributes
    ----------
    found, cost, survival : list
        Whether there is any; its l1 cost in ranges of the columns; the share of unseen models that accept it.
    stated : list, optional
        What `hold` told them of that share.
    by_model : list of float
        Share of the people found whom each unseen model accepts.
    """

    found: list[int]
    cost: list[float | None]
    survival: list[float | None]
    by_model: list[float | None]
    stated: list[float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class Certified:
    """A certificate made before retrainings, and who was without recourse after each.

    Attributes
    ----------
    refused : str, optional
        Why there is none.
    thresholds : list of float
        The highest that could be certified; then the model's own, where it could be.
    n, n_use : int
        People it was made by, and people it was counted on.
    before, after : list
        Of those, how many are without recourse at each threshold: under the model, and under every unseen one.
    """

    refused: str | None = None
    thresholds: list[float] | None = None
    n: int | None = None
    n_use: int | None = None
    before: list[int] | None = None
    after: list[list[int]] | None = None


@dataclass(frozen=True, kw_only=True)
class Cell(AbstractResult):
    """A table, a split and a training (`title`).

    Attributes
    ----------
    accuracy, auc, accepted : float
        On held-out rows; the last is the share that the model accepts.
    accuracy_again : float
        Of the models trained again, in the mean.
    moved : float
        Share of held-out people whom a model trained again decides about otherwise.
    people : list of int
        Rows that were asked about: of those that the model refuses, whom a plainly trained one refuses too come
        first.
    """

    split: int
    n_train: int
    n_test: int
    n_models: int
    accuracy: float
    auc: float
    accepted: float
    accuracy_again: float
    moved: float
    people: list[int]
    offers: dict[str, Offers]
    certified: Certified
