"""Options that differ: what a further recourse for the same person costs where it repeats an earlier one."""

from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from holdtrue.encoding import Layout

DIVERSITY = 4.0
"""What going the same way as before adds to the cost, as a multiple of it."""
SAME = 0.5
"""Squared cosine between a change and the span of those before, above which it is no option of its own."""
TINY = 1e-12
Rows = TypeVar("Rows", Array, np.ndarray)


def by_feature(layout: Layout, change: Float[Rows, "*n d"]) -> Float[Rows, "*n s"]:
    """A change as one number per feature: for a category how far it moved, whatever the level."""
    # Outside of a compiled program by numpy: jax would compile each operation for every number of people.
    xp: Any = np if isinstance(change, np.ndarray) else jnp
    groups = [xp.sum(change[..., g.start : g.stop] ** 2, axis=-1, keepdims=True) for g in layout.groups]
    return xp.concatenate(
        [change[..., : len(layout.numbers)], *(xp.sqrt(squared + TINY) for squared in groups)], axis=-1
    )


def repetition(options: Float[Rows, "m s"], change: Float[Rows, "*n s"]) -> Float[Rows, " *n"]:
    """Share of a change, in squared length, that lies in the span of those offered before (orthonormal rows).

    With unit vectors as the changes, ``1 - repetition`` is the factor by which a further one multiplies the
    determinant of their Gram matrix: options that differ most span the largest volume.
    """
    xp: Any = np if isinstance(change, np.ndarray) else jnp
    return xp.sum((change @ options.T) ** 2, axis=-1) / xp.maximum(xp.sum(change**2, axis=-1), TINY)


def surcharged(cost: Float[Rows, " *n"], options: Float[Rows, "m s"], change: Float[Rows, "*n s"]) -> Rows:
    """Cost of a change after those offered before; infinite where it is no option of its own."""
    share = repetition(options, change)
    # By the cosine, not its square: a little of an earlier change must not come for nothing.
    xp: Any = np if isinstance(change, np.ndarray) else jnp
    return xp.where(share > SAME, np.inf, cost * (1 + DIVERSITY * xp.sqrt(share + TINY)))


def column_factors(layout: Layout, options: Float[Array, "m s"]) -> Float[Array, " d"]:
    """Factor on the cost of each encoded column by itself."""
    used = jnp.linalg.norm(options, axis=0)
    owner = [i for i, slot in enumerate(layout.slots) for _ in range(slot.start, slot.stop)]
    shares = jnp.concatenate([used[jnp.asarray(owner, int)], jnp.zeros(len(layout.indicators))])
    return 1 + DIVERSITY * shares


def add_option(options: np.ndarray, at: int, changes: np.ndarray) -> np.ndarray:
    """People's options (n, m, s) with one more each, at position `at`, made orthogonal to those before it."""
    rest = changes.astype(np.float64)
    for _ in range(2):  # twice is enough for orthogonality in floating point
        for row in range(at):
            known = options[:, row].astype(np.float64)
            rest = rest - np.sum(rest * known, axis=1, keepdims=True) * known
    size = np.linalg.norm(rest, axis=1, keepdims=True)
    out = options.copy()
    out[:, at] = np.where(size > TINY, rest / np.maximum(size, TINY), 0.0)
    return out
