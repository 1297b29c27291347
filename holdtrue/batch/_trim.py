"""Needless changes taken back, for many people."""

import equinox as eqx
import numpy as np

from holdtrue.search import AbstractSolver, Problems, Solutions, is_found, trim

SIZES = (32, 512)
"""People at once: few compilations, and in a small table no work for people who are not there."""


def trimmed(solver: AbstractSolver, problems: Problems, solutions: Solutions) -> Solutions:
    """The same answers without the changes that they do not need; see `holdtrue.search.trim`."""
    x, cost = np.array(solutions.x), np.array(solutions.cost)
    found = is_found(solutions.status)
    size = SIZES[0] if len(problems) <= 8 * SIZES[0] else SIZES[1]
    for start in range(0, len(problems), size):
        rows = np.arange(start, min(start + size, len(problems)))
        padded = np.resize(rows, size)
        at, costs = _trimmed(solver, problems.take(padded), x[padded].astype(np.float32))
        own = found[rows]
        x[rows[own]] = np.asarray(at)[: len(rows)][own]
        cost[rows[own]] = np.asarray(costs)[: len(rows)][own]
    return eqx.tree_at(lambda s: (s.x, s.cost), solutions, (x, cost))


@eqx.filter_jit
def _trimmed(solver: AbstractSolver, problems: Problems, x: np.ndarray) -> tuple:
    """Everyone's point and its cost."""
    return problems.each(lambda problem, at: trim(solver, problem, at), x)
