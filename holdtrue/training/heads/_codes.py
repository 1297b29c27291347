"""Categories that say less, or something else: levels that are hidden, and levels that are renumbered."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.encoding import Layout, Permits
from holdtrue.models import Data


def hidden(batch: Data, layout: Layout, share: Float[Array, ""], key: PRNGKeyArray) -> Float[Array, "n d"]:
    """Rows of a minibatch in which some people's categories say nothing: the minibatch's shares in place of a
    level, for each person and category with the chance `share`."""
    x, groups = batch.x, layout.groups
    if not groups:
        return x
    hide = jax.random.bernoulli(key, share, (x.shape[0], len(groups)))
    total = batch.weight / jnp.maximum(jnp.sum(batch.weight), 1e-12)
    for i, group in enumerate(groups):
        here = slice(group.start, group.stop)
        x = x.at[:, here].set(jnp.where(hide[:, i, None], total @ batch.x[:, here], x[:, here]))
    return x


class Renumbering(eqx.Module):
    """Other codings of the categories, one per reader: what a model says that learned under another coding.

    A network that learned from renumbered rows is, but for its first weights, one that learned from the rows as
    they are and is asked through the renumbering; so no model has to be trained for a coding.

    Attributes
    ----------
    source : for every reader, the column that it takes each column's level from.
    scale, offset : raw value of a column, ``x * scale + offset``; levels are exchanged as raw shares.
    """

    source: Int[Array, "g d"]
    scale: Float[Array, " d"]
    offset: Float[Array, " d"]

    @staticmethod
    def draw(permits: Permits, share: Float[Array, ""], n: int, key: PRNGKeyArray) -> "Renumbering":
        """Codings of `n` readers: each category, with the chance `share`, has its levels moved round by one to all
        but one places. No level then keeps its meaning, and it means any other equally often."""
        source = jnp.broadcast_to(jnp.arange(permits.layout.n_columns), (n, permits.layout.n_columns))
        for i, group in enumerate(permits.layout.groups):
            size = group.stop - group.start
            if size < 2:
                continue
            whether, places = jax.random.split(jax.random.fold_in(key, i))
            by = jax.random.randint(places, (n, 1), 1, size) * jax.random.bernoulli(whether, share, (n, 1))
            source = source.at[:, group.start : group.stop].set(group.start + (np.arange(size) + by) % size)
        return Renumbering(source, permits.scale, permits.offset)

    def read(self, row: Float[Array, " d"]) -> Float[Array, "g d"]:
        """The row as every reader understands it."""
        moved = ((row * self.scale + self.offset)[self.source] - self.offset) / self.scale
        return jnp.where(self.source == np.arange(row.shape[0]), row, moved)  # untouched columns to the bit
