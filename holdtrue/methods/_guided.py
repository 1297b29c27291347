"""What methods share that are guided by retrained models."""

from abc import abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from holdtrue.batch import FittedClassifier, Predictor, RetrainableClassifier, RetrainedModels, predictor_of
from holdtrue.errors import CapabilityError
from holdtrue.methods._with_base import AbstractClimbingMethod
from holdtrue.models import AbstractMembers, EnsembleModel, Stacked, to_arrays, with_arrays
from holdtrue.schema import TableLike

PREFIX = "guide/"
GUIDE_SEED = 20_261_115
"""What is added to a seed for the guides, so that they are not the models which `retrain` draws from it."""


class AbstractGuidedMethod(AbstractClimbingMethod):
    """A method whose search asks the model's retrainings, too.

    Guides of holdtrue's own models are kept in the state, and so in model files; those of a model made elsewhere,
    which is in no file either, beside it.
    """

    needs_guides: ClassVar[bool] = True
    instead: ClassVar[str]
    """A method that needs no guides, for the error where there are none."""

    n_guides: int
    _guides: RetrainedModels | None = None

    def fit(
        self,
        model: FittedClassifier | Predictor,
        X: TableLike | None = None,
        y: ArrayLike | None = None,
        *,
        guides: RetrainedModels | None = None,
    ) -> Self:
        """Prepare for a fitted classifier, with `guides` or, where it can be trained again, with ones of its own.

        Parameters
        ----------
        model : RecourseClassifier or Predictor
        X : dataframe, optional
            Training rows, for the base.
        y : array, optional
            Their labels.
        guides : Retrained or Refitted, optional
            What ``holdtrue.retrain(model, n=n)`` returned.
        """
        self.check_parameters()
        predictor = predictor_of(model)
        if predictor is not None and self.serves(predictor.capabilities):  # else said below, as for any method
            self._guides = self._own_guides(model) if guides is None else guides
        return super().fit(model, X, y)

    def _own_guides(self, model: FittedClassifier | Predictor) -> RetrainedModels:
        if not isinstance(model, RetrainableClassifier):
            raise CapabilityError(
                f"{type(self).__name__}: needs guides for {type(model).__name__}, which cannot be trained again "
                f"here. Use {self.instead}, or give fit(model, X, guides=...) what holdtrue.retrain returned."
            )
        # Never the models that `retrain` draws from the same seed: those are what survival is measured on.
        return self._retrained(model, (GUIDE_SEED + (self.random_state or 0)) % 2**32)

    @abstractmethod
    def _retrained(self, model: RetrainableClassifier, seed: int) -> RetrainedModels:
        """Train the guides."""

    def rebind(self, predictor: Predictor) -> Self:
        """The same guides at another threshold."""
        bound = super().rebind(predictor)
        bound._guides = self._guides
        return bound

    def _learn_guides(self) -> dict[str, np.ndarray]:
        """Weights of the guides, where they are of the model's own build; for `state_`."""
        if self._guides is None:
            raise CapabilityError(
                f"{type(self).__name__}: needs guides; got none. Fit it by fit(model, X, guides=...), not as "
                "another method's base."
            )
        parts = self._guides.members
        if self.predictor_.foreign is not None or len(parts) != 1 or not isinstance(parts[0], Stacked):
            return {}
        return to_arrays(parts[0].ensemble.members, PREFIX)

    def consulted(self) -> tuple[str, ...]:
        """The guides, and what the base asked."""
        if self._guides is not None:
            digests = tuple(digest for digest in self._guides.digests() if digest is not None)
        else:
            digests = self._ensemble().digests()
        return (*digests, *super().consulted())

    def _members(self) -> tuple[AbstractMembers, ...]:
        """The guides, from the state alone where they are in it."""
        kept = any(name.startswith(PREFIX) for name in self.state_)
        return (Stacked(self._ensemble()),) if kept or self._guides is None else self._guides.members

    def _ensemble(self) -> EnsembleModel:
        return EnsembleModel(with_arrays(self.predictor_.decision.model.alone, self.state_, PREFIX, stacked=True))
