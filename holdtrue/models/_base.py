"""What every model offers: logits of one row."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray
from sklearn.base import BaseEstimator, clone

from holdtrue.encoding import Layout
from holdtrue.parameters import AbstractConfigured

if TYPE_CHECKING:
    from holdtrue.models._fit import Data

Configured = TypeVar("Configured", bound=BaseEstimator)


def fresh(configured: Configured) -> Configured:
    """An unfitted copy: scikit-learn's `clone`, with its type."""
    copy: Any = clone(configured)
    return copy


class AbstractModel(eqx.Module):
    """A classifier inside jit: one encoded row in, one logit per class out.

    Binary and multi-class alike have `k` logits. `capabilities` says what a method may ask for:
    ``differentiable`` (jax.grad works), ``linear`` (weights and bias), ``layers`` (linear, or a network of
    straight pieces, with weights that can be read), ``trees``, ``generator``.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset()
    on_host: ClassVar[bool] = False
    """Whether `logits` calls back to Python, which one search at a time may do."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of logits."""

    @property
    def alone(self) -> "AbstractModel":
        """The model without those that guide a search beside it: what decides in the end."""
        return self

    @property
    def random_in_training(self) -> bool:
        """Whether `logits` uses its `key`; where it does not, the loop need not make one per row."""
        return False

    @property
    def first(self) -> tuple[Float[Array, "h d"], Float[Array, " h"]] | None:
        """Weight and bias of an affine first layer, where there is one: ``logits(x) = rest(weight @ x + bias)``.

        A search that changes a few columns at a time updates the first layer instead of computing it again.
        """
        return None

    def rest(self, hidden: Float[Array, " h"]) -> Float[Array, " k"]:
        """Logits from what the first layer gave; only where `first` is not None."""
        raise TypeError(f"{type(self).__name__} has no affine first layer.")

    @property
    def top(self) -> tuple[Float[Array, "k h"], Float[Array, " k"]] | None:
        """Weight and bias of an affine top layer, where there is one: ``logits(x) = weight @ hidden(x) + bias``.

        Fine-tuning may be told to move nothing else.
        """
        return None

    def hidden(self, x: Float[Array, " d"]) -> Float[Array, " h"]:
        """What the top layer is given; only where `top` is not None."""
        raise TypeError(f"{type(self).__name__} has no affine top layer.")

    def prepared(self, data: "Data") -> Self:
        """The untrained model with what it must know of the rows before the first epoch; itself, as a rule."""
        return self

    def prepared_as(self, other: "AbstractModel") -> Self:
        """The same, taken over from a model of this build, so that what is trained again sees rows alike."""
        return self

    @abstractmethod
    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row. A `key` switches on what is random in training, such as dropout."""


class AbstractArchitecture(AbstractConfigured):
    """What a user configures: hyper-parameters from which a model is built once the table is known."""

    @abstractmethod
    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> AbstractModel:
        """Build an untrained model; the same key gives the same weights."""

    def build_on(self, layout: Layout, n_classes: int, key: PRNGKeyArray) -> AbstractModel:
        """The same for encoded rows of this layout; only the number of columns matters, as a rule."""
        return self.build(layout.n_columns, n_classes, key)
