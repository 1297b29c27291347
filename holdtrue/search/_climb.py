"""More changes, where a few are not enough: one after the other, from what came nearest to a yes."""

import numpy as np
from jaxtyping import Float, Int

from holdtrue.search._person import Person, Rows, Search

WAYS = 8  # rows that are gone on from
TWICE = 2  # so many changes are made as there are features, times this: a feature may be changed anew
LEAST = 0.25  # of the most that any change brings, what one must bring to be chosen for its price


def climbed(person: Person, rows: Rows, margins: Float[np.ndarray, " m"]) -> Search:
    """Ask every single change of the `rows` nearest to a yes, and go on from the best, until one is accepted.

    Half of those that are gone on from are the nearest to a yes, the others have come near it for the least.
    """
    best = np.argsort(-margins, kind="stable")[:WAYS]
    rows, margins = rows[best], margins[best]
    for _ in range(TWICE * len(np.unique(person.moves.slot))):
        whose, each = _each_change(person, rows)
        if not len(each):
            return
        said = yield each
        person.offer(each, said)
        if np.isfinite(person.price):
            return
        after = np.where(said[1], said[0], -np.inf)  # of limits across features too
        if not after.max() > margins.max():
            return
        price = person.prices(each)
        gain = after - margins[whose]
        spent = np.maximum(price - person.prices(rows)[whose], 1e-6)
        worth = np.where(gain >= LEAST * gain.max(), gain / spent, -np.inf)
        order = np.stack([np.argsort(-after, kind="stable"), np.argsort(-worth, kind="stable")], axis=1)
        chosen = _first_of_each(each, order.ravel()[: 4 * WAYS])
        rows, margins = each[chosen], after[chosen]


def _each_change(person: Person, rows: Rows) -> tuple[Int[np.ndarray, " k"], Rows]:
    """Whose each is, and the rows with one move more; one that undoes a change is none."""
    n, count = len(person.moves.to), len(rows)
    whose = np.repeat(np.arange(count), n)
    each = person.moved(rows[whose], np.tile(np.arange(n), count))
    kept = (each != rows[whose]).any(axis=1)
    return whose[kept], each[kept]


def _first_of_each(rows: Rows, order: Int[np.ndarray, " k"]) -> Int[np.ndarray, " w"]:
    """The first that differ."""
    _, first = np.unique(rows[order], axis=0, return_index=True)
    return order[np.sort(first)][:WAYS]
