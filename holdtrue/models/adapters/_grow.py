"""From a library's trees to `TreesModel`: comparisons moved from the library's columns to encoded features."""

from dataclasses import dataclass, field

import jax
import numpy as np

from holdtrue.encoding import Encoder, to_grid
from holdtrue.models.adapters._columns import Column, NotUnderstood, Number
from holdtrue.models.adapters._trees import Exact, Head, Rounded, Slots, TreesModel
from holdtrue.schema import Feature, Table

LARGEST = np.finfo(np.float64).max
MOST_LEVELS = 2048
JITTER = 2e-6  # encoded units by which a grid point may miss its exact place in float32


@dataclass(frozen=True)
class Tree:
    """One tree in its library's terms. `left` is -1 at a leaf; `default_left` is where NaN goes.

    `sets` holds, for a node that asks for a category, the codes that go left and where unknown ones go.
    """

    column: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    default_left: np.ndarray
    value: np.ndarray
    group: int | None = None
    sets: dict[int, tuple[set[int], bool]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """How a library compares: in float32 or float64, ``<`` or ``<=``, and what it takes for missing."""

    strict: bool
    single: bool
    zero_is_missing: bool = False

    def left(self, values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        """Whether values go left."""
        if self.single:
            with np.errstate(over="ignore"):
                values = np.asarray(values).astype(np.float32).astype(np.float64)
        return values < thresholds if self.strict else values <= thresholds


@dataclass(frozen=True)
class Sums:
    """What a library makes of its leaves.

    `single`: it adds them up in float32, tree after tree, and `base` before or after them; otherwise in float64.
    """

    head: Head
    n_classes: int
    base: np.ndarray  # added once, per output
    factor: float = 1.0
    single: bool = False
    base_last: bool = False


def grow(
    trees: list[Tree], columns: list[Column], comparison: Comparison, sums: Sums, encoder: Encoder, table: Table
) -> tuple[TreesModel, dict[str, np.ndarray]]:
    """Return the model, and per number feature the raw values at which its decisions change.

    A raw value up to (and with) such a value goes left, anything above goes right. `table` holds values that
    the model is likely to be asked about.
    """
    sizes = np.array([len(t.left) for t in trees])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    column = np.concatenate([t.column for t in trees])
    threshold = np.concatenate([np.asarray(t.threshold, np.float64) for t in trees])
    default_left = np.concatenate([t.default_left for t in trees]).astype(bool)
    leaf = np.concatenate([t.left < 0 for t in trees])
    own = np.arange(len(leaf))
    shift = np.repeat(starts, sizes)
    left = np.where(leaf, own, np.concatenate([t.left for t in trees]) + shift)
    right = np.where(leaf, own, np.concatenate([t.right for t in trees]) + shift)
    sets = {int(s) + node: chosen for s, t in zip(starts, trees, strict=True) for node, chosen in t.sets.items()}

    slots, order = _slots(encoder)
    n_words = -(-_most_levels(encoder) // 32)
    nodes = np.zeros((len(leaf), 4 + n_words), np.int64)
    nodes[:, 2], nodes[:, 3] = left, right
    limits = np.full(len(leaf), np.inf, np.float32)
    splits: dict[str, list[np.ndarray]] = {}
    for c in np.unique(column[~leaf]):
        at = np.flatnonzero((column == c) & ~leaf)
        source = columns[c]
        nodes[at, 0] = order[source.name]
        if isinstance(source, Number):
            if any(int(i) in sets for i in at):
                raise NotUnderstood(f"categories of the number {source.name!r}")
            limit = _boundaries(source, threshold[at], comparison)
            seen = _seen(table, source.name)
            if comparison.zero_is_missing:
                _check_zero(source, threshold[at], default_left[at], comparison, seen)
            limits[at] = _encoded(limit, encoder, source.name, seen)
            absent = comparison.left(np.full(len(at), source.missing), threshold[at])
            nodes[at, 4] = np.where(np.isnan(source.missing), default_left[at], absent)
            splits.setdefault(source.name, []).append(limit[np.isfinite(limit)])
        else:
            listed = _listed(source.numbers(), at, threshold, default_left, sets, comparison)
            for word in range(n_words):
                bits = listed[:, 32 * word : 32 * word + 32]
                nodes[at, 4 + word] = bits @ (1 << np.arange(bits.shape[1], dtype=np.int64))
    nodes[:, 1] = limits.view(np.int32)
    model = _assemble(trees, starts, nodes, slots, sums)
    return model, {name: np.unique(np.concatenate(parts)) for name, parts in splits.items()}


def _assemble(trees: list[Tree], starts: np.ndarray, nodes: np.ndarray, slots: Slots, sums: Sums) -> TreesModel:
    value = np.concatenate([np.asarray(t.value, np.float64).reshape(len(t.left), -1) for t in trees])
    groups = None if trees[0].group is None else np.array([t.group for t in trees])
    words = nodes.astype(np.uint64).astype(np.uint32).view(np.int32)
    return TreesModel(
        slots=slots,
        nodes=jax.device_put(words),
        roots=jax.device_put(starts.astype(np.int32)),
        leaf=_rounded(value, sums) if sums.single else _exact(value, trees, starts, groups, sums),
        group=None if groups is None else jax.device_put(groups.astype(np.int32)),
        factor=jax.device_put(np.asarray(sums.factor if sums.single else 1.0, np.float32)),
        depth=_depth(nodes, starts),
        head=sums.head,
        k=sums.n_classes,
    )


def _rounded(value: np.ndarray, sums: Sums) -> Rounded:
    base = np.zeros((2, len(sums.base)))
    base[int(sums.base_last)] = sums.base
    return Rounded(jax.device_put(value.astype(np.float32)), jax.device_put(base.astype(np.float32)))


def _exact(
    value: np.ndarray, trees: list[Tree], starts: np.ndarray, groups: np.ndarray | None, sums: Sums
) -> Exact:
    value = value * sums.factor
    # What is added once goes into the first tree of each output.
    for output, amount in enumerate(sums.base):
        first = 0 if groups is None else int(np.flatnonzero(groups == output)[0])
        rows = slice(starts[first], starts[first] + len(trees[first].left))
        value[rows, 0 if groups is not None else output] += amount * sums.factor
    bits = 31 - int(np.ceil(np.log2(len(trees) + 1)))
    reach = sum(float(np.abs(value[s : s + len(t.left)]).max()) for s, t in zip(starts, trees, strict=True))
    exponent = int(np.floor(29 + bits - np.log2(max(reach, 1e-30))))
    fixed = np.rint(np.ldexp(value, exponent)).astype(np.int64)
    high, low = (jax.device_put(part.astype(np.int32)) for part in (fixed >> bits, fixed & ((1 << bits) - 1)))
    return Exact(high, low, jax.device_put(np.asarray(2.0**-exponent, np.float32)), bits)


def _depth(nodes: np.ndarray, roots: np.ndarray) -> int:
    depth, at = 0, roots
    while True:
        at = at[nodes[at, 2] != at]
        if not len(at):
            return depth
        at = np.concatenate([nodes[at, 2], nodes[at, 3]])
        depth += 1


def _slots(encoder: Encoder) -> tuple[Slots, dict[str, int]]:
    indicators = {slot.name: slot.start for slot in encoder.layout.indicators}
    numbers, positions = [], []
    for slot in encoder.layout.numbers:
        flag = indicators.get(slot.name, slot.start)
        feature = encoder.schema[slot.name]
        if feature.has_levels:
            positions.append((slot.name, (slot.start, flag, len(feature.levels or ()))))
        else:
            numbers.append((slot.name, (slot.start, flag)))
    groups = [(slot.name, (slot.start, slot.stop)) for slot in encoder.layout.groups]
    names = [name for name, _ in (*numbers, *positions, *groups)]
    scale, offset = (jax.device_put(a.astype(np.float32)) for a in (encoder.scale, encoder.offset))
    parts = (tuple(part for _, part in kind) for kind in (numbers, positions, groups))
    return Slots(scale, offset, *parts), {name: i for i, name in enumerate(names)}  # type: ignore[arg-type]


def _most_levels(encoder: Encoder) -> int:
    most = max([len(f.levels or ()) + 1 for f in encoder.schema if f.has_levels], default=1)
    if most > MOST_LEVELS:
        raise NotUnderstood(f"a feature with more than {MOST_LEVELS - 1} levels")
    return most


def _listed(
    values: np.ndarray,
    at: np.ndarray,
    threshold: np.ndarray,
    default_left: np.ndarray,
    sets: dict[int, tuple[set[int], bool]],
    comparison: Comparison,
) -> np.ndarray:
    """Which levels go left at each of the nodes `at`."""
    out = comparison.left(values[None, :], threshold[at, None])
    absent = np.isnan(values) | (comparison.zero_is_missing & (values == 0))
    out = np.where(absent[None, :], default_left[at, None], out)
    for row, node in enumerate(at):
        if int(node) in sets:
            chosen, otherwise = sets[int(node)]
            known = [not np.isnan(v) and int(v) in chosen for v in values]
            out[row] = [k != otherwise for k in known]
            out[row, np.isnan(values)] = default_left[node]
    return out


# ---- numbers -----------------------------------------------------------------------------------------


def _boundaries(column: Number, thresholds: np.ndarray, comparison: Comparison) -> np.ndarray:
    """Largest raw value that goes left, found by halving between the smallest and largest float64."""
    if not column.slope >= 0:
        raise NotUnderstood(f"the column {column.name!r}, which falls where its value rises")

    def left(ordered: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return comparison.left(column.value(_float(ordered)), thresholds)

    low = np.full(len(thresholds), _ordered(np.array(-LARGEST)))
    high = np.full(len(thresholds), _ordered(np.array(LARGEST)))
    none, every = ~left(low), left(high)
    for _ in range(64):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        goes = left(middle)
        low, high = np.where(goes, middle, low), np.where(goes, high, middle)
    return np.where(none, -np.inf, np.where(every, np.inf, _float(low)))


def _ordered(values: np.ndarray) -> np.ndarray:
    """Whole numbers in the order of the floats."""
    bits = np.asarray(values, np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))


def _float(ordered: np.ndarray) -> np.ndarray:
    return (ordered ^ ((ordered >> 63) & np.int64(0x7FFF_FFFF_FFFF_FFFF))).view(np.float64)


def _encoded(limit: np.ndarray, encoder: Encoder, name: str, seen: np.ndarray) -> np.ndarray:
    """Largest encoded value, in float32, that stands for a raw value up to the limit.

    Several raw values share one float32. Thresholds may lie right beside values of the data, so in the float32
    of the limit itself the values `seen` there decide, and failing those the one it decodes to.
    """
    at = encoder.layout.slot(name).start
    scale, offset = encoder.scale[at], encoder.offset[at]
    feature: Feature = encoder.schema[name]

    def encode(raw: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return ((raw - offset) / scale).astype(np.float32)

    finite = np.isfinite(limit)
    raw = np.where(finite, limit, 0.0)
    if feature.kind == "integer":
        return np.where(finite, encode(np.floor(raw) + 0.5), limit).astype(np.float32)
    cell = encode(raw)
    codes = encode(seen)
    first, last = np.searchsorted(codes, cell, "left"), np.searchsorted(codes, cell, "right")
    middle = np.clip(np.searchsorted(seen, raw, "right"), first, last)
    decoded = cell.astype(np.float64) * scale + offset <= raw
    whole = np.where(first == last, decoded, middle - first > last - middle)
    out = np.where(whole, cell, np.nextafter(cell, np.float32(-np.inf)))
    if feature.grid is not None:
        # A search reaches a point of the grid up to rounding only: keep clear of it, on the right side. But people
        # a hair off the grid stay where they are: half way to the nearest of them is clear enough.
        order = np.searchsorted(seen, raw, "right")
        ends = np.concatenate([[-np.inf], seen, [np.inf]])
        below, above = ends[order], ends[order + 1]
        near = to_grid(raw, feature.grid)
        slack = min(JITTER * scale, feature.grid / 4) * np.maximum(1.0, np.abs((near - offset) / scale))
        # Where the grid is fine, people stand between its point and the limit too, and are on the limit's side.
        beside = np.where(
            near <= raw,
            np.minimum(near + slack, (np.maximum(near, below) + above) / 2),
            np.maximum(near - slack, (np.minimum(near, above) + below) / 2),
        )
        out = np.where(np.abs(near - raw) <= slack, encode(beside), out)
    return np.where(finite, out, limit).astype(np.float32)


def _seen(table: Table, name: str) -> np.ndarray:
    values = np.unique(table.columns[name].astype(np.float64))
    return values[np.isfinite(values)]


def _check_zero(
    column: Number, threshold: np.ndarray, default_left: np.ndarray, comparison: Comparison, seen: np.ndarray
) -> None:
    """Refuse a number that may be exactly 0 where a sparse matrix leaves zeros out and the tree minds."""
    zero = _boundaries(column, np.zeros(1), Comparison(strict=False, single=False))
    if column.value(zero)[0] != 0 or not (np.isin(zero[0], seen) or zero[0] == np.rint(zero[0])):
        return
    if (comparison.left(np.zeros(len(threshold)), threshold) != default_left).any():
        raise NotUnderstood(f"zeros of {column.name!r}, which the sparse matrix before XGBoost leaves out")
