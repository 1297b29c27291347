"""Many retrainings of one model, answering together: what all who ask them may rely on."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.batch import Predictor
from holdtrue.models import AbstractMembers
from holdtrue.schema import TableLike


class AbstractRetrained:
    """Retrainings of one model.

    Attributes
    ----------
    predictor : Predictor
        The model that they are retrainings of; its encoder, threshold and favourable class hold for all.
    vary : str
        What was varied.
    kinds : tuple of int
        Of each model by which recipe it was trained, where there are several; empty where there is one.
    """

    predictor: Predictor
    vary: str
    kinds: tuple[int, ...]

    @abstractmethod
    def __len__(self) -> int:
        """Return how many models there are."""

    @abstractmethod
    def decide(self, X: TableLike) -> np.ndarray:
        """Class indices of shape (models, rows)."""

    @abstractmethod
    def take(self, rows: ArrayLike) -> Self:
        """Return some of the models (indices or a mask)."""

    @abstractmethod
    def join(self, other: "AbstractRetrained") -> "AbstractRetrained":
        """These models and further ones of the same model."""

    @abstractmethod
    def bind(self, predictor: Predictor) -> Self:
        """The same models at another threshold."""

    @abstractmethod
    def member(self, i: int) -> Predictor:
        """One retrained model as a classifier of its own."""

    @property
    @abstractmethod
    def members(self) -> tuple[AbstractMembers, ...]:
        """The models as a search asks them: those of one kind together."""

    @abstractmethod
    def digests(self) -> tuple[str | None, ...]:
        """What tells each model from others; None for one that cannot be read."""

    @abstractmethod
    def of_kinds(self, first: int, n: int) -> Self:
        """The same models, told to be of `n` kinds in turn, so that each is dealt to both sides."""

    def predict(self, X: TableLike) -> np.ndarray:
        """Labels of shape (models, rows)."""
        return self.predictor.classes[self.decide(X)]

    def accepts(self, X: TableLike, target: ArrayLike) -> np.ndarray:
        """Boolean (models, rows): whether each model decides each row as wanted; `target` holds labels."""
        return self.predict(X) == np.asarray(target)[None, :]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} models, vary={self.vary!r}>"


def both_kinds(one: AbstractRetrained, other: AbstractRetrained) -> str:
    """What was varied in either."""
    return " and ".join(dict.fromkeys((one.vary, other.vary)))


def all_kinds(one: AbstractRetrained, other: AbstractRetrained) -> tuple[int, ...]:
    """Recipes of the models of either; without any they are of the first."""
    if not one.kinds and not other.kinds:
        return ()
    return (one.kinds or (0,) * len(one)) + (other.kinds or (0,) * len(other))


def some_kinds(models: AbstractRetrained, rows: np.ndarray) -> tuple[int, ...]:
    """Recipes of some of the models."""
    return tuple(models.kinds[i] for i in rows.tolist()) if models.kinds else ()


def places(rows: Any, n: int) -> np.ndarray:
    """Positions among `n` that indices or a mask name."""
    return np.arange(n)[rows]
