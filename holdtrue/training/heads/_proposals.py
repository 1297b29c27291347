"""Rows beside those that a generator writes, mixed from what is at hand: it learns from the better ones.

Slopes tell a generator how to get better by a little. Another level of a category is never a little away, so that
a generator which writes one level for everybody stays with it, though another would be better by far.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from holdtrue.encoding import Layout, Permits

FLOOR = 1e-30  # least share of a level in a logarithm: so small that any which is not 0 has its slope


def mixtures(
    rows: Float[Array, "n d"],
    x: Float[Array, "n d"],
    target: Int[Array, " n"],
    layout: Layout,
    count: int,
    key: PRNGKeyArray,
) -> Float[Array, "m n d"]:
    """`count` rows for each person: recourse in which a feature, sometimes more, is as in another row.

    That is the person's own row, which undoes a change; the recourse of somebody else who wants the same class; or
    somebody else's row, so that levels are tried as often as people have them.
    """
    slots, n = layout.slots, rows.shape[0]
    which, more, whose, who, what = jax.random.split(key, 5)
    shape = (count, n)
    taken = jax.random.bernoulli(more, 1.0 / len(slots), (*shape, len(slots)))
    taken = taken | (jax.random.randint(which, shape, 0, len(slots))[..., None] == np.arange(len(slots)))
    taken = jnp.any(taken[..., None] & layout.members, axis=-2)
    alike = jnp.where(target[:, None] == target[None, :], 0.0, -jnp.inf)
    peer = jax.random.categorical(whose, alike, shape=shape)
    anyone = jax.random.randint(who, shape, 0, n)
    source = jax.random.randint(what, shape, 0, 3)[..., None]
    other = jnp.where(source == 0, x, jnp.where(source == 1, rows[peer], x[anyone]))
    return jnp.where(taken, other, rows)


def unlike(relaxed: Float[Array, "n d"], wanted: Float[Array, "n d"], permits: Permits) -> Float[Array, " n"]:
    """How far a relaxed row is from a hard one: cross-entropy of the categories, half the squares of the numbers.

    The slope of a cross-entropy does not vanish where the wanted level has hardly a share.
    """
    n = len(permits.layout.numbers)
    apart = 0.5 * jnp.square(relaxed[:, :n] - wanted[:, :n]) @ permits.price[:n]
    for group in permits.layout.groups:
        here = slice(group.start, group.stop)
        share, level = (a[:, here] * permits.scale[here] + permits.offset[here] for a in (relaxed, wanted))
        apart = apart - jnp.sum(level * jnp.log(jnp.maximum(share, FLOOR)), axis=1)
    return apart
