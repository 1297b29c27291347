"""What every training regime shares."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.utils import compute_class_weight

from holdtrue.encoding import Permits
from holdtrue.errors import CapabilityError, DataError
from holdtrue.models import (
    MLP,
    AbstractArchitecture,
    AbstractClosedForm,
    AbstractModel,
    AbstractStep,
    Data,
    History,
    fit,
)
from holdtrue.parameters import Count, OneOf, Probability
from holdtrue.training._parts import AbstractWithParts
from holdtrue.training._space import STEP_SIZE, Space

ClassWeight = Annotated[str, OneOf(("balanced",))] | Mapping[Any, float] | None
"""A weight per class label; labels that are not named weigh 1."""
WITH = {"generator": "with a generator", "additive": "whose columns add up"}
"""Capabilities that a regime may need, in words."""


class TrainingContext(eqx.Module):
    """What a regime may know of the task beside the rows: what people may change, and what they want.

    Attributes
    ----------
    permits : Permits
        Gives the feasible set of any encoded row.
    favourable : int
        Index of the class people want.
    threshold : float
        With two classes, the probability from which the favourable one is decided.
    n_rows : int, optional
        How many rows there are to learn from, where a regime counts updates.
    """

    permits: Permits
    favourable: int = eqx.field(static=True)
    threshold: float = eqx.field(static=True, default=0.5)
    n_rows: int | None = eqx.field(static=True, default=None)


class AbstractRegime(AbstractWithParts):
    """How a model is trained. A scikit-learn object outside, a step function for the one loop inside.

    A subclass adds its hyper-parameters to these and returns its step from `step`.
    """

    n_epochs: Count
    batch_size: Count
    class_weight: ClassWeight
    validation_fraction: Probability
    patience: Count | None

    search_space: ClassVar[Space] = {"step_size": STEP_SIZE}
    """What `holdtrue.tune` tries, by parameter; a subclass names its own."""

    needs: ClassVar[frozenset[str]] = frozenset()
    """Capabilities a model must have to be trained so, such as ``generator``."""

    uses_seed: ClassVar[bool] = True
    """Whether another seed gives another model."""

    def default_model(self) -> AbstractArchitecture:
        """Return the architecture that a classifier takes when none is configured."""
        return MLP()

    def epochs(self, n_rows: int | None) -> int:
        """Passes over so many rows; a regime may count updates instead."""
        return self.n_epochs

    def rows_per_update(self, n_rows: int) -> int:
        """Rows of a minibatch; a regime may let the table decide."""
        return self.batch_size

    def waits(self, n_rows: int) -> int | None:
        """Epochs without a better validation loss before it stops; None: nothing is held out of so many rows."""
        return self.patience

    @abstractmethod
    def step(self, context: TrainingContext) -> AbstractStep:
        """Return what is done with one minibatch of the task."""

    def solves(self, model: AbstractModel) -> bool:
        """Whether the model is solved for, outside the loop over minibatches."""
        return isinstance(model, AbstractClosedForm)

    def solve(
        self, model: Any, data: Data, key: PRNGKeyArray, context: TrainingContext
    ) -> tuple[AbstractModel, History]:
        """Fit a model that is solved for; only where a regime says what it is solved for."""
        raise CapabilityError(
            f"{type(self).__name__}: trains by minibatches; got {type(model).__name__}, which is solved in closed "
            "form. Use StandardTraining, or another model."
        )

    def weights(self, y: np.ndarray, weight: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Sample weights times class weights; `y` holds class indices."""
        self.check_parameters()
        if self.class_weight is None:
            return weight
        if isinstance(self.class_weight, Mapping):
            per_class = np.array([self.class_weight.get(label, 1.0) for label in classes.tolist()])
        else:
            per_class = np.ones(len(classes))
            seen = np.unique(y)
            per_class[seen] = compute_class_weight("balanced", classes=seen, y=y)
        return weight * per_class[y]

    def train(
        self,
        model: AbstractModel,
        data: Data,
        key: PRNGKeyArray,
        *,
        context: TrainingContext,
        seed: int = 0,
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> tuple[AbstractModel, History]:
        """Fit the model; with `patience`, on a part of the rows, watching the rest.

        A model that the regime solves for is solved on all rows.
        """
        self.check_parameters()
        lacking = self.needs - model.capabilities
        if lacking:
            words = " and ".join(WITH.get(name, f"with a {name}") for name in sorted(lacking))
            raise CapabilityError(
                f"{type(self).__name__}: needs a model {words}; got "
                f"{type(model).__name__}. Use {type(self.default_model()).__name__}, or leave the model out."
            )
        if self.solves(model):
            return self.solve(model, data, key, context)
        validation, patience = None, self.waits(len(data.x))
        if patience is not None:
            data, validation = self.split(data, seed)
        return fit(
            model,
            self.step(context),
            data,
            key,
            n_epochs=self.epochs(len(data.x)),
            batch_size=self.rows_per_update(len(data.x)),
            validation=validation,
            patience=patience,
            on_epoch=on_epoch,
        )

    def split(self, data: Data, seed: int) -> tuple[Data, Data]:
        """Rows to learn from and rows held out for early stopping."""
        parts = self.split_rows(data, seed)
        learned, watched = (Data(data.x[part], data.y[part], data.weight[part]) for part in parts)
        return learned, watched

    def split_rows(self, data: Data, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Which rows `split` learns from, and which it holds out."""
        from sklearn.model_selection import train_test_split  # here, not above: it takes time to load

        y = np.asarray(data.y)
        rows = np.arange(len(y))
        stratify = y if np.bincount(y)[np.unique(y)].min() >= 2 else None
        try:
            train, held = train_test_split(
                rows, test_size=self.validation_fraction, random_state=seed, stratify=stratify
            )
        except ValueError as error:
            raise DataError(
                f"{type(self).__name__}: too few rows to hold some out; got {len(y)}. Set patience=None."
            ) from error
        return np.asarray(train), np.asarray(held)
