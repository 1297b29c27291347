"""Trees as arrays over the schema's features, evaluated for one row in one compiled call."""

from abc import abstractmethod
from typing import ClassVar, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from holdtrue.models._base import AbstractModel

Head = Literal["mean", "share", "binary", "softmax"]
TAIL = 13  # bits of a low word that are added last
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


class Exact(eqx.Module):
    """Leaf values as fixed-point numbers in two words, added without rounding, then rounded once.

    The sum depends neither on the order of the trees nor on the batch. It is what a sum in float64 rounds to in
    float32, but for sums within float64's own rounding errors of the middle between two.

    Attributes
    ----------
    high, low : leaf values per node, in units of ``unit * 2**bits`` and ``unit``.
    """

    high: Int[Array, "m c"]
    low: Int[Array, "m c"]
    unit: Float[Array, ""]
    bits: int = eqx.field(static=True)

    def __call__(self, at: Int[Array, " t"], own: Bool[Array, "t o"] | None) -> Float[Array, " o"]:
        """Sums over the trees that are in the nodes `at`; `own` says which output each adds to."""
        high, low = self.high[at], self.low[at]
        if own is not None:
            high, low = jnp.where(own, high, 0), jnp.where(own, low, 0)
        high, low = high.sum(axis=0), low.sum(axis=0)
        return rounded(high + (low >> self.bits), low & ((1 << self.bits) - 1), self.bits, self.unit)


Words = TypeVar("Words", Array, np.ndarray)


def rounded(high: Words, low: Words, bits: int, unit: Words) -> Words:
    """Fixed-point numbers of two words, to the nearest float32: three parts that are exact, added so that only the
    last addition rounds."""
    most = high.astype(np.float32)
    rest = (high - most.astype(np.int32)).astype(np.float32)
    tail = low & ((1 << TAIL) - 1)
    most, rest = most * 2.0**bits, rest * 2.0**bits + (low - tail).astype(np.float32)
    total = most + rest
    return (total + ((most - total) + rest + tail.astype(np.float32))) * unit


class Rounded(eqx.Module):
    """Leaf values in float32, added one tree after the other: for libraries that round after each.

    Attributes
    ----------
    values : leaf values per node.
    base : what is added before the first and after the last tree.
    """

    values: Float[Array, "m c"]
    base: Float[Array, "2 o"]

    def __call__(self, at: Int[Array, " t"], own: Bool[Array, "t o"] | None) -> Float[Array, " o"]:
        """Sums over the trees that are in the nodes `at`; `own` says which output each adds to."""
        values = self.values[at]
        if own is not None:
            values = jnp.where(own, values, 0.0)
        total, _ = jax.lax.scan(lambda sum_, value: (sum_ + value, None), self.base[0], values)
        return total + self.base[1]


class Flat(NamedTuple):
    """Trees laid out for whoever looks at their leaves.

    Attributes
    ----------
    values : what each node adds, one column or one per class.
    base : what is added once, per output.
    output : first output that each tree adds to.
    """

    slots: Slots
    nodes: np.ndarray
    roots: np.ndarray
    values: np.ndarray
    base: np.ndarray
    output: np.ndarray
    depth: int


def sums_at(flat: Flat, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Sums of rows, an output each: rows by their numbers (NaN where missing) and codes of levels, as `Slots` has
    them. In numpy and double precision, without anything to compile."""
    nodes, thresholds = flat.nodes, flat.nodes[:, 1].astype(np.int32).view(np.float32)
    values = np.concatenate([numbers, np.full((len(numbers), codes.shape[1]), np.nan, np.float32)], axis=1)
    codes = np.concatenate([np.zeros(numbers.shape, int), codes], axis=1)
    row = np.arange(len(values))[:, None]
    at = np.broadcast_to(flat.roots, (len(values), len(flat.roots)))
    for _ in range(flat.depth):
        slot = nodes[at, 0]
        value, code = values[row, slot], codes[row, slot]
        listed = (nodes[at, 4 + code // 32] >> (code % 32)) & 1 == 1
        at = np.where(np.where(np.isnan(value), listed, value <= thresholds[at]), nodes[at, 2], nodes[at, 3])
    out = np.tile(flat.base.astype(np.float64), (len(values), 1))
    for column in range(flat.values.shape[1]):
        added = flat.values[at, column]
        for output in np.unique(flat.output):
            out[:, output + column] += added[:, flat.output == output].sum(axis=1)
    return out


class AbstractTrees(AbstractModel):
    """A model whose answer follows from sums over the leaves of trees."""

    slots: eqx.AbstractVar[Slots]

    @abstractmethod
    def flat(self) -> Flat:
        """All trees, with the output that each adds to."""

    @abstractmethod
    def logits_of(self, sums: Float[Array, "o *e"]) -> Float[Array, "k *e"]:
        """Logits from the sums over the trees, an output each; of many rows along a last axis."""

    def same_leaves(self, other: "AbstractTrees") -> bool:
        """Whether another is of the same trees."""
        return self is other


class TreesModel(AbstractTrees):
    """Trees of any library, their leaves added up.

    All trees' nodes lie in one array of whole numbers, a row each: the slot it asks, its threshold's bits (in
    encoded units; up to it goes left), the two children, and a set of levels that go left. A leaf is its own
    child, so every row descends `depth` times.

    Attributes
    ----------
    nodes : as above.
    roots : first node of each tree.
    leaf : leaf values, and how they are added.
    group : class that each tree adds to, or None where leaves hold a value for each class.
    factor : what the sums are multiplied with.
    head : {"mean", "share", "binary", "softmax"}, what the sums are: probabilities, the second class's
        probability, its log-odds, or logits.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"trees"})
    slots: Slots
    nodes: Int[Array, "m f"]
    roots: Int[Array, " t"]
    leaf: Exact | Rounded
    group: Int[Array, " t"] | None
    factor: Float[Array, ""]
    depth: int = eqx.field(static=True)
    head: Head = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.k

    def leaves(self, x: Float[Array, " d"]) -> Int[Array, " t"]:
        """Node in which one row ends, for every tree."""
        return leaves_of(self.slots, self.nodes, self.roots, self.depth, x)

    def sums(self, x: Float[Array, " d"]) -> Float[Array, " c"]:
        """Leaf values of one row, added over the trees."""
        own = None
        if self.group is not None:
            own = self.group[:, None] == jnp.arange(1 if self.head == "binary" else self.k)[None]
        return self.leaf(self.leaves(x), own)

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of one encoded row."""
        return self.logits_of(self.sums(x))

    def logits_of(self, sums: Float[Array, "c *e"]) -> Float[Array, "k *e"]:
        """Logits from the sums over the trees."""
        return logits_from(sums * self.factor, self.head)

    def flat(self) -> Flat:
        """All trees, with the output that each adds to."""
        leaf = self.leaf
        group = None if self.group is None else np.asarray(self.group)
        if isinstance(leaf, Rounded):
            values, base = np.asarray(leaf.values, np.float64), np.asarray(leaf.base, np.float64).sum(axis=0)
        else:
            fixed = np.asarray(leaf.high, np.float64) * 2.0**leaf.bits + np.asarray(leaf.low, np.float64)
            values = fixed * float(leaf.unit)
            n_outputs = fixed.shape[1] if group is None else (1 if self.head == "binary" else self.k)
            base = np.zeros(n_outputs)
        roots = np.asarray(self.roots)
        output = np.zeros(len(roots), int) if group is None else group
        values = values if group is None else values[:, :1]
        return Flat(self.slots, np.asarray(self.nodes), roots, values, base, output, self.depth)


def leaves_of(
    slots: Slots, nodes: Int[Array, "m f"], roots: Int[Array, " t"], depth: int, x: Float[Array, " d"]
) -> Int[Array, " t"]:
    """Node in which one row ends, for every tree."""
    values, codes = slots(x)

    def descend(_: Array, at: Int[Array, " t"]) -> Int[Array, " t"]:
        node = nodes[at]
        slot = node[:, 0]
        threshold = jax.lax.bitcast_convert_type(node[:, 1], jnp.float32)
        value, code = values[slot], codes[slot]
        words = node[:, 4:]
        word = words[:, 0] if words.shape[1] == 1 else _pick(words, code // 32)
        listed = (word >> (code % 32)) & 1 == 1
        left = jnp.where(jnp.isnan(value), listed, value <= threshold)
        return jnp.where(left, node[:, 2], node[:, 3])

    return jax.lax.fori_loop(0, depth, descend, roots)


def logits_from(sums: Float[Array, "c *e"], head: Head) -> Float[Array, "k *e"]:
    """Logits from the sums over one model's trees."""
    if head == "share":
        sums = jnp.stack([1.0 - sums[0], sums[0]])
    if head in ("mean", "share"):
        return jnp.log(jnp.clip(sums, TINY, 1.0))
    return jnp.stack([jnp.zeros_like(sums[0]), sums[0]]) if head == "binary" else sums


def _pick(words: Int[Array, "t w"], index: Int[Array, " t"]) -> Int[Array, " t"]:
    return jnp.take_along_axis(words, index[:, None], axis=1)[:, 0]
