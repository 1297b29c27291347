"""Where boxes are cut whose cheapest points a limit across features forbids."""

import numpy as np

from holdtrue.search.exact._look import UNNAMED, Cut
from holdtrue.search.exact._room import Box, Corner, Room


def cut_by_limits(
    room: Room, box: Box, corner: Corner, rows: np.ndarray, broken: tuple[np.ndarray, np.ndarray], cut: Cut
) -> Cut:
    """Where to cut boxes whose points the model accepts and a limit forbids: between what the limit names."""
    n = room.own.shape[1]
    some = box.take(rows)
    open_levels = np.stack(
        [some.levels[:, a:b].sum(axis=1) > 1 for a, b in zip(room.spans[:-1], room.spans[1:], strict=True)]
        + [np.zeros(len(rows), bool)],
        axis=1,
    )
    slot, edge = np.full(len(rows), -1), np.full(len(rows), UNNAMED, np.float32)
    for i, (when, then, _) in enumerate(room.clauses):
        for j in (*then, *when):
            hit = broken[1][:, i] & open_levels[:, j] & (slot < 0)
            slot[hit] = n + j
    if room.right.shape[1]:
        # How much each number of the box could take back of what is exceeded.
        value = corner.value[rows]
        with np.errstate(invalid="ignore", over="ignore"):
            least, most = room.above(some.person, some.low), room.below(some.person, some.high)
        row = broken[0].argmax(axis=1)
        a = room.rows_of_numbers[row]
        end = np.where(a > 0, np.fmin(least, value), np.fmax(most, value))
        relief = np.where(np.isfinite(end), np.abs(a * (value - end)), 0.0)
        hit = broken[0].any(axis=1) & (slot < 0) & (relief.max(axis=1, initial=0.0) > 1e-7)
        i = np.flatnonzero(hit)  # nobody, where there is no number
        at = relief[i].argmax(axis=1) if len(i) else i
        slot[i] = at
        edge[i] = ((value[i, at] + end[i, at]) / 2).astype(np.float32)
        for j in range(room.n_levels):
            named = (room.rows_of_levels[:, room.spans[j] : room.spans[j + 1]] != 0).any(axis=1)[row]
            hit = broken[0].any(axis=1) & (slot < 0) & named & open_levels[:, j]
            slot[hit] = n + j
    out = Cut(*(part.copy() for part in cut))
    out.slot[rows], out.edge[rows], out.gain[rows] = slot, edge, 0.0
    out.rises[rows] = False
    return out
