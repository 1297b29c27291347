"""Classifiers made of classifiers: votes, calibrations and stacks, composed of what reads their members."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from holdtrue.models._base import AbstractModel
from holdtrue.models.adapters._layers import Affine
from holdtrue.models.adapters._trees import TreesModel

TINY = 1e-12  # a probability of 0 has no logarithm

Score = Literal["gap", "shares"]
"""What a member is asked for: its log-odds (scikit-learn's `decision_function`) or its probabilities."""
Logits = list[Float[Array, "k *e"]]
"""Of every member; of many rows along a last axis."""


class AbstractHead(eqx.Module):
    """What is made of the members' logits."""

    @property
    def differentiable(self) -> bool:
        """Whether it has a gradient that is of use."""
        return True

    @abstractmethod
    def __call__(self, members: Logits, x: Float[Array, " d"] | None) -> Float[Array, "k *e"]:
        """Logits from the members' own; `x` is the encoded row, where the head reads it."""


class Mean(AbstractHead):
    """The weighted mean of probabilities."""

    weights: Float[Array, " m"]

    def __call__(self, members: Logits, x: Float[Array, " d"] | None) -> Float[Array, "k *e"]:
        """Logarithm of the mean."""
        return _mean([jax.nn.softmax(logits, axis=0) for logits in members], self.weights)


class Votes(AbstractHead):
    """The weighted share of members that decide for each class."""

    weights: Float[Array, " m"]

    @property
    def differentiable(self) -> bool:
        """Flat almost everywhere."""
        return False

    def __call__(self, members: Logits, x: Float[Array, " d"] | None) -> Float[Array, "k *e"]:
        """Logarithm of the shares."""
        k = members[0].shape[0]
        ballots = [jnp.moveaxis(jax.nn.one_hot(jnp.argmax(own, axis=0), k), -1, 0) for own in members]
        return _mean(ballots, self.weights)


class Sigmoid(eqx.Module):
    """Platt's calibration of one score."""

    slope: Float[Array, ""]
    shift: Float[Array, ""]

    def __call__(self, score: Float[Array, " *e"]) -> Float[Array, " *e"]:
        """The probability of the score's class."""
        return jax.nn.sigmoid(-(self.slope * score + self.shift))


class Isotonic(eqx.Module):
    """Straight lines between the steps of an isotonic regression; beyond the ends it is constant."""

    x: Float[Array, " n"]
    y: Float[Array, " n"]

    def __call__(self, score: Float[Array, " *e"]) -> Float[Array, " *e"]:
        """The probability of the score's class."""
        return jnp.interp(score, self.x, self.y)


class Calibrated(AbstractHead):
    """The mean of members' calibrated probabilities; of several classes each against the others.

    Attributes
    ----------
    each : per member a calibration for every class, or for the second of two.
    score : what the calibrations read.
    """

    each: tuple[tuple[Sigmoid | Isotonic, ...], ...]
    score: Score = eqx.field(static=True)

    def __call__(self, members: Logits, x: Float[Array, " d"] | None) -> Float[Array, "k *e"]:
        """Logarithm of the mean."""
        shares = [self._shares(own, calibrations) for own, calibrations in zip(members, self.each, strict=True)]
        return _mean(shares, jnp.full(len(shares), 1.0 / len(shares)))

    def _shares(
        self, logits: Float[Array, "k *e"], calibrations: tuple[Sigmoid | Isotonic, ...]
    ) -> Float[Array, "k *e"]:
        if len(calibrations) == 1:
            p = calibrations[0](scores(logits, self.score)[-1])
            return jnp.stack([1.0 - p, p])
        parts = [c(own) for c, own in zip(calibrations, jax.nn.softmax(logits, axis=0), strict=True)]
        p = jnp.stack(parts)
        total = jnp.sum(p, axis=0)
        return jnp.where(total > 0, p / jnp.where(total > 0, total, 1.0), 1.0 / len(parts))


class Stacked(AbstractHead):
    """A linear model or network over what members say.

    Attributes
    ----------
    layers : over the members' scores.
    own : what the row itself adds to the first layer, where the stack passes it through.
    score : what each member is asked for.
    """

    layers: tuple[eqx.Module, ...]
    own: Affine | None
    score: tuple[Score, ...] = eqx.field(static=True)
    binary: bool = eqx.field(static=True)

    def __call__(self, members: Logits, x: Float[Array, " d"] | None) -> Float[Array, "k *e"]:
        """Logits of the last layer."""
        read = jnp.concatenate([scores(own, kind) for own, kind in zip(members, self.score, strict=True)])
        if read.ndim > 1:
            return jax.vmap(lambda one: self._through(one, None), in_axes=1, out_axes=1)(read)
        return self._through(read, x)

    def _through(self, read: Float[Array, " s"], x: Float[Array, " d"] | None) -> Float[Array, " k"]:
        first, *rest = self.layers
        hidden: Array = first(read)  # type: ignore[operator]
        if self.own is not None:
            assert x is not None
            hidden = hidden + self.own(x)
        for layer in rest:
            hidden = layer(hidden)  # type: ignore[operator]
        return jnp.stack([jnp.zeros_like(hidden[0]), hidden[0]]) if self.binary else hidden


def scores(logits: Float[Array, "k *e"], kind: Score) -> Float[Array, "s *e"]:
    """What scikit-learn hands on: of two classes the second's alone."""
    if kind == "gap":
        return (logits[1] - logits[0])[None] if len(logits) == 2 else logits
    p = jax.nn.softmax(logits, axis=0)
    return p[1:] if len(logits) == 2 else p


def _mean(shares: list[Float[Array, "k *e"]], weights: Float[Array, " m"]) -> Float[Array, "k *e"]:
    total = shares[0] * weights[0]
    for own, weight in zip(shares[1:], weights[1:], strict=True):
        total = total + own * weight
    return jnp.log(jnp.clip(total, TINY, 1.0))


class ComposedModel(AbstractModel):
    """Members of any kind, and what is made of their logits."""

    members: tuple[AbstractModel, ...]
    head: AbstractHead
    k: int = eqx.field(static=True)

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """A gradient where all members have one."""
        smooth = all("differentiable" in member.capabilities for member in self.members)
        return frozenset({"differentiable"} if smooth and self.head.differentiable else ())

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.k

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        return self.head([member.logits(x) for member in self.members], x)

    def trees(self) -> list[TreesModel]:
        """The members that are trees, and those of members that are composed themselves."""
        found = []
        for member in self.members:
            found += member.trees() if isinstance(member, ComposedModel) else [member]
        return [member for member in found if isinstance(member, TreesModel)]

    def bare(self) -> "ComposedModel":
        """All but the trees' arrays: what `logits_given` needs."""

        def parts(model: "ComposedModel") -> list[Any]:
            return [
                part for trees in model.trees() for part in (trees.nodes, trees.roots, trees.leaf, trees.group)
            ]

        return eqx.tree_at(parts, self, replace_fn=lambda _: None, is_leaf=lambda part: part is None)

    def logits_given(self, sums: Iterator[Float[Array, " c"]], x: Float[Array, " d"]) -> Float[Array, " k"]:
        """`logits`, where the sums over the `trees` are known."""
        each = []
        for member in self.members:
            if isinstance(member, ComposedModel):
                each.append(member.logits_given(sums, x))
            else:
                each.append(member.logits_of(next(sums)) if isinstance(member, TreesModel) else member.logits(x))
        return self.head(each, x)
