"""What methods share that build on another method's search."""

from typing import Any

import numpy as np
from sklearn.base import clone

from holdfast.encoding import Norm
from holdfast.methods._base import AbstractMethod
from holdfast.methods._wachter import Wachter

PREFIX = "base/"


class AbstractBasedMethod(AbstractMethod):
    """A method with a `base`: another method, fitted with it and kept in its state; `Wachter` when omitted."""

    base: AbstractMethod | None

    @property
    def norm(self) -> Norm:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The base's norm."""
        return self._fresh_base().norm

    def _learn_base(self, x: np.ndarray, y: np.ndarray | None) -> dict[str, np.ndarray]:
        """Fit the base; its state is kept under its own prefix."""
        base = self._fresh_base().fit_encoded(self.predictor_, x if len(x) else None, y)
        return {PREFIX + name: value for name, value in base.state_.items()}

    def consulted(self) -> tuple[str, ...]:
        """What the base asked."""
        return self._fitted_base().consulted()

    def _fresh_base(self) -> AbstractMethod:
        base: Any = Wachter() if self.base is None else clone(self.base)
        return base if base.random_state is not None else base.set_params(random_state=self.random_state)

    def _fitted_base(self) -> AbstractMethod:
        """The base as it was fitted: from the state alone, so that a model file needs nothing else."""
        state = {name.removeprefix(PREFIX): v for name, v in self.state_.items() if name.startswith(PREFIX)}
        return self._fresh_base().restore(self.predictor_, state)
