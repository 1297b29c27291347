"""Needless changes taken back, for many people."""

import equinox as eqx
import numpy as np

from holdtrue.search import CLEARANCE, Problems, Solutions, Status, Trimmer, is_found

SIZES = (32, 512)
"""Points asked about at once: few compilations, and for a few people no work for points that are not there."""


def trimmed(trimmer: Trimmer, problems: Problems, solutions: Solutions) -> Solutions:
    """The same answers without the changes that they do not need.

    A search moves many features at a time, so that when the last of them crosses the boundary others may have
    moved for nothing. Each round puts every change of a person back by itself, asks about all of these points, and
    takes the cheapest that is accepted, keeps every limit and costs less. A point that lacked something (of a
    panel's agreement, for instance) may not lack more. The last change stays: who was refused needs one.

    A status stays true: an answer that nothing undercuts is undercut by nothing when it costs less. What differed
    from a person's earlier options by needless changes alone is no option, and not found.
    """
    x, costs, status = (np.array(part) for part in (solutions.x, solutions.cost, solutions.status))
    members = np.asarray(problems.feasible.layout.members, bool)

    def changes(rows: np.ndarray) -> np.ndarray:
        return (
            (((x[rows] != problems.x[rows]) @ members.T) > 0) if len(rows) else np.zeros((0, len(members)), bool)
        )

    left = np.flatnonzero(is_found(solutions.status))
    left = left[changes(left).sum(axis=1) > 1]
    if not len(left):
        return solutions
    spares, _, price, _ = _tried(trimmer, problems, left, x[left])
    needed = np.minimum(spares, CLEARANCE)
    while len(left):
        of, feature = np.nonzero(changes(left))
        rows = left[of]
        points = np.where(members[feature], problems.x[rows], x[rows]).astype(np.float32)
        spares, kept, prices, as_option = _tried(trimmer, problems, rows, points)
        good = kept & (spares >= needed[of]).all(axis=1) & (prices < price[of])
        own = good & np.isfinite(as_option)
        order = np.lexsort((np.where(own, prices, np.inf), of))
        best = order[np.unique(of[order], return_index=True)[1]]  # of each person the cheapest
        best = best[own[best]]
        same = np.setdiff1d(rows[good], rows[best])
        x[same], costs[same], status[same] = problems.x[same], np.inf, int(Status.NOT_FOUND)
        x[rows[best]], costs[rows[best]] = points[best], as_option[best]
        on = best[changes(rows[best]).sum(axis=1) > 1]
        left, needed, price = rows[on], needed[of[on]], prices[on]
    return eqx.tree_at(lambda s: (s.x, s.cost, s.status), solutions, (x, costs, status))


def _tried(trimmer: Trimmer, problems: Problems, rows: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """`Trimmer.tried` of points, each of the person of a row."""
    size = SIZES[0] if len(rows) <= 4 * SIZES[0] else SIZES[1]
    parts = []
    for start in range(0, len(rows), size):
        some = np.arange(start, min(start + size, len(rows)))
        padded = np.resize(some, size)
        told = _asked(trimmer, problems.take(rows[padded]), points[padded].astype(np.float32))
        parts.append([np.asarray(part)[: len(some)] for part in told])
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


@eqx.filter_jit
def _asked(trimmer: Trimmer, problems: Problems, points: np.ndarray) -> tuple:
    return problems.each(trimmer.tried, points)
