"""Tree ensembles of one kind, merged: a panel whose every member's sums come from one look at all leaves."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.models._panel import AbstractMembers, least_sure
from holdtrue.models.adapters._trees import (
    AbstractTrees,
    Flat,
    Head,
    Slots,
    TreesModel,
    leaves_of,
    logits_from,
)


class TreesMembers(AbstractMembers):
    """Several tree ensembles as padded arrays: the trees of a member are a row of `roots`.

    Sums are in float32. A search asks guides this way, which differs from the library's own sum in the last
    digits; the model that decides is asked exactly.

    Attributes
    ----------
    nodes : all nodes, as in `TreesModel`; the last is a leaf that adds nothing, for members with fewer trees.
    values : what each node adds.
    group : output that each tree adds to.
    base, factor : what is added once to each member's sums, and what they are multiplied with.
    """

    slots: Slots
    nodes: Int[Array, "n f"]
    roots: Int[Array, "m t"]
    values: Float[Array, "n v"]
    group: Int[Array, "m t"]
    base: Float[Array, "m o"]
    factor: Float[Array, " m"]
    depth: int = eqx.field(static=True)
    head: Head = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def n_members(self) -> int:
        """How many there are."""
        return self.roots.shape[0]

    @property
    def capabilities(self) -> frozenset[str]:
        """Trees, without a gradient."""
        return frozenset({"trees"})

    @property
    def on_host(self) -> bool:
        """Arrays alone."""
        return False

    def sums(self, x: Float[Array, " d"]) -> Float[Array, "m o"]:
        """Every member's sums of one row, without what is multiplied."""
        at = leaves_of(self.slots, self.nodes, self.roots.reshape(-1), self.depth, x)
        added = self.values[at].reshape(*self.roots.shape, -1)
        n_outputs = self.base.shape[1]
        if added.shape[-1] < n_outputs:  # one column, whose output is the tree's
            added = jnp.where(self.group[..., None] == jnp.arange(n_outputs), added, 0.0)
        return self.base + jnp.sum(added, axis=1)

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Every member's logits of one row."""
        return self.logits_of(self.sums(x))

    def logits_of(self, sums: Float[Array, "m o *e"]) -> Float[Array, "m k *e"]:
        """Logits from every member's sums."""
        return jax.vmap(lambda own, factor: logits_from(own * factor, self.head))(sums, self.factor)

    def take(self, rows: np.ndarray) -> "TreesMembers":
        """Some of them; the nodes of the others stay."""
        parts = (self.roots, self.group, self.base, self.factor)
        return eqx.tree_at(
            lambda m: (m.roots, m.group, m.base, m.factor), self, tuple(part[rows] for part in parts)
        )


def merged(models: Sequence[TreesModel]) -> TreesMembers:
    """Put tree ensembles that read the same columns and have the same head side by side in one set of arrays."""
    parts = [model.flat() for model in models]
    starts = np.cumsum([0, *(len(part.nodes) for part in parts)])
    nothing = starts[-1]
    most = max(len(part.roots) for part in parts)
    roots = np.full((len(parts), most), nothing)
    group = np.zeros((len(parts), most), int)
    nodes = []
    for i, part in enumerate(parts):
        moved = part.nodes.copy()
        moved[:, 2:4] += starts[i]
        nodes.append(moved)
        roots[i, : len(part.roots)] = part.roots + starts[i]
        group[i, : len(part.output)] = part.output
    leaf = np.zeros((1, nodes[0].shape[1]), nodes[0].dtype)
    leaf[0, 2:4] = nothing
    values = np.concatenate([*(part.values for part in parts), np.zeros((1, parts[0].values.shape[1]))])
    return TreesMembers(
        slots=models[0].slots,
        nodes=jax.device_put(np.concatenate([*nodes, leaf])),
        roots=jax.device_put(roots.astype(np.int32)),
        values=jax.device_put(values.astype(np.float32)),
        group=jax.device_put(group.astype(np.int32)),
        base=jax.device_put(np.stack([part.base for part in parts]).astype(np.float32)),
        factor=jnp.stack([model.factor for model in models]),
        depth=max(model.depth for model in models),
        head=models[0].head,
        k=models[0].k,
    )


def alike(models: Sequence[TreesModel]) -> bool:
    """Whether `merged` can take them."""
    first = models[0]
    return all(
        (model.head, model.k, model.nodes.shape[1], model.slots.numbers, model.slots.positions, model.slots.groups)
        == (
            first.head, first.k, first.nodes.shape[1], first.slots.numbers, first.slots.positions,
            first.slots.groups,
        )
        and (model.group is None) == (first.group is None)
        for model in models
    )  # fmt: skip


class TreesPanel(AbstractTrees):
    """A tree ensemble with guides of its kind; see `holdtrue.models.PanelModel` for what the parts are."""

    model: TreesModel
    guides: TreesMembers
    slack: Float[Array, ""]
    wanted: int = eqx.field(static=True)
    spared: int = eqx.field(static=True, default=0)

    @property
    def slots(self) -> Slots:  # type: ignore[override]
        """How the trees see a row."""
        return self.model.slots

    @property
    def alone(self) -> TreesModel:
        """The model without its guides."""
        return self.model

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """Those of the model."""
        return self.model.capabilities

    @property
    def n_classes(self) -> int:
        """Number of logits."""
        return self.model.n_classes

    @property
    def n_guides(self) -> int:
        """How many models guide it."""
        return self.guides.n_members

    def member_logits(self, x: Float[Array, " d"]) -> Float[Array, "m k"]:
        """Logits of the model, then of every guide."""
        return jnp.concatenate([self.model.logits(x)[None], self.guides.member_logits(x)])

    def logits(self, x: Float[Array, " d"], *, key: PRNGKeyArray | None = None) -> Float[Array, " k"]:
        """Logits of the least sure member, less the slack."""
        return least_sure(self.member_logits(x), self.slack, self.wanted, self.spared)

    def logits_of(self, sums: Float[Array, "o *e"]) -> Float[Array, "k *e"]:
        """The same from the sums of all members, the model's own first."""
        each = sums.reshape(1 + self.n_guides, -1, *sums.shape[1:])
        if each.shape[1] == 1 and not self.spared:
            # One output, and the logits rise or fall with it: the least sure is known before there are logits.
            factor = jnp.append(self.model.factor, self.guides.factor)
            scaled = each * factor.reshape(-1, *[1] * sums.ndim)
            least = jnp.min(scaled, axis=0) if self.wanted == 1 else jnp.max(scaled, axis=0)
            return least_sure(logits_from(least, self.model.head)[None], self.slack, self.wanted, 0)
        members = jnp.concatenate([self.model.logits_of(each[0])[None], self.guides.logits_of(each[1:])])
        return least_sure(members, self.slack, self.wanted, self.spared)

    def same_leaves(self, other: AbstractTrees) -> bool:
        """Whether another is of the same trees; its slack may differ."""
        return isinstance(other, TreesPanel) and other.model is self.model and other.guides is self.guides

    def flat(self) -> Flat:
        """The trees of all members, each with outputs of its own."""
        own, guides = self.model.flat(), self.guides
        roots, group = np.asarray(guides.roots), np.asarray(guides.group)
        n_outputs = len(own.base)
        real = roots < len(guides.nodes) - 1
        member = np.arange(1, 1 + len(roots))[:, None] * n_outputs
        moved = np.asarray(guides.nodes).copy()
        moved[:, 2:4] += len(own.nodes)
        return Flat(
            slots=self.slots,
            nodes=np.concatenate([own.nodes, moved]),
            roots=np.concatenate([own.roots, roots[real] + len(own.nodes)]),
            values=np.concatenate([own.values, np.asarray(guides.values)]),
            base=np.concatenate([own.base, np.asarray(guides.base).reshape(-1)]),
            output=np.concatenate([own.output, (member + group)[real]]),
            depth=max(own.depth, guides.depth),
        )
