"""Many models of one shape that answer together."""

import hashlib
from collections.abc import Hashable, Mapping
from typing import ClassVar, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from holdtrue._registry import made
from holdtrue.encoding import Layout
from holdtrue.models._base import AbstractArchitecture, AbstractModel
from holdtrue.models._fit import Data
from holdtrue.models._mlp import MLP
from holdtrue.parameters import Count, configured


class EnsembleModel(AbstractModel):
    """Members stacked along the first axis of every array; the answer is the mean probability."""

    capabilities: ClassVar[frozenset[str]] = frozenset({"differentiable"})
    members: AbstractModel

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.members.n_classes

    @property
    def n_members(self) -> int:
        """Number of models."""
        return jax.tree.leaves(eqx.filter(self.members, eqx.is_array))[0].shape[0]

    @property
    def random_in_training(self) -> bool:
        """Whether the members are."""
        return self.members.random_in_training

    def member(self, i: int) -> AbstractModel:
        """One of the models."""
        return jax.tree.map(lambda leaf: leaf[i] if eqx.is_array(leaf) else leaf, self.members)

    def digests(self) -> tuple[str, ...]:
        """Every member's `model_digest`: two models that were trained alike are told by it."""
        leaves = _leaves(self.members)
        return tuple(_digest([leaf[i] for leaf in leaves]) for i in range(self.n_members))

    def member_logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, "m k"]:
        """Every member's logits of one row, in one batched call."""
        return eqx.filter_vmap(lambda member: member.logits(x, key=key))(self.members)

    def prepared(self, data: Data) -> Self:
        """Every member with what it must know of the rows."""
        members = [self.member(i).prepared(data) for i in range(self.n_members)]
        return eqx.tree_at(lambda model: model.members, self, stack(members).members)

    def prepared_as(self, other: AbstractModel) -> Self:
        """Every member with what those of another ensemble know."""
        if not isinstance(other, EnsembleModel):
            return self
        members = [self.member(i).prepared_as(other.member(i)) for i in range(self.n_members)]
        return eqx.tree_at(lambda model: model.members, self, stack(members).members)

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logarithm of the mean probability."""
        log_p = jax.nn.log_softmax(self.member_logits(x, key=key), axis=-1)
        return jax.nn.logsumexp(log_p, axis=0) - jnp.log(self.n_members)


def model_digest(model: AbstractModel) -> str:
    """SHA-256 of a model's weights."""
    return _digest(_leaves(model))


def _leaves(model: AbstractModel) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array))]


def _digest(arrays: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()


def stack(models: list[AbstractModel]) -> EnsembleModel:
    """Make an ensemble of models of one shape."""

    def together(*leaves: PyTree) -> PyTree:
        # On the host, where no program need be compiled for it.
        return jax.device_put(np.stack(leaves)) if eqx.is_array(leaves[0]) else leaves[0]

    return EnsembleModel(jax.tree.map(together, *models))


def shape_of(model: AbstractModel) -> tuple[Hashable, ...]:
    """What models that can be stacked have in common."""
    leaves, structure = jax.tree.flatten(model)
    return structure, *(np.shape(leaf) for leaf in leaves)


def by_shape(models: Mapping[int, AbstractModel]) -> list[tuple[EnsembleModel, list[int]]]:
    """Models that can be stacked together, each group with its members' places."""
    groups: dict[Hashable, list[int]] = {}
    for place, model in models.items():
        groups.setdefault(shape_of(model), []).append(place)
    return [(stack([models[i] for i in group]), group) for group in groups.values()]


@configured
class Ensemble(AbstractArchitecture):
    """Several models of one architecture from different starts, fitted together on their mean.

    Parameters
    ----------
    n_members : int, default=5
        Number of models.
    member : AbstractArchitecture or str, optional
        Their architecture, or its registered name; ``MLP()`` when omitted.
    """

    n_members: Count = 5
    member: AbstractArchitecture | str | None = None

    def build(self, n_inputs: int, n_classes: int, key: PRNGKeyArray) -> EnsembleModel:
        """Build an untrained ensemble."""
        return stack([self._member().build(n_inputs, n_classes, k) for k in self._keys(key)])

    def build_on(self, layout: Layout, n_classes: int, key: PRNGKeyArray) -> EnsembleModel:
        """Build an untrained ensemble for encoded rows of this layout."""
        return stack([self._member().build_on(layout, n_classes, k) for k in self._keys(key)])

    def _member(self) -> AbstractArchitecture:
        return MLP() if self.member is None else made(AbstractArchitecture, self.member)

    def _keys(self, key: PRNGKeyArray) -> PRNGKeyArray:
        self.check_parameters()
        return jax.random.split(key, self.n_members)
