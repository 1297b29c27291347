"""What may be asked of a fitted classifier, by layers that lie below the one where it is made."""

from pathlib import Path
from typing import Protocol, Self, TypeVar, runtime_checkable

from holdtrue.batch._predictor import Predictor
from holdtrue.models import AbstractMembers

Method = TypeVar("Method", contravariant=True)


@runtime_checkable
class FittedClassifier(Protocol):
    """A classifier that has learned: its encoder, decision and labels are its `predictor_`."""

    @property
    def predictor_(self) -> Predictor:
        """Tables in, decisions out."""
        ...


def predictor_of(model: object) -> Predictor | None:
    """The predictor that a model is or has; None where it is no classifier of ours, or has not learned."""
    inner = model.predictor_ if isinstance(model, FittedClassifier) else model
    return inner if isinstance(inner, Predictor) else None


@runtime_checkable
class StoredClassifier(FittedClassifier, Protocol[Method]):
    """One that can be written to a model file and read back, with another way to find recourse if need be."""

    def save(self, path: str | Path) -> None:
        """Write a model file."""
        ...

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read one."""
        ...

    def with_method(self, method: Method) -> Self:
        """Return a copy whose own method is this one, fitted to the classifier."""
        ...


@runtime_checkable
class RetrainedModels(Protocol):
    """Retrained models that answer together."""

    @property
    def members(self) -> tuple[AbstractMembers, ...]:
        """The models as a search asks them: those of one kind together."""
        ...

    def digests(self) -> tuple[str | None, ...]:
        """What tells each model from others; None for one that cannot be read."""
        ...


@runtime_checkable
class RetrainableClassifier(FittedClassifier, Protocol):
    """One that can be trained again as it was trained."""

    def retrain(self, n: int = 100, **options: object) -> RetrainedModels:
        """Train it again, `n` times."""
        ...
