"""A model and its guides, deciding together: a yes is what the least sure of them gives, with something to spare.

A recourse that one model accepts may lie just inside its boundary, and the next training draws that boundary a
little elsewhere. Models that were trained again say where: what all of these *guides* accept by a margin, an
unseen one accepts too, more often than not. A panel is itself a model, so that every search finds what holds
without knowing of it: its logits are those of the member that is least sure.
"""

from abc import abstractmethod
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.models._base import AbstractModel
from holdtrue.models._ensemble import EnsembleModel
from holdtrue.models._mlp import MLPModel
from holdtrue.models._piecewise import PiecewiseModel


class AbstractMembers(eqx.Module):
    """Several models that answer about one row in one call."""

    @property
    @abstractmethod
    def n_members(self) -> int:
        """How many there are."""

    @abstractmethod
    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Every member's logits of one row."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Some of them."""

    @property
    @abstractmethod
    def capabilities(self) -> frozenset[str]:
        """What a method may ask of every one of them."""

    @property
    @abstractmethod
    def on_host(self) -> bool:
        """Whether asking calls back to Python."""


class Stacked(AbstractMembers):
    """Members of one shape, stacked along the first axis of every array."""

    ensemble: EnsembleModel

    @property
    def n_members(self) -> int:
        """How many there are."""
        return self.ensemble.n_members

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of one member."""
        return self.ensemble.members.capabilities

    @property
    def on_host(self) -> bool:
        """Whether asking calls back to Python."""
        return self.ensemble.members.on_host

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Every member's logits of one row."""
        return self.ensemble.member_logits(x)

    def take(self, rows: np.ndarray) -> "Stacked":
        """Some of them."""
        some = jax.tree.map(lambda leaf: leaf[rows] if eqx.is_array(leaf) else leaf, self.ensemble.members)
        return Stacked(EnsembleModel(some))


class OnPieces(AbstractMembers):
    """Members that see every number by the same pieces: what a row is to them is worked out once for all.

    Of stacked members XLA would make one product for each; of one row and all first layers it makes a single one.
    """

    pieces: PiecewiseModel
    networks: MLPModel

    @property
    def n_members(self) -> int:
        """How many there are."""
        return self.networks.biases[0].shape[0]

    @property
    def capabilities(self) -> frozenset[str]:
        """Those of one member."""
        return self.pieces.capabilities

    @property
    def on_host(self) -> bool:
        """Never."""
        return False

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Every member's logits of one row."""
        inputs = self.pieces.pieces(x)
        return eqx.filter_vmap(lambda network: network.logits(inputs))(self.networks)

    def take(self, rows: np.ndarray) -> "OnPieces":
        """Some of them."""
        some = jax.tree.map(lambda leaf: leaf[rows] if eqx.is_array(leaf) else leaf, self.networks)
        return OnPieces(self.pieces, some)


def sharing(model: AbstractModel, members: AbstractMembers) -> AbstractMembers:
    """The same members, by what they have in common with the model, where that is quicker."""
    if not isinstance(model, PiecewiseModel) or not isinstance(members, Stacked):
        return members
    stacked = members.ensemble.members
    if not isinstance(stacked, PiecewiseModel) or not np.array_equal(
        stacked.knots, np.broadcast_to(model.knots, stacked.knots.shape)
    ):
        return members
    return OnPieces(model, stacked.network)


class SideBySide(AbstractMembers):
    """Members of several kinds, each asked by itself."""

    models: tuple[AbstractModel, ...]

    @property
    def n_members(self) -> int:
        """How many there are."""
        return len(self.models)

    @property
    def capabilities(self) -> frozenset[str]:
        """What all of them have."""
        return frozenset.intersection(*(model.capabilities for model in self.models))

    @property
    def on_host(self) -> bool:
        """Whether asking one of them calls back to Python."""
        return any(model.on_host for model in self.models)

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Every member's logits of one row."""
        return jnp.stack([model.logits(x) for model in self.models])

    def take(self, rows: np.ndarray) -> "SideBySide":
        """Some of them."""
        return SideBySide(tuple(self.models[i] for i in np.arange(self.n_members)[rows]))


class PanelModel(AbstractModel):
    """A model with its guides; the logits are those of the member that is least sure of the wanted class.

    Attributes
    ----------
    model : AbstractModel
        What decides in the end.
    guides : tuple of AbstractMembers
    slack : scalar
        By how much, in logits, every member must be surer than the decision asks; below 0, how much a guide may
        lack.
    wanted : int
        Index of the class that people want.
    spared : int
        How many of the guides may refuse; the model itself never may.
    """

    model: AbstractModel
    guides: tuple[AbstractMembers, ...]
    slack: Float[Array, ""]
    wanted: int = eqx.field(static=True)
    spared: int = eqx.field(static=True, default=0)

    @property
    def alone(self) -> AbstractModel:
        """The model without its guides."""
        return self.model

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.model.n_classes

    @property
    def n_guides(self) -> int:
        """How many models guide it."""
        return sum(part.n_members for part in self.guides)

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """What the model and all guides have, as far as the least sure of them has it."""
        shared = self.model.capabilities.intersection(*(part.capabilities for part in self.guides))
        return shared & {"differentiable", "layers"}

    @property
    def on_host(self) -> bool:  # type: ignore[override]
        """Whether asking calls back to Python."""
        return self.model.on_host or any(part.on_host for part in self.guides)

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Logits of the model, then of every guide."""
        return jnp.concatenate([self.model.logits(x)[None], *(part.member_logits(x) for part in self.guides)])

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of the least sure member, less the slack."""
        return self.logits_of(self.member_logits(x))

    def logits_of(self, members: Float[Array, "m k"]) -> Float[Array, " k"]:
        """The same from every member's logits, the model's own first."""
        return least_sure(members, self.slack, self.wanted, self.spared)

    @property
    def first(self) -> tuple[Float[Array, "h d"], Float[Array, " h"]] | None:
        """First layers of the model and of guides of its shape, one below the other."""
        own = self.model.first
        if own is None or not all(isinstance(part, Stacked) for part in self.guides):
            return None
        weights, biases = [own[0]], [own[1]]
        for part in self.guides:
            assert isinstance(part, Stacked)
            layer = part.ensemble.members.first
            if layer is None:
                return None
            weights.append(layer[0].reshape(-1, own[0].shape[1]))
            biases.append(layer[1].reshape(-1))
        return jnp.concatenate(weights), jnp.concatenate(biases)

    def rest(self, hidden: Float[Array, " h"]) -> Float[Array, " k"]:
        """Logits of the least sure member, from what the first layers gave."""
        own = self.model.first
        assert own is not None
        start = own[0].shape[0]
        logits = [self.model.rest(hidden[:start])[None]]
        for part in self.guides:
            assert isinstance(part, Stacked)
            layer = part.ensemble.members.first
            assert layer is not None
            stop = start + layer[1].size
            of_each = hidden[start:stop].reshape(layer[1].shape)
            logits.append(eqx.filter_vmap(lambda member, h: member.rest(h))(part.ensemble.members, of_each))
            start = stop
        return least_sure(jnp.concatenate(logits), self.slack, self.wanted, self.spared)


def least_sure(
    logits: Float[Array, "m k *e"], slack: Float[Array, ""], wanted: int, spared: int
) -> Float[Array, "k *e"]:
    """Logits of the member that is least sure of `wanted`, with its logit lowered by `slack`.

    The first row is the model's own, which may not be spared, nor gain by a slack below 0; of the others the
    `spared` least sure are passed over. Rows may be given together, along a last axis.
    """
    places = jnp.arange(logits.shape[0])
    slacks = jnp.where(places == 0, jnp.maximum(slack, 0.0), slack)
    asked = (jnp.arange(logits.shape[1]) == wanted).astype(logits.dtype)
    logits = logits - _along(slacks, logits) * _along(asked, logits[0])[None]
    margins = margins_of(logits, wanted)
    at: Int[Array, " *e"] = jnp.argmin(margins, axis=0)
    if spared:
        # The guide that is the (spared + 1)-th from below: the least sure are set aside one after another.
        left = jnp.where(_along(places, margins) == 0, jnp.inf, margins)
        for _ in range(min(spared, margins.shape[0] - 2)):
            left = jnp.where(_along(places, margins) == jnp.argmin(left, axis=0)[None], jnp.inf, left)
        at = jnp.where(margins[0] <= jnp.min(left, axis=0), 0, jnp.argmin(left, axis=0))
    # One member is left by a sum over all: faster than to pick it, for a row and for many.
    return jnp.sum(jnp.where(_along(places, logits) == at[None, None], logits, 0.0), axis=0)


def margins_of(logits: Float[Array, "m k *e"], wanted: int) -> Float[Array, "m *e"]:
    """How far each member's logit of `wanted` lies above the largest other."""
    others = jnp.where(_along(jnp.arange(logits.shape[1]) == wanted, logits[0])[None], -jnp.inf, logits)
    return logits[:, wanted] - jnp.max(others, axis=1)


def _along(first: Array, of: Array) -> Array:
    """An array along the first axis of another."""
    return first.reshape(-1, *[1] * (of.ndim - 1))
