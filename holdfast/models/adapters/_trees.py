"""Trees as arrays over the schema's features, evaluated for one row in one compiled call."""

from typing import ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdfast.models._base import AbstractModel

TINY = 1e-12  # a probability of 0 has no logarithm


class Slots(eqx.Module):
    """How a tree sees the encoded row: a number or a level's position for every feature.

    Attributes
    ----------
    numbers : columns of numbers, and per one the column that says it is missing (the number's own if none).
    positions : the same for ordinal and binary features, and their number of levels.
    groups : first and last column of each one-hot group.
    order : place of each, in the order above, among the slots that nodes refer to.
    """

    scale: Float[Array, " d"]
    offset: Float[Array, " d"]
    numbers: tuple[tuple[int, int], ...] = eqx.field(static=True)
    positions: tuple[tuple[int, int, int], ...] = eqx.field(static=True)
    groups: tuple[tuple[int, int], ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> tuple[Float[Array, " s"], Int[Array, " s"]]:
        """Numbers (NaN for missing ones and for levels), and codes of levels (0 for numbers)."""
        raw = x * self.scale + self.offset
        values, codes = [jnp.full(0, jnp.nan)], [jnp.zeros(0, jnp.int32)]
        if self.numbers:
            at = jnp.asarray([a for a, _ in self.numbers])
            flag = jnp.asarray([f for _, f in self.numbers])
            values.append(jnp.where((flag != at) & (raw[flag] > 0.5), jnp.nan, x[at]))
            codes.append(jnp.zeros(len(self.numbers), jnp.int32))
        if self.positions:
            at = jnp.asarray([a for a, _, _ in self.positions])
            flag = jnp.asarray([f for _, f, _ in self.positions])
            n_levels = jnp.asarray([n for _, _, n in self.positions])
            code = jnp.clip(jnp.round(raw[at]).astype(jnp.int32), 0, n_levels - 1)
            codes.append(jnp.where((flag != at) & (raw[flag] > 0.5), n_levels, code))
        codes += [jnp.argmax(raw[a:b])[None].astype(jnp.int32) for a, b in self.groups]
        values.append(jnp.full(len(self.positions) + len(self.groups), jnp.nan))
        return jnp.concatenate(values), jnp.concatenate(codes)


class TreesModel(AbstractModel):
    """Trees of any library, their leaves added up.

    All trees' nodes lie in one array of whole numbers, a row each: the slot it asks, its threshold's bits (in
    encoded units; up to it goes left), the two children, and a set of levels that go left. A leaf is its own
    child, so every row descends `depth` times. Leaf values are fixed-point numbers in two words, added without
    rounding: the sum depends neither on the order of the trees nor on the batch.

    Attributes
    ----------
    nodes : as above.
    roots : first node of each tree.
    high, low : leaf values per node, in units of ``unit * 2**bits`` and ``unit``.
    group : class that each tree adds to, or None where leaves hold a value for each class.
    factor : what log-odds are multiplied with.
    head : {"mean", "binary", "softmax"}, what the sums are: probabilities, the second class's log-odds, logits.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"trees"})
    slots: Slots
    nodes: Int[Array, "m f"]
    roots: Int[Array, " t"]
    high: Int[Array, "m c"]
    low: Int[Array, "m c"]
    group: Int[Array, " t"] | None
    unit: Float[Array, ""]
    factor: Float[Array, ""]
    bits: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)
    head: Literal["mean", "binary", "softmax"] = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.k

    def leaves(self, x: Float[Array, " d"]) -> Int[Array, " t"]:
        """Node in which one row ends, for every tree."""
        values, codes = self.slots(x)

        def descend(_: int, at: Int[Array, " t"]) -> Int[Array, " t"]:
            node = self.nodes[at]
            slot = node[:, 0]
            threshold = jax.lax.bitcast_convert_type(node[:, 1], jnp.float32)
            value, code = values[slot], codes[slot]
            words = node[:, 4:]
            word = words[:, 0] if words.shape[1] == 1 else _pick(words, code // 32)
            listed = (word >> (code % 32)) & 1 == 1
            left = jnp.where(jnp.isnan(value), listed, value <= threshold)
            return jnp.where(left, node[:, 2], node[:, 3])

        return jax.lax.fori_loop(0, self.depth, descend, self.roots)

    def sums(self, x: Float[Array, " d"]) -> Float[Array, " c"]:
        """Leaf values of one row, added over the trees."""
        at = self.leaves(x)
        high, low = self.high[at], self.low[at]
        if self.group is not None:
            own = self.group[:, None] == jnp.arange(1 if self.head == "binary" else self.k)
            high, low = jnp.where(own, high, 0), jnp.where(own, low, 0)
        high, low = high.sum(axis=0), low.sum(axis=0)
        high = high + (low >> self.bits)
        low = low & ((1 << self.bits) - 1)
        return (high.astype(jnp.float32) * 2.0**self.bits + low.astype(jnp.float32)) * self.unit

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        sums = self.sums(x) * self.factor
        if self.head == "mean":
            return jnp.log(jnp.clip(sums, TINY, 1.0))
        return jnp.stack([jnp.zeros_like(sums[0]), sums[0]]) if self.head == "binary" else sums


def _pick(words: Int[Array, "t w"], index: Int[Array, " t"]) -> Int[Array, " t"]:
    return jnp.take_along_axis(words, index[:, None], axis=1)[:, 0]
